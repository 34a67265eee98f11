"""The gate of a pass that nobody asked for: it never asks, and lets a rule decide instead.

It is given to the tools of a pass when those are made, and to no others: a turn's tools have the
gate of their session. Whatever is neither memory nor skill is refused here, and so is everything
once the pass is over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from anyio import to_thread

from acp_server.permissions.effects import ChangeMemory, ChangeSkill, Effect
from acp_server.permissions.gate import Refusal
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import PLANNING
from acp_server.permissions.questions import Question

Writes = Literal["apply", "propose"]

OVER = "this pass is over; nothing is changed any more"
PROPOSED = (
    "this was kept as a proposal: the user decides whether it is made. Go on as if it had been "
    "made, and do not make the call again"
)
NOT_HERE = "between turns only memory and skills are changed"
DOUBTFUL = "only the user may let this pass, and nobody is asked now; leave it out"


@dataclass(slots=True)
class UnaskedGate:
    """The gate of one pass."""

    skills: Path
    """The user's own folder of skills: the only one in which anything is changed."""
    writes: Writes = "apply"
    may_propose: bool = False
    """Whether what a person would have to be asked about is kept for them; else it is refused."""
    mode: Callable[[], Mode] = lambda: "ask"
    """Of the session; a pass without one is in none."""
    is_over: Callable[[], bool] = lambda: False
    proposed: set[str] = field(default_factory=set[str])
    """The ids of the calls that were kept as proposals."""

    def join(self, call_id: str, tool: str = "") -> None:
        """Do nothing: nobody is asked, so nobody waits."""

    def step_aside(self, call_id: str) -> None:
        """Do nothing."""

    def leave(self, call_id: str) -> None:
        """Do nothing."""

    async def pass_through(self, question: Question) -> Refusal | None:
        """Decide by the rule."""
        effect = question.effect
        if self.is_over():
            return Refusal(OVER)
        if self.mode() == "plan":
            return Refusal(PLANNING)
        if not await to_thread.run_sync(self._is_ours, effect):
            return Refusal(NOT_HERE)
        if self.writes == "apply" and not _wants_asking(effect):
            return None
        if not self.may_propose:
            return Refusal(DOUBTFUL)
        self.proposed.add(question.call_id)
        return Refusal(PROPOSED)

    def left_out_of_searches(self) -> Sequence[str]:
        """Return a glob of everything: no pass searches files."""
        return ("**",)

    async def may_preview(self, path: Path) -> bool:
        """Show nothing."""
        del path
        return False

    def _is_ours(self, effect: Effect) -> bool:
        """Whether it is the memory, or files in the folder of skills, links followed."""
        if isinstance(effect, ChangeMemory):
            return True
        if not isinstance(effect, ChangeSkill):
            return False
        folder = self.skills.resolve()
        return all(target.path.resolve().is_relative_to(folder) for target in effect.targets)


def _wants_asking(effect: Effect) -> bool:
    """Whether the user would be asked about this in a turn, whatever the mode."""
    match effect:
        case ChangeMemory():
            return effect.asks_first
        case ChangeSkill():
            return bool(effect.doubts)
        case _:
            return True
