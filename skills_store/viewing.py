"""Render one skill for the model: SKILL.md, support files, and missing requirements."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skills_store import document, hermes_fields
from skills_store.errors import (
    SkillFileTooLongError,
    UnreadableSkillError,
    UnreadableSkillFileError,
)
from skills_store.hermes_fields import DeclaredVariable
from skills_store.linked import LinkedFiles, linked_files
from skills_store.paths import resolve_file
from skills_store.reading import NO_FOLLOW, read_regular, reason_of
from skills_store.requirements import NeedsContext, SkillNeeds, find_needs
from skills_store.skill import (
    MAX_DOCUMENT_CHARACTERS,
    MAX_FILE_BYTES,
    ArchivedSkill,
    DocumentProblem,
    Skill,
)

if TYPE_CHECKING:
    from mimetypes import MimeTypes

FindArchived = Callable[[str], ArchivedSkill | None]
"""Returns the successor of an archived skill; None for a name that was never archived."""

_FOLDER_VARIABLE = "${HERMES_SKILL_DIR}"
_SESSION_VARIABLE = "${HERMES_SESSION_ID}"
_SNIFFED_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class ViewContext:
    """Values for variables in skill texts, and the environment to check requirements against."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    session_id: str | None = None
    needs: NeedsContext = field(default_factory=NeedsContext)


@dataclass(frozen=True, slots=True)
class SkillView:
    """A skill rendered for the model."""

    name: str
    """The name to look it up by."""
    description: str
    content: str
    """The SKILL.md with variables replaced; truncated if it is too long."""
    folder: Path
    """Absolute path."""
    linked_files: LinkedFiles
    missing_commands: tuple[str, ...] = ()
    missing_variables: tuple[str, ...] = ()
    archived_related_skills: tuple[ArchivedSkill, ...] = ()
    """Related skills that were archived, with their successors."""
    problems: tuple[DocumentProblem, ...] = ()
    needs: SkillNeeds = field(default_factory=SkillNeeds)
    variables: tuple[DeclaredVariable, ...] = ()
    """All environment variables that it declares, optional ones too."""


@dataclass(frozen=True, slots=True)
class TextFileView:
    """A text file of a skill."""

    name: str
    path: str
    """Relative to the skill's directory."""
    absolute_path: Path
    """Absolute path."""
    content: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BinaryFileView:
    """A binary file of a skill: described, but not shown."""

    name: str
    path: str
    """Relative to the skill's directory."""
    absolute_path: Path
    """Absolute path."""
    size_bytes: int
    media_type: str


FileView = TextFileView | BinaryFileView


def view_skill(skill: Skill, context: ViewContext, find_archived: FindArchived) -> SkillView:
    """Return a skill as it is on disk now.

    Raises:
        UnreadableSkillError: Its SKILL.md can no longer be read.
    """
    try:
        content = read_regular(skill.document, MAX_FILE_BYTES)
    except OSError as error:
        raise UnreadableSkillError(skill.full_name, reason_of(error)) from error
    text = content.data.decode("utf-8-sig", "replace")
    parsed = document.parse_document(text, skill.name)
    known = parsed.frontmatter if parsed.is_usable else skill.frontmatter
    related = hermes_fields.read_words(known, "related_skills")
    commands = hermes_fields.required_commands(known)
    variables = hermes_fields.required_variables(known)
    missing = tuple(each for each in variables if not context.environment.get(each))
    search_path = context.environment.get("PATH", "")
    return SkillView(
        skill.full_name,
        parsed.description or skill.description,
        _substitute_variables(text[:MAX_DOCUMENT_CHARACTERS], skill, context),
        skill.folder,
        linked_files(skill.folder),
        tuple(each for each in commands if shutil.which(each, path=search_path) is None),
        missing,
        tuple(archived for name in related if (archived := find_archived(name)) is not None),
        parsed.problems,
        find_needs(known, text, missing, context.needs),
        hermes_fields.declared_variables(known),
    )


def view_file(skill: Skill, path: str, context: ViewContext) -> FileView:
    """Return a file of a skill. Variables are replaced in Markdown only, never in code.

    Raises:
        SkillFileError: The path is rejected, missing, or cannot be shown.
    """
    # `resolve_file` rejects paths and links that leave the skill; the read below refuses a link put
    # there in between.
    file_path = resolve_file(skill.folder, path)
    try:
        content = read_regular(file_path, MAX_FILE_BYTES, NO_FOLLOW)
    except OSError as error:
        raise UnreadableSkillFileError(path, reason_of(error)) from error
    text = None if b"\0" in content.data[:_SNIFFED_BYTES] else _decode_text(content.data)
    size_bytes = content.status.st_size
    if text is None:
        media_type, packing = _media_types().guess_type(file_path.name)
        if packing:
            media_type = f"application/{packing}"
        media_type = media_type or "application/octet-stream"
        return BinaryFileView(skill.full_name, path, file_path, size_bytes, media_type)
    if not content.is_complete:
        raise SkillFileTooLongError(path, size_bytes, MAX_FILE_BYTES)
    if file_path.suffix.lower() == ".md":
        text = _substitute_variables(text, skill, context)
    return TextFileView(skill.full_name, path, file_path, text, size_bytes)


def _decode_text(data: bytes) -> str | None:
    """Decode bytes as UTF-8; None if binary. A character cut at the size limit is dropped."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        is_cut = len(data) == MAX_FILE_BYTES and error.reason == "unexpected end of data"
        return data[: error.start].decode("utf-8-sig") if is_cut else None


def _substitute_variables(text: str, skill: Skill, context: ViewContext) -> str:
    """Replace the variables for the skill's directory and the session ID."""
    text = text.replace(_FOLDER_VARIABLE, str(skill.folder))
    if context.session_id is None:
        return text
    return text.replace(_SESSION_VARIABLE, context.session_id)


@cache
def _media_types() -> "MimeTypes":
    """Return a table of our own: the system's differs between machines."""
    from mimetypes import MimeTypes

    types = MimeTypes()
    for font in ("ttf", "otf"):
        types.add_type(f"font/{font}", f".{font}")
    return types
