"""What a skill is, where skills are kept, and what is wrong with one. Reads nothing itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from skills_store.documents import Json

SKILL_FILE = "SKILL.md"
CATEGORY_FILE = "DESCRIPTION.md"
LINKED_FOLDERS = ("references", "templates", "scripts", "assets")
MOST_NAME_CHARACTERS = 64
MOST_DESCRIPTION_CHARACTERS = 1024
MOST_DOCUMENT_CHARACTERS = 100_000
MOST_FILE_BYTES = 1024 * 1024

RootKind = Literal["workspace", "home", "agents", "external", "bundled", "plugin"]
Frontmatter = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of skills. Of several the first wins; the caller puts them in order."""

    kind: RootKind
    path: Path
    """Absolute."""
    is_writable: bool = False
    plugin: str = ""
    """Of a plugin: its name, which is said before its skills' names."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a text. Lines count from 1."""

    line: int
    text: str
    """Half a sentence."""
    is_fatal: bool = False
    """The text cannot be used at all."""


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """What is wrong with a file or folder of a root. The line counts from 1; 0 is all of it."""

    path: Path
    line: int
    text: str
    is_skipped: bool = False
    """Because of it no skill was loaded from there."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.text}{' (skipped)' if self.is_skipped else ''}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that was found and can be loaded. Its text is not kept."""

    name: str
    """The folder's name, whatever the frontmatter says."""
    description: str
    category: str
    """The folders between root and skill, joined by slashes; empty for a skill at the top."""
    folder: Path
    root: Root
    frontmatter: Frontmatter = field(default_factory=dict[str, Json], hash=False)
    """All fields, also those nobody here knows."""

    @property
    def document(self) -> Path:
        """The path of its SKILL.md."""
        return self.folder / SKILL_FILE

    @property
    def full_name(self) -> str:
        """The name it is found by: `name`, or `plugin:name`."""
        return f"{self.root.plugin}:{self.name}" if self.root.plugin else self.name

    @property
    def place_name(self) -> str:
        """The name no other skill of its root has: `category/name`, or `plugin:category/name`."""
        inside = f"{self.category}/{self.name}" if self.category else self.name
        return f"{self.root.plugin}:{inside}" if self.root.plugin else inside


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill that is not to be reached, and the one of the same name that won."""

    skill: Skill
    winner: Skill


@dataclass(frozen=True, slots=True)
class Archived:
    """A skill that was archived, and where it went."""

    name: str
    absorbed_into: str = ""
    """The skill that holds now what it held; empty when it was only put away."""
    archived_at: str = ""
    """ISO 8601; empty when nobody knows."""

    def told(self) -> str:
        """Say it, in two or three sentences."""
        when = f" on {self.archived_at[:10]}" if self.archived_at else ""
        went = (
            f"What it held is now in the skill {self.absorbed_into!r}: load that one."
            if self.absorbed_into
            else "No other skill took it up."
        )
        return (
            f"The skill {self.name!r} was archived{when}. {went} "
            f"The user brings it back with `acp-server skills restore {self.name}`."
        )
