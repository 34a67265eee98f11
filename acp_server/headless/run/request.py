"""Request for a run: task, workspace, configuration and rules."""

from dataclasses import dataclass, field
from pathlib import Path

from acp_server.config.settings import Configuration
from acp_server.headless.run.answer_schema import AnswerSchema
from acp_server.headless.run.budget import RunBudget
from acp_server.headless.run.findings import Severity
from acp_server.permissions.modes import Mode
from acp_server.permissions.run_rules import RunRules
from acp_server.server.recording import ModelRecording

LAST_SESSION = "last"
"""Session name that means the most recent session of the workspace."""


@dataclass(frozen=True, slots=True)
class RunPolicy:
    """Permission rules of a run, and the consequences of a denial."""

    mode: Mode = "accept_edits"
    rules: RunRules = field(default_factory=RunRules)
    stop_on_question: bool = False
    """Whether a permission request ends the run; else it is answered with no."""
    stop_on_denial: bool = False
    """Whether any denial ends the run."""
    is_trusted: bool = False
    """Whether the workspace is trusted: its skills, settings, hooks and servers are used."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One task and its settings."""

    prompt: str
    workspace: Path
    """The workspace, as an absolute path without symlinks."""
    configuration: Configuration
    policy: RunPolicy = field(default_factory=RunPolicy)
    budget: RunBudget = field(default_factory=RunBudget)
    timeout_seconds: float | None = None
    session: str | None = None
    """The id of a session to continue, or `LAST_SESSION`; None starts a new one."""
    is_ephemeral: bool = False
    """Whether the session is not saved."""
    skills: tuple[str, ...] = ()
    """Names of skills to load at the start."""
    answer_schema: AnswerSchema | None = None
    """Schema of the final answer; None allows any text."""
    fail_on: Severity | None = None
    """Minimum severity of findings that make the run fail; None if this is not a review run."""
    recording: ModelRecording | None = None
    """Records the model traffic, or answers in place of the model; has the same configuration."""
    platform: str = "ci"
    """The surface named in the system prompt: `ci`, or `cli` on a terminal."""
