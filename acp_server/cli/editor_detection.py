"""Finds installed editors and whether their settings name this program.

Looks only for programs on PATH and for settings directories; starts no editor.
"""

import shutil
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

PROGRAM = b"acp-server"
MAX_FILE_BYTES = 1_000_000


class KnownEditor(BaseModel):
    """Programs and directories by which an editor is found; paths are relative to the home."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    """Settings files in those directories that may name this program."""


KNOWN_EDITORS = TypeAdapter(dict[str, KnownEditor]).validate_python(
    tomllib.loads(Path(__file__).with_name("editors.toml").read_text(encoding="utf-8"))
)


@dataclass(frozen=True, slots=True)
class FoundEditor:
    """An editor that seems to be installed."""

    name: str
    programs: tuple[str, ...]
    """Paths of its programs."""
    folders: tuple[str, ...]
    """Its settings directories."""
    names_us: bool
    """Whether its settings name this program."""


def find_editors(
    home: Path, which: Callable[[str], str | None] = shutil.which
) -> Sequence[FoundEditor]:
    """Return the editors that have a program on PATH or a settings directory."""
    found: list[FoundEditor] = []
    for name, editor in KNOWN_EDITORS.items():
        programs = tuple(filter(None, map(which, editor.programs)))
        folders = [home / folder for folder in editor.folders if (home / folder).is_dir()]
        if programs or folders:
            files = [folder / file for folder in folders for file in editor.files]
            names_us = any(map(_names_program, files))
            found.append(FoundEditor(name, programs, tuple(map(str, folders)), names_us))
    return tuple(found)


def _names_program(file: Path) -> bool:
    try:
        return (
            file.is_file()
            and file.stat().st_size <= MAX_FILE_BYTES
            and PROGRAM in file.read_bytes()
        )
    except OSError:
        return False
