"""Sub-agent tasks: what they are, their budget and progress.

Knows neither models nor tools.
"""

from dataclasses import dataclass, field
from typing import Literal

from acp_server.session.prompting.old_results import CompactionConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.agent import AgentDefinition
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Usage
from acp_server.turn.usage_totals import UsageTotals

TaskState = Literal["waiting", "working", "done", "stopped", "failed", "cancelled"]
"""State of a task; `stopped` means that its budget was used up."""

MAX_LATEST_CHARACTERS = 120


@frozen_dataclass
class SubAgentTask:
    """A delegated task, with everything that the sub-agent knows of it."""

    number: int
    """Position among the tasks of the same call, from 1."""
    goal: str
    context: str = ""
    tools: frozenset[str] = frozenset()
    """Names of the tools that it may use."""
    agent: AgentDefinition | None = None
    """Whose prompt and model it has; None for the usual sub-agent."""
    is_isolated: bool = False
    """Whether it works in a git worktree of its own."""
    notes: tuple[str, ...] = ()
    """What the report says about the agent, such as tools that it was not given."""

    @property
    def agent_name(self) -> str:
        """The name of the agent; empty for the usual sub-agent."""
        return "" if self.agent is None else self.agent.name


class TaskBudgetError(TurnError):
    """A task has used up its tokens."""


@frozen_dataclass
class TaskBudget:
    """Limits of one task."""

    max_requests: int = 50
    """The most model requests."""
    max_tokens: int = 1_000_000
    """The most tokens: output plus uncached input."""

    def check(self, totals: UsageTotals) -> None:
        """Return if there are tokens left.

        Raises:
            TaskBudgetError: all tokens are used up.
        """
        used = billable_tokens(totals.usage)
        if used >= self.max_tokens:
            raise TaskBudgetError(f"its {self.max_tokens:,} tokens are used up ({used:,})")


@frozen_dataclass
class SubAgentLimits:
    """Settings of sub-agents."""

    max_parallel: int = 5
    """How many tasks of a session run at once; others wait."""
    budget: TaskBudget = field(default_factory=TaskBudget)
    compaction: CompactionConfig = field(default_factory=CompactionConfig)


def billable_tokens(usage: Usage) -> int:
    """Return the number of tokens that count against a budget."""
    return usage.prompt_tokens - usage.cache_read_tokens + usage.output_tokens


@dataclass(slots=True)
class TaskUsageTotals(UsageTotals):
    """Usage of a task, which is added to its session's usage at once."""

    session: UsageTotals = field(default_factory=UsageTotals)

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one more model request, for both."""
        UsageTotals.add(self, usage, cost_usd)
        self.session.add(usage, cost_usd)


@dataclass(slots=True)
class TaskProgress:
    """Current state of a task."""

    task: SubAgentTask
    totals: TaskUsageTotals
    state: TaskState = "waiting"
    reason: str = ""
    """Why it did not succeed."""
    summary: str = ""
    latest: str = ""
    """Current activity, as one line."""
    changed: dict[str, None] = field(default_factory=dict[str, None])
    """The files that it has changed, in order."""
    commands: int = 0
    """How many commands it has run."""
    notes: list[str] = field(default_factory=list[str])
    """What the report says before the answer, such as a model that is not available."""

    def note(self, text: str) -> None:
        """Note the current activity: the last line of a text."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            self.latest = lines[-1][:MAX_LATEST_CHARACTERS]
