"""The permission gate of a background run: it never asks and decides by a fixed rule.

It is passed to the tools of a run when they are built, and to no others; the tools of a turn have
their session's gate. Effects other than memory and skill changes are refused, and so is every
effect once the run has ended.
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
    """The permission gate of one background run."""

    skills: Path
    """The user's own skill directory: the only one in which files are changed."""
    writes: Writes = "apply"
    may_propose: bool = False
    """Whether effects that need the user's permission become proposals; otherwise they are refused.
    """
    mode: Callable[[], Mode] = lambda: "ask"
    """The session's mode; a run without a session has none and uses "ask"."""
    is_over: Callable[[], bool] = lambda: False
    proposed: set[str] = field(default_factory=set[str])
    """Ids of the calls that became proposals."""

    def join(self, call_id: str, tool: str = "") -> None:
        """Do nothing: this gate never asks, so there is no queue."""

    def step_aside(self, call_id: str) -> None:
        """Do nothing."""

    def leave(self, call_id: str) -> None:
        """Do nothing."""

    async def pass_through(self, question: Question) -> Refusal | None:
        """Authorize the effect by the rule."""
        effect = question.effect
        # Checked for each effect: a cancelled review may still have a call running in a thread, and
        # must not change anything after the next prompt was accepted.
        if self.is_over():
            return Refusal(OVER)
        if self.mode() == "plan":
            return Refusal(PLANNING)
        # In a thread: resolving paths reads the disk.
        if not await to_thread.run_sync(self._is_ours, effect):
            return Refusal(NOT_HERE)
        if self.writes == "apply" and not _wants_asking(effect):
            return None
        if not self.may_propose:
            return Refusal(DOUBTFUL)
        self.proposed.add(question.call_id)
        return Refusal(PROPOSED)

    def left_out_of_searches(self) -> Sequence[str]:
        """Return a glob that matches everything: background runs search no files."""
        return ("**",)

    async def may_preview(self, path: Path) -> bool:
        """Return False: nothing is previewed."""
        del path
        return False

    def _is_ours(self, effect: Effect) -> bool:
        """Whether the effect changes memory, or only files in the skill directory."""
        if isinstance(effect, ChangeMemory):
            return True
        if not isinstance(effect, ChangeSkill):
            return False
        # Resolve both sides: a symlink inside the skill directory must not lead a write out of it.
        folder = self.skills.resolve()
        return all(target.path.resolve().is_relative_to(folder) for target in effect.targets)


def _wants_asking(effect: Effect) -> bool:
    """Whether a turn would ask the user about this effect in every mode."""
    match effect:
        case ChangeMemory():
            return effect.asks_first
        case ChangeSkill():
            return bool(effect.doubts)
        case _:
            return True
