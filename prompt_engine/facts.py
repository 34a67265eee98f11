"""Frozen inputs of a system prompt: collected once per build by the caller.

Defines the types that sources fill and sections read. Independent of where a fact comes from and
of how it is worded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from prompt_engine.context_file_types import ContextFile, ContextFileNote

Fate = Literal["kept", "truncated", "shortened", "blocked", "dropped", "absent"]
"""Outcome of a text on its way into the prompt. `truncated`: longer than its own limit.
`shortened`: cut so that the whole prompt fits the model. `absent`: no such text exists or applies.
"""

ToolUseEnforcement = bool | Literal["auto"] | tuple[str, ...]
"""Whether to instruct the model to act: always, never, by its family, or by substrings of its id.
"""


@dataclass(frozen=True, slots=True)
class SourcedText:
    """Text from outside this package, with its source and outcome."""

    text: str = ""
    source: str = ""
    """File path or setting name, as the user knows it."""
    fate: Fate = "kept"
    reason: str = ""
    """Why it was truncated, blocked or dropped; names patterns and lines."""


NO_TEXT = SourcedText()


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """Inputs that decide the agent's identity."""

    soul: SourcedText = NO_TEXT
    """The user's `SOUL.md`; ignored without text."""
    custom_text: str = ""
    """Identity text from the caller; SOUL.md then follows the project's instructions."""
    skips_context_files: bool = False
    """Whether to omit SOUL.md and the project's instructions, as for sub-agents."""
    loads_soul: bool = False
    """Whether to include SOUL.md even if context files are skipped."""


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Machine that the tools run on."""

    system: str = ""
    """Name and release of the operating system."""
    architecture: str = ""
    shell: str = ""
    container: str = ""
    """Container runtime; empty outside a container."""
    ci_service: str = ""
    """Name of the CI service; empty outside CI."""
    is_wsl: bool = False
    is_termux: bool = False
    python: str = ""
    """Sentence about the Python toolchain, only if it is unusual."""
    hints: tuple[SourcedText, ...] = ()
    """The user's own hints about the environment, in the order of the settings."""
    profile: str = ""
    """Name of the active profile."""


@dataclass(frozen=True, slots=True)
class HintOverride:
    """Setting that changes the hint of a platform. `append` also applies to a replacement."""

    replace: str = ""
    append: str = ""


@dataclass(frozen=True, slots=True)
class SteeringMarker:
    """Lines that enclose the user's mid-turn text where it cannot be a content block of its own."""

    opening: str
    closing: str


@dataclass(frozen=True, slots=True)
class Repository:
    """State of a git repository when the session began."""

    root: str
    branch: str = ""
    """Empty when HEAD is detached."""
    staged: int | None = None
    """Number of files; None if there was no time to count."""
    changed: int = 0
    untracked: int = 0
    conflicted: int = 0
    commits: tuple[str, ...] = ()
    """Subjects of the last commits, the newest first."""


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """Facts about the session's directory when the session began. All paths are absolute."""

    folder: str
    additional: tuple[str, ...] = ()
    repository: Repository | None = None
    project: str = ""
    """Directory that the manifests and checks belong to; empty if none was found."""
    manifests: tuple[str, ...] = ()
    package_managers: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    """Commands that verify the project, run in its directory; at most 8."""
    dropped: tuple[str, ...] = ()
    """One sentence per fact that was left out, with the reason."""


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """Displayable entries of one memory file."""

    entries: tuple[str, ...]
    used_characters: int
    """Length of the complete file text including delimiters, even if fewer entries are shown."""
    limit_characters: int
    source: str = ""
    fate: Fate = "kept"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """All inputs of a prompt. Nothing here varies by the minute, so the prompt stays cacheable."""

    day: date
    model: str
    """Model id, as the provider knows it."""
    provider: str = ""
    tools: frozenset[str] = frozenset()
    """Names of the tools sent with the request."""
    window_tokens: int | None = None
    """The model's context window; None if it is only assumed."""
    platform: str = "acp"
    identity: AgentIdentity = field(default_factory=AgentIdentity)
    enforcement: ToolUseEnforcement = "auto"
    steering: SteeringMarker | None = None
    """None if the user's mid-turn text is a content block of its own."""
    board: SourcedText = NO_TEXT
    """Task-board instructions for a worker; replaces the built-in text for the leader."""
    skills_index: SourcedText = NO_TEXT
    environment: MachineFacts = field(default_factory=MachineFacts)
    hint_overrides: Mapping[str, HintOverride] = field(default_factory=dict[str, HintOverride])
    """By platform."""
    system_message: SourcedText = NO_TEXT
    context_files: tuple[ContextFile, ...] = ()
    """Displayed project instructions, in this order."""
    context_notes: tuple[ContextFileNote, ...] = ()
    """Outcome of every instruction file, including those that are not shown."""
    workspace: WorkspaceFacts | None = None
    memory: MemorySnapshot | None = None
    user: MemorySnapshot | None = None
    external_memory: SourcedText = NO_TEXT
    session_id: str = ""
    """Empty unless the model should know it."""
