"""Sub-agent tasks: their definition, budget and progress.

Knows neither models nor tools.
"""

from dataclasses import dataclass, field
from typing import Literal

from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Usage
from acp_server.turn.loop import Spent

State = Literal["waiting", "working", "done", "stopped", "failed", "cancelled"]
"""State of a task; `stopped` means that its budget was used up."""

MOST_LATEST_CHARACTERS = 120


@frozen
class Task:
    """A delegated task, with everything that the sub-agent knows of it."""

    number: int
    """Position among the tasks of the same call, from 1."""
    goal: str
    context: str = ""
    tools: frozenset[str] = frozenset()
    """Names of the tools that it may use."""


class BudgetSpentError(TurnError):
    """A task has used up its tokens."""


@frozen
class Budget:
    """Limits of one task."""

    max_requests: int = 50
    """The most model requests."""
    max_tokens: int = 1_000_000
    """The most tokens: output plus uncached input."""

    def check(self, spent: Spent) -> None:
        """Return if there are tokens left.

        Raises:
            BudgetSpentError: all tokens are used up.
        """
        used = tokens_of(spent.usage)
        if used >= self.max_tokens:
            raise BudgetSpentError(f"its {self.max_tokens:,} tokens are used up ({used:,})")


@frozen
class Rules:
    """Settings of sub-agents."""

    max_parallel: int = 5
    """How many tasks of a session run at once; others wait."""
    budget: Budget = field(default_factory=Budget)
    compaction_threshold: float = 0.75


def tokens_of(usage: Usage) -> int:
    """Return the number of tokens that count against a budget."""
    return usage.prompt_tokens - usage.cache_read_tokens + usage.output_tokens


@dataclass(slots=True)
class TaskSpent(Spent):
    """Usage of a task, which is added to its session's usage at once."""

    session: Spent = field(default_factory=Spent)

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one more model request, for both."""
        Spent.add(self, usage, cost_usd)
        self.session.add(usage, cost_usd)


@dataclass(slots=True)
class Progress:
    """Current state of a task."""

    task: Task
    spent: TaskSpent
    state: State = "waiting"
    reason: str = ""
    """Why it did not succeed."""
    summary: str = ""
    latest: str = ""
    """Current activity, as one line."""
    changed: dict[str, None] = field(default_factory=dict[str, None])
    """The files that it has changed, in order."""
    commands: int = 0
    """How many commands it has run."""

    def note(self, text: str) -> None:
        """Note the current activity: the last line of a text."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            self.latest = lines[-1][:MOST_LATEST_CHARACTERS]
