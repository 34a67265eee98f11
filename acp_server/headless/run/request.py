"""What is asked of a run: the task, where, with what, and under which rules."""

from dataclasses import dataclass, field
from pathlib import Path

from acp_server.headless.run.answers import AnswerShape
from acp_server.headless.run.budget import Budget
from acp_server.headless.run.findings import Severity
from acp_server.permissions.modes import Mode
from acp_server.permissions.orders import Orders
from acp_server.settings import Configuration

LAST = "last"
"""Names the session that was used last in the folder."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be done, and what a denial leads to."""

    mode: Mode = "accept_edits"
    orders: Orders = field(default_factory=Orders)
    stops_when_asked: bool = False
    """Whether a question ends the run; else it is answered no."""
    stops_when_denied: bool = False
    """Whether any denial ends the run."""
    is_trusted: bool = False
    """Whether the project's own skills, settings, hooks and servers are used."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One task."""

    prompt: str
    folder: Path
    """The workspace; absolute, links resolved."""
    configuration: Configuration
    rules: Rules = field(default_factory=Rules)
    budget: Budget = field(default_factory=Budget)
    timeout_seconds: float | None = None
    session: str | None = None
    """The id of a session to go on with, or `LAST`; None begins one."""
    is_ephemeral: bool = False
    """Whether nothing is kept of it."""
    skills: tuple[str, ...] = ()
    """The names of skills to load first."""
    answer: AnswerShape | None = None
    """What the final answer must be; None: any text."""
    fails_on: Severity | None = None
    """From which severity on findings make the run end with their code; None: the answer is none
    of findings."""
    platform: str = "ci"
    """The surface that the model is told it speaks to: `ci`, or `cli` on a terminal."""
