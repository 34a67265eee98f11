"""What a task is, how much it may use, and what is known of it while it is done.

Knows neither models nor tools.
"""

from dataclasses import dataclass, field
from typing import Literal

from acp_server.frozen import frozen
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Usage
from acp_server.turn.loop import Spent

State = Literal["waiting", "working", "done", "stopped", "failed", "cancelled"]
"""Where a task stands; `stopped` is one whose budget was used up."""

MOST_LATEST_CHARACTERS = 120


@frozen
class Task:
    """Something that is to be done, with all that the sub-agent knows of it."""

    number: int
    """Among those of the same call, from 1."""
    goal: str
    context: str = ""
    tools: frozenset[str] = frozenset()
    """The names of the tools that it may use."""


class BudgetSpentError(TurnError):
    """A task has used up its tokens."""


@frozen
class Budget:
    """How much one task may use."""

    max_requests: int = 50
    """The most calls of the model."""
    max_tokens: int = 1_000_000
    """The most tokens: all that is written, and what is read that no cache holds."""

    def check(self, spent: Spent) -> None:
        """Pass while there is something left.

        Raises:
            BudgetSpentError: there is not.
        """
        used = tokens_of(spent.usage)
        if used >= self.max_tokens:
            raise BudgetSpentError(f"its {self.max_tokens:,} tokens are used up ({used:,})")


@frozen
class Rules:
    """What the configuration says about tasks."""

    max_parallel: int = 5
    """How many of a session's tasks are done at once; further ones wait."""
    budget: Budget = field(default_factory=Budget)
    compaction_threshold: float = 0.75


def tokens_of(usage: Usage) -> int:
    """Return what counts of a budget."""
    return usage.prompt_tokens - usage.cache_read_tokens + usage.output_tokens


@dataclass(slots=True)
class TaskSpent(Spent):
    """What a task has used; it counts for its session at once."""

    session: Spent = field(default_factory=Spent)

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one more call, for both."""
        Spent.add(self, usage, cost_usd)
        self.session.add(usage, cost_usd)


@dataclass(slots=True)
class Progress:
    """What is known of a task at this moment."""

    task: Task
    spent: TaskSpent
    state: State = "waiting"
    reason: str = ""
    """Why it ended otherwise than well."""
    summary: str = ""
    latest: str = ""
    """What it does or says just now, in a line."""
    changed: dict[str, None] = field(default_factory=dict[str, None])
    """The files that it has changed, in order."""
    commands: int = 0
    """How many commands it has run."""

    def note(self, text: str) -> None:
        """Note what it does or says just now."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            self.latest = lines[-1][:MOST_LATEST_CHARACTERS]
