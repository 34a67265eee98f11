"""What a tool is about to do to the world, in words that a policy can judge."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Target:
    """A file or folder: as it was named, and where that leads once links are followed."""

    path: Path
    real: Path
    is_inside: bool
    """Whether `real` lies in a folder of the session."""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Files are read, or folders searched."""

    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class WriteFiles:
    """Files are made, changed, moved or deleted."""

    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A shell command is run, in a folder."""

    command: str
    cwd: Target
    is_input: bool = False
    """Whether a command that runs already reads this: what it makes of it, nobody can know."""


@dataclass(frozen=True, slots=True)
class ChangeMemory:
    """What is remembered beyond the session is changed, in the two files there are for it."""

    asks_first: bool = False
    """Whether the user wants to be asked about each change."""


Effect = ReadFiles | WriteFiles | RunCommand | ChangeMemory
