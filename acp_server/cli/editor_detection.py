"""Finds installed editors and whether their settings name this program.

Looks only for programs on PATH and for settings directories; starts no editor.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_server.cli.check_result import Finding

PROGRAM = b"acp-server"
MOST_FILE_BYTES = 1_000_000
_LINUX, _MACOS = ".config", "Library/Application Support"
_WINDOWS = "AppData/Roaming"


@dataclass(frozen=True, slots=True)
class KnownEditor:
    """Programs and directories by which an editor is found; paths are relative to the home."""

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Settings files in those directories that may name this program."""


def _places(*names: str) -> tuple[str, ...]:
    return tuple(f"{place}/{name}" for name in names for place in (_LINUX, _MACOS, _WINDOWS))


def _code(program: str, folder: str) -> KnownEditor:
    return KnownEditor((program,), _places(folder), ("User/settings.json",))


EDITORS: Mapping[str, KnownEditor] = {
    "Zed": KnownEditor(("zed", "zeditor", "zed-editor"), _places("zed", "Zed"), ("settings.json",)),
    "VS Code": _code("code", "Code"),
    "VS Code Insiders": _code("code-insiders", "Code - Insiders"),
    "VSCodium": _code("codium", "VSCodium"),
    "Cursor": _code("cursor", "Cursor"),
    "Windsurf": _code("windsurf", "Windsurf"),
    "Neovim": KnownEditor(("nvim",), (*_places("nvim"), "AppData/Local/nvim"), ("init.lua",)),
    "Emacs": KnownEditor(("emacs",), (".config/emacs", ".emacs.d"), ("init.el",)),
    "JetBrains": KnownEditor(
        ("idea", "pycharm", "webstorm", "goland", "clion", "rustrover", "phpstorm", "rider"),
        (*_places("JetBrains"), ".jetbrains"),
        ("acp.json",),
    ),
}


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


def found_editors(
    home: Path, which: Callable[[str], str | None] = shutil.which
) -> Sequence[FoundEditor]:
    """Return the editors that have a program on PATH or a settings directory."""
    return tuple(_found(home, which))


def editors(found: Sequence[FoundEditor]) -> Finding:
    """Return the check result for the found editors."""
    names = [f"{each.name}{' (set up)' if each.names_us else ''}" for each in found]
    return Finding("editors", "ok", ", ".join(names) or "no known editor found")


def _found(home: Path, which: Callable[[str], str | None]) -> Iterator[FoundEditor]:
    for name, editor in EDITORS.items():
        programs = tuple(filter(None, map(which, editor.programs)))
        folders = [home / folder for folder in editor.folders if (home / folder).is_dir()]
        if programs or folders:
            names_us = any(_names_us(folder / file) for folder in folders for file in editor.files)
            yield FoundEditor(name, programs, tuple(map(str, folders)), names_us)


def _names_us(file: Path) -> bool:
    try:
        return (
            file.is_file()
            and file.stat().st_size <= MOST_FILE_BYTES
            and PROGRAM in file.read_bytes()
        )
    except OSError:
        return False
