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
from acp_server.permissions.questions import PermissionQuestion

Writes = Literal["apply", "propose"]

RUN_ENDED = "this pass is over; nothing is changed any more"
PROPOSED = (
    "this was kept as a proposal: the user decides whether it is made. Go on as if it had been "
    "made, and do not make the call again"
)
NOT_ALLOWED = "between turns only memory and skills are changed"
NEEDS_USER = "only the user may let this pass, and nobody is asked now; leave it out"


@dataclass(slots=True)
class BackgroundGate:
    """The permission gate of one background run."""

    skills_directory: Path
    """The user's own skill directory: the only one in which files are changed."""
    writes: Writes = "apply"
    can_propose: bool = False
    """Whether effects that need the user's permission become proposals; otherwise they are refused.
    """
    mode: Callable[[], Mode] = lambda: "ask"
    """The session's mode; a run without a session has none and uses "ask"."""
    has_ended: Callable[[], bool] = lambda: False
    proposed_call_ids: set[str] = field(default_factory=set[str])
    """Ids of the calls that became proposals."""

    def enter_queue(self, call_id: str, tool: str = "") -> None:
        """Do nothing: this gate never asks, so there is no queue."""

    def yield_queue(self, call_id: str) -> None:
        """Do nothing."""

    def leave_queue(self, call_id: str) -> None:
        """Do nothing."""

    async def authorize(self, question: PermissionQuestion) -> Refusal | None:
        """Authorize the effect by the rule."""
        effect = question.effect
        # Checked for each effect: a cancelled review may still have a call running in a thread, and
        # must not change anything after the next prompt was accepted.
        if self.has_ended():
            return Refusal(RUN_ENDED)
        if self.mode() == "plan":
            return Refusal(PLANNING)
        # In a thread: resolving paths reads the disk.
        if not await to_thread.run_sync(self._is_memory_or_own_skill, effect):
            return Refusal(NOT_ALLOWED)
        if self.writes == "apply" and not _needs_permission(effect):
            return None
        if not self.can_propose:
            return Refusal(NEEDS_USER)
        self.proposed_call_ids.add(question.call_id)
        return Refusal(PROPOSED)

    def search_excludes(self) -> Sequence[str]:
        """Return a glob that matches everything: background runs search no files."""
        return ("**",)

    async def forbid_tool(self, tool: str) -> Refusal | None:
        """Return None: background runs have no such tools."""
        del tool
        return None

    async def can_preview(self, path: Path) -> bool:
        """Return False: nothing is previewed."""
        del path
        return False

    def _is_memory_or_own_skill(self, effect: Effect) -> bool:
        """Whether the effect changes memory, or only files in the skill directory."""
        if isinstance(effect, ChangeMemory):
            return True
        if not isinstance(effect, ChangeSkill):
            return False
        # Resolve both sides: a symlink inside the skill directory must not lead a write out of it.
        folder = self.skills_directory.resolve()
        return all(target.path.resolve().is_relative_to(folder) for target in effect.targets)


def _needs_permission(effect: Effect) -> bool:
    """Whether a turn would ask the user about this effect in every mode."""
    match effect:
        case ChangeMemory():
            return effect.asks_first
        case ChangeSkill():
            return bool(effect.doubts)
        case _:
            return True
