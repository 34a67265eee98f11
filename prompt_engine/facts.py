"""Everything a prompt is made of: read once by whoever builds it, then frozen.

Owns the types that sources fill and sections read. Knows neither where a fact comes from nor how
it is worded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from prompt_engine.inputs import ContextFile, FileNote

Fate = Literal["kept", "truncated", "blocked", "dropped", "absent"]
"""What became of a text on its way into the prompt; `absent`: there is none that applies."""

Enforcement = bool | Literal["auto"] | tuple[str, ...]
"""Whether a model is told to act: always, never, by its family, or by parts of its id."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that somebody else wrote, where it lay, and what was done to it."""

    text: str = ""
    source: str = ""
    """The path or the setting it came from, as the user knows it."""
    fate: Fate = "kept"
    reason: str = ""
    """Why it was truncated, blocked or dropped; says which patterns and lines."""


NOTHING = Passage()


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the agent is to be."""

    soul: Passage = NOTHING
    """The user's `SOUL.md`; it counts only with text."""
    own: str = ""
    """The caller's own identity; SOUL.md then comes behind the project's instructions."""
    skips_context_files: bool = False
    """Whether neither SOUL.md nor the project's instructions are wanted, as for sub-agents."""
    loads_soul: bool = False
    """Whether SOUL.md is wanted even so."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine that tools work on."""

    system: str = ""
    """The name and release of the operating system."""
    architecture: str = ""
    shell: str = ""
    container: str = ""
    """The kind of container, empty outside of one."""
    automation: str = ""
    """The service that runs an automated job, empty elsewhere."""
    is_wsl: bool = False
    is_termux: bool = False
    python: str = ""
    """A sentence about the Python toolchain, only when it is unusual."""
    hints: tuple[Passage, ...] = ()
    """What the user says about the environment, in the order of the settings."""
    profile: str = ""
    """The name of the active profile."""


@dataclass(frozen=True, slots=True)
class HintOverride:
    """How a setting changes the hint of a platform. A replacement may also be appended to."""

    replace: str = ""
    append: str = ""


@dataclass(frozen=True, slots=True)
class SteeringMarker:
    """The two lines that the user's words stand between where they cannot be a block."""

    opening: str
    closing: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository as it was when the session began."""

    root: str
    branch: str = ""
    """Empty when HEAD is detached."""
    staged: int | None = None
    """Numbers of files; None when there was no time to count."""
    changed: int = 0
    untracked: int = 0
    conflicted: int = 0


@dataclass(frozen=True, slots=True)
class Workspace:
    """The session's folder and what it turned out to be. All paths are absolute."""

    folder: str
    additional: tuple[str, ...] = ()
    repository: Repository | None = None
    project: str = ""
    """The folder that manifests and checks belong to; empty when none was found."""
    manifests: tuple[str, ...] = ()
    package_managers: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    """Commands that verify the project, run in its folder; at most 8."""
    dropped: tuple[str, ...] = ()
    """What was left out, and why, in a sentence each."""


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """The entries of one memory file, as they may be shown."""

    entries: tuple[str, ...]
    used_characters: int
    """Of the file's joined text, delimiters included, whatever is shown of it."""
    limit_characters: int
    source: str = ""
    fate: Fate = "kept"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """All slots of a prompt. Same facts, same bytes; nothing here varies by the minute."""

    day: date
    model: str
    """The model's id, as the provider knows it."""
    provider: str = ""
    tools: frozenset[str] = frozenset()
    """The names of the tools that are sent along."""
    platform: str = "acp"
    identity: Identity = field(default_factory=Identity)
    enforcement: Enforcement = "auto"
    steering: SteeringMarker | None = None
    """None where the user's words are a block of their own."""
    board: Passage = NOTHING
    """What a worker of a task board is told; replaces our text for its leader."""
    skills_index: Passage = NOTHING
    environment: Environment = field(default_factory=Environment)
    hint_overrides: Mapping[str, HintOverride] = field(default_factory=dict[str, HintOverride])
    """By platform."""
    system_message: Passage = NOTHING
    context_files: tuple[ContextFile, ...] = ()
    """What is shown of the project's instructions, in this order."""
    context_notes: tuple[FileNote, ...] = ()
    """What became of every file of instructions, also of those that are not shown."""
    workspace: Workspace | None = None
    memory: MemoryStore | None = None
    user: MemoryStore | None = None
    external_memory: Passage = NOTHING
    session_id: str = ""
    """Only where the model is to know it."""
