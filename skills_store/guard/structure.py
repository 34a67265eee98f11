"""Structural checks of a skill: size, links out of it, unreadable programs.

Judges names, sizes and the first bytes of files; the scan judges their text.
"""

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TypedDict, cast

from skills_store.guard.contents import MAX_BYTES, MAX_FILES, SkillContents
from skills_store.guard.verdict import Severity, SkillFinding

SKILL_FILE = "SKILL.md"


class _FileTypes(TypedDict):
    """The tables in `file_types.toml`; first bytes are in hexadecimal."""

    program_magic: list[str]
    archive_magic: list[str]
    office_suffixes: list[str]
    compiled_suffixes: list[str]
    archive_suffixes: list[str]
    auto_loaded_files: list[str]
    media: dict[str, list[str]]


_TABLE = files("skills_store.guard").joinpath("file_types.toml").read_text("utf-8")
_TYPES = cast("_FileTypes", tomllib.loads(_TABLE))
_PROGRAM_MAGIC = tuple(map(bytes.fromhex, _TYPES["program_magic"]))
_ARCHIVE_MAGIC = tuple(map(bytes.fromhex, _TYPES["archive_magic"]))
_MEDIA_SUFFIXES_BY_MAGIC = {
    bytes.fromhex(magic): tuple(suffixes) for magic, suffixes in _TYPES["media"].items()
}


def structure_findings(contents: SkillContents) -> Iterator[SkillFinding]:
    """Yield the structural findings of a skill."""
    count, size = len(contents.files), sum(map(len, contents.files.values()))
    if count > MAX_FILES:
        # Every file is scanned: many alone harm nobody, and collections of rules have them.
        yield _finding("", "note", f"holds {count} files, more than {MAX_FILES}")
    if size > MAX_BYTES:
        yield _finding("", "caution", f"holds {size} bytes, more than {MAX_BYTES}")
    if SKILL_FILE not in contents.files:
        yield _finding("", "caution", f"has no {SKILL_FILE}")
    for name in contents.outside_links:
        yield _finding(name, "dangerous", "links outside the skill's directory")
    for name in contents.special_files:
        yield _finding(name, "dangerous", "is neither a file nor a directory")
    for name in contents.unread_paths:
        yield _finding(name, "dangerous", "is too large or unreadable, so it was not scanned")
    for name, data in contents.files.items():
        yield from _file_findings(name, data)


def is_opaque(name: str, data: bytes) -> bool:
    """Return whether a file holds no text and is judged by its type alone."""
    head = data[:16]
    if _is_media(name, head):
        return True
    return head.startswith((*_PROGRAM_MAGIC, *_ARCHIVE_MAGIC)) and b"\0" in data[:4096]


def _file_findings(name: str, data: bytes) -> Iterator[SkillFinding]:
    path, head = PurePosixPath(name.lower()), data[:16]
    is_media = _is_media(name, head)
    claims_media = any(path.suffix in each for each in _MEDIA_SUFFIXES_BY_MAGIC.values())
    is_compiled = path.suffix in _TYPES["compiled_suffixes"] and b"\0" in data[:4096]
    if head.startswith(_PROGRAM_MAGIC) or is_compiled:
        yield _finding(name, "dangerous", "is a compiled program, which cannot be scanned")
    elif path.suffix in _TYPES["office_suffixes"] and head.startswith(b"PK"):
        yield _finding(name, "note", "is an office document")
    elif head.startswith(_ARCHIVE_MAGIC) or path.suffix in _TYPES["archive_suffixes"]:
        yield _finding(name, "caution", "is an archive, which cannot be scanned")
    elif claims_media and not is_media and data:
        severity: Severity = "dangerous" if head.startswith((b"#!", b"<?php")) else "caution"
        yield _finding(name, severity, "does not match its file extension")
    elif not is_media and b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield _finding(name, "caution", "contains binary data")
    if any(name == each or name.endswith(f"/{each}") for each in _TYPES["auto_loaded_files"]):
        yield _finding(name, "caution", "is loaded automatically by other programs")
    if path.name == ".env" or path.name.startswith(("id_rsa", "id_ed25519")):
        yield SkillFinding(name, 0, "secrets", "caution", "is a file that usually contains secrets")


def _is_media(name: str, head: bytes) -> bool:
    return any(
        head.startswith(magic) and name.lower().endswith(suffixes)
        for magic, suffixes in _MEDIA_SUFFIXES_BY_MAGIC.items()
    )


def _finding(name: str, severity: Severity, description: str) -> SkillFinding:
    return SkillFinding(name, 0, "structure", severity, description)
