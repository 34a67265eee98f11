"""The session's permission gate as used by the tools of one sub-agent.

It is the same gate: same mode, same question queue, and answers hold for the whole session. It only
adds which task asks.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acp_server.permissions.gate import Gate, Refusal
from acp_server.permissions.questions import Question
from acp_server.startup.fast_dataclass import frozen

MOST_GOAL_CHARACTERS = 60


@frozen
class TaskGate:
    """Permission gate of one task."""

    gate: Gate
    parent_id: str
    """The delegating call."""
    name: str
    """Name of the task for the user."""

    def join(self, call_id: str, tool: str = "") -> None:
        """Enter the session's question queue."""
        self.gate.join(call_id, tool)

    def step_aside(self, call_id: str) -> None:
        """Leave the queue while the call goes on."""
        self.gate.step_aside(call_id)

    def leave(self, call_id: str) -> None:
        """Unregister a call that has ended."""
        self.gate.leave(call_id)

    async def pass_through(self, question: Question) -> Refusal | None:
        """Authorize an effect at the session's gate; the question names the task."""
        title = f"{question.title} ({self.name})"
        return await self.gate.pass_through(
            replace(question, title=title, parent_id=self.parent_id)
        )

    def left_out_of_searches(self) -> Sequence[str]:
        """Return the globs of the session's gate."""
        return self.gate.left_out_of_searches()

    async def may_preview(self, path: Path) -> bool:
        """Return the decision of the session's gate."""
        return await self.gate.may_preview(path)


def name_of(number: int, goal: str) -> str:
    """Return the one-line name of a task for the user.

    >>> name_of(2, "Find the bug.")
    'task 2: Find the bug.'
    """
    line = " ".join(goal.split())
    short = line if len(line) <= MOST_GOAL_CHARACTERS else f"{line[:MOST_GOAL_CHARACTERS]}…"
    return f"task {number}: {short}"
