"""The session's permission gate as used by the tools of one sub-agent.

It is the same gate: same mode, same question queue, and answers hold for the whole session. It only
adds which task asks.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acp_server.permissions.gate import Gate, Refusal
from acp_server.permissions.questions import PermissionQuestion
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_GOAL_CHARACTERS = 60


@frozen_dataclass
class TaskGate:
    """Permission gate of one task."""

    gate: Gate
    parent_id: str
    """The delegating call."""
    name: str
    """Name of the task for the user."""

    def enter_queue(self, call_id: str, tool: str = "") -> None:
        """Enter the session's question queue."""
        self.gate.enter_queue(call_id, tool)

    def yield_queue(self, call_id: str) -> None:
        """Leave the queue while the call goes on."""
        self.gate.yield_queue(call_id)

    def leave_queue(self, call_id: str) -> None:
        """Unregister a call that has ended."""
        self.gate.leave_queue(call_id)

    async def authorize(self, question: PermissionQuestion) -> Refusal | None:
        """Authorize an effect at the session's gate; the question names the task."""
        title = f"{question.title} ({self.name})"
        return await self.gate.authorize(replace(question, title=title, parent_id=self.parent_id))

    async def forbid_tool(self, tool: str) -> Refusal | None:
        """Return the refusal of the session's gate."""
        return await self.gate.forbid_tool(tool)

    def search_excludes(self) -> Sequence[str]:
        """Return the globs of the session's gate."""
        return self.gate.search_excludes()

    async def can_preview(self, path: Path) -> bool:
        """Return the decision of the session's gate."""
        return await self.gate.can_preview(path)


def task_name(number: int, goal: str, agent: str = "") -> str:
    """Return the one-line name of a task for the user.

    >>> task_name(2, "Find the bug.", "explore")
    'task 2 (explore): Find the bug.'
    """
    line = " ".join(goal.split())
    short = line if len(line) <= MAX_GOAL_CHARACTERS else f"{line[:MAX_GOAL_CHARACTERS]}…"
    return f"task {number} ({agent}): {short}" if agent else f"task {number}: {short}"
