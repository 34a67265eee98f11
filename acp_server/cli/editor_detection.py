"""Finds installed editors and whether their settings name this program.

Looks only for programs on PATH and for settings directories; starts no editor.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_server.cli.check_result import CheckResult

PROGRAM = b"acp-server"
MAX_FILE_BYTES = 1_000_000
_LINUX, _MACOS = ".config", "Library/Application Support"
_WINDOWS = "AppData/Roaming"


@dataclass(frozen=True, slots=True)
class KnownEditor:
    """Programs and directories by which an editor is found; paths are relative to the home."""

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Settings files in those directories that may name this program."""


def _config_directories(*names: str) -> tuple[str, ...]:
    return tuple(f"{place}/{name}" for name in names for place in (_LINUX, _MACOS, _WINDOWS))


def _vscode_like(program: str, folder: str) -> KnownEditor:
    return KnownEditor((program,), _config_directories(folder), ("User/settings.json",))


KNOWN_EDITORS: Mapping[str, KnownEditor] = {
    "Zed": KnownEditor(
        ("zed", "zeditor", "zed-editor"), _config_directories("zed", "Zed"), ("settings.json",)
    ),
    "VS Code": _vscode_like("code", "Code"),
    "VS Code Insiders": _vscode_like("code-insiders", "Code - Insiders"),
    "VSCodium": _vscode_like("codium", "VSCodium"),
    "Cursor": _vscode_like("cursor", "Cursor"),
    "Windsurf": _vscode_like("windsurf", "Windsurf"),
    "Neovim": KnownEditor(
        ("nvim",), (*_config_directories("nvim"), "AppData/Local/nvim"), ("init.lua",)
    ),
    "Emacs": KnownEditor(("emacs",), (".config/emacs", ".emacs.d"), ("init.el",)),
    "JetBrains": KnownEditor(
        ("idea", "pycharm", "webstorm", "goland", "clion", "rustrover", "phpstorm", "rider"),
        (*_config_directories("JetBrains"), ".jetbrains"),
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


def check_editors(found: Sequence[FoundEditor]) -> CheckResult:
    """Return the check result for the found editors."""
    names = [f"{each.name}{' (set up)' if each.names_us else ''}" for each in found]
    return CheckResult("editors", "ok", ", ".join(names) or "no known editor found")


def _names_program(file: Path) -> bool:
    try:
        return (
            file.is_file()
            and file.stat().st_size <= MAX_FILE_BYTES
            and PROGRAM in file.read_bytes()
        )
    except OSError:
        return False
