"""The session's gate, as the tools of one task pass it.

The same gate: its mode is the session's at that moment, its questions stand in the same line, its
answers hold for all. What is added is who asks.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.permissions.gate import Gate, Refusal
from acp_server.permissions.questions import Question

MOST_GOAL_CHARACTERS = 60


@frozen
class TaskGate:
    """The gate of one task."""

    gate: Gate
    parent_id: str
    """The call that delegated."""
    name: str
    """Which task it is, for the user."""

    def join(self, call_id: str, tool: str = "") -> None:
        """Take a place among the session's questions."""
        self.gate.join(call_id, tool)

    def step_aside(self, call_id: str) -> None:
        """Have others ask first."""
        self.gate.step_aside(call_id)

    def leave(self, call_id: str) -> None:
        """Give the place up."""
        self.gate.leave(call_id)

    async def pass_through(self, question: Question) -> Refusal | None:
        """Pass the session's gate; a question says which task asks it."""
        title = f"{question.title} ({self.name})"
        return await self.gate.pass_through(
            replace(question, title=title, parent_id=self.parent_id)
        )

    def left_out_of_searches(self) -> Sequence[str]:
        """Return what the session's gate says."""
        return self.gate.left_out_of_searches()

    async def may_preview(self, path: Path) -> bool:
        """Return what the session's gate says."""
        return await self.gate.may_preview(path)


def name_of(number: int, goal: str) -> str:
    """Return what a task is called where the user sees it, in one line.

    >>> name_of(2, "Find the bug.")
    'task 2: Find the bug.'
    """
    line = " ".join(goal.split())
    short = line if len(line) <= MOST_GOAL_CHARACTERS else f"{line[:MOST_GOAL_CHARACTERS]}…"
    return f"task {number}: {short}"
