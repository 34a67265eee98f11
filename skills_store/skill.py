"""Data types of skills: roots, skills, problems. Does no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from skills_store.json_file import Json

SKILL_FILE = "SKILL.md"
CATEGORY_FILE = "DESCRIPTION.md"
LINKED_FOLDERS = ("references", "templates", "scripts", "assets")
MAX_NAME_CHARACTERS = 64
MAX_DESCRIPTION_CHARACTERS = 1024
MAX_DOCUMENT_CHARACTERS = 100_000
MAX_FILE_BYTES = 1024 * 1024

RootKind = Literal["workspace", "home", "agents", "external", "bundled", "plugin"]
Frontmatter = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A directory that contains skills. The caller orders roots; the first with a name wins."""

    kind: RootKind
    path: Path
    """Absolute path."""
    is_writable: bool = False
    plugin: str = ""
    """Name of the plugin for a plugin root; it prefixes the names of the plugin's skills."""


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """A problem in the text of a SKILL.md. Lines count from 1."""

    line: int
    text: str
    """Half a sentence, without the file name."""
    is_fatal: bool = False
    """The text cannot be used at all."""


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """A problem with a file or directory of a root. Lines count from 1; 0 means the whole file."""

    path: Path
    line: int
    text: str
    is_skipped: bool = False
    """No skill was loaded from this path because of the problem."""

    def __str__(self) -> str:
        location = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{location}: {self.text}{' (skipped)' if self.is_skipped else ''}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A discovered skill that can be loaded. Its text is not kept in memory."""

    name: str
    """The directory's name, even if the frontmatter says otherwise."""
    description: str
    category: str
    """The directories between root and skill, joined by slashes; empty at the top level."""
    root: SkillRoot
    frontmatter: Frontmatter = field(default_factory=dict[str, Json], hash=False)
    """All fields, including unknown ones."""

    @property
    def folder(self) -> Path:
        """Its directory. Made when asked for: thousands of paths cost more than their skills."""
        return self.root.path / self.category / self.name

    @property
    def document(self) -> Path:
        """Path of its SKILL.md."""
        return self.folder / SKILL_FILE

    @property
    def full_name(self) -> str:
        """The name to look it up by: `name`, or `plugin:name`."""
        return f"{self.root.plugin}:{self.name}" if self.root.plugin else self.name

    @property
    def qualified_name(self) -> str:
        """Unique name within its root: `category/name`, or `plugin:category/name`."""
        relative_name = f"{self.category}/{self.name}" if self.category else self.name
        return f"{self.root.plugin}:{relative_name}" if self.root.plugin else relative_name


@dataclass(frozen=True, slots=True)
class ShadowedSkill:
    """A skill that cannot be reached because `winner`, of an earlier root, has the same name."""

    skill: Skill
    winner: Skill


@dataclass(frozen=True, slots=True)
class ArchivedSkill:
    """An archived skill and its successor."""

    name: str
    absorbed_into: str = ""
    """The skill that now holds its content; empty if it was only archived."""
    archived_at: str = ""
    """ISO 8601; empty if unknown."""

    def describe(self) -> str:
        """Describe the archiving, and how to undo it, in two or three sentences."""
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
