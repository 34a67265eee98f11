"""What each editor has to be told of this program, and where it keeps that.

Pure: places and texts are computed, nothing is read or written. Knows no screen and no question.
"""

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Literal

from pydantic import JsonValue

from acp_server.cli.commented_json import look_up, put
from acp_server.startup.isolation import isolated_server

PROGRAM = "acp-server"
PACKAGE = "hermes-acp-server"
FileEditor = Literal["zed", "vscode", "jetbrains"]
EditorName = Literal[FileEditor, "neovim", "emacs"]
EDITORS: Sequence[EditorName] = ("zed", "vscode", "jetbrains", "neovim", "emacs")
TITLES: Mapping[EditorName, str] = {  # as `editors_found` calls them
    "zed": "Zed",
    "vscode": "VS Code",
    "jetbrains": "JetBrains",
    "neovim": "Neovim",
    "emacs": "Emacs",
}
NEXT_STEPS: Mapping[EditorName, str] = {
    "zed": "In Zed, open the agent panel, press + and choose acp-server.",
    "vscode": "In VS Code, install this program's extension and open its view.",
    "jetbrains": "In the IDE, open the AI Chat and choose acp-server from its list of agents.",
    "neovim": "Put this where your plugins are set up, then run :CodeCompanionChat.",
    "emacs": "Put this into your init file, then run M-x acp-server.",
}
_VSCODE_COMMAND, _VSCODE_ARGUMENTS = "acpServer.command", "acpServer.arguments"
_VSCODE_SERVES = ("serve", "--unstable", "true")  # the extension's own, which settings replace
_TEMPORARY = ("archive-v", "environments-v")  # folders of uv's cache, which may go at any time


@dataclass(frozen=True, slots=True)
class Machine:
    """What the places of settings depend on."""

    system: str
    """As `sys.platform` says it."""
    home: Path
    variables: Mapping[str, str]


def settings_file(editor: FileEditor, machine: Machine) -> Path:
    """Return the file in which an editor looks for agents, or for its extension's settings."""
    match editor:
        case "zed":
            return _zed_folder(machine) / "settings.json"
        case "vscode":
            return _application_folder(machine) / "Code" / "User" / "settings.json"
        case "jetbrains":
            return machine.home / ".jetbrains" / "acp.json"


def with_server(editor: FileEditor, text: str, command: Sequence[str]) -> str:
    """Return an editor's settings with this program in them, all else as it was.

    What is set for this program already stays, but for a command that is another one.

    Raises:
        CommentedJsonError: the text is not JSON with comments, or not settings.
    """
    if editor == "vscode":
        return _with_program(text, command)
    place = ("agent_servers", PROGRAM)
    wanted = _agent(editor, command)
    known = look_up(text, place)
    if not isinstance(known, dict):
        return put(text, place, wanted)
    is_ours = known.get("command") == wanted["command"]
    for name, value in wanted.items():
        if name not in known or (name != "env" and not is_ours):
            text = put(text, (*place, name), value)
    return text


def snippet(editor: EditorName, command: Sequence[str]) -> str:
    """Return what a person can paste: settings, or lines for an init file."""
    match editor:
        case "neovim":
            return _filled("neovim.lua", ", ", command)
        case "emacs":
            return _filled("emacs.el", " ", command)
        case "zed" | "vscode" | "jetbrains":
            return with_server(editor, "", command)


def server_command(which: Callable[[str], str | None] = shutil.which) -> Sequence[str]:
    """Return the words that start this installation, as absolute as an editor needs them.

    An editor that was started from a menu does not have the shell's PATH.
    """
    beside = Path(sys.executable).with_name(PROGRAM + (".exe" if sys.platform == "win32" else ""))
    if any(part.startswith(_TEMPORARY) for part in beside.parts):
        found = which("uvx")
        return (found if found and Path(found).is_absolute() else "uvx", PACKAGE)
    if not beside.exists():
        return isolated_server()
    found = which(PROGRAM)
    return (found if found and _is_same(Path(found), beside) else str(beside),)


def _filled(name: str, separator: str, command: Sequence[str]) -> str:
    """Return lines for an init file; JSON's strings are Lua's and Lisp's too."""
    text = (files("acp_server.cli") / "text" / name).read_text(encoding="utf-8")
    words = separator.join(json.dumps(word, ensure_ascii=False) for word in command)
    return text.replace('"acp-server-command"', words)


def _is_same(one: PurePath, other: PurePath) -> bool:
    return Path(one).is_absolute() and Path(one).resolve() == Path(other).resolve()


def _agent(editor: Literal["zed", "jetbrains"], command: Sequence[str]) -> dict[str, JsonValue]:
    started: dict[str, JsonValue] = {"command": command[0], "args": list(command[1:])}
    return {"type": "custom", **started} if editor == "zed" else {**started, "env": {}}


def _with_program(text: str, command: Sequence[str]) -> str:
    """Return VS Code's settings with the program that its extension starts."""
    if look_up(text, [_VSCODE_COMMAND]) == command[0]:
        return text
    text = put(text, [_VSCODE_COMMAND], command[0])
    if len(command) == 1 and look_up(text, [_VSCODE_ARGUMENTS]) is None:
        return text
    return put(text, [_VSCODE_ARGUMENTS], [*command[1:], *_VSCODE_SERVES])


def _zed_folder(machine: Machine) -> Path:
    if machine.system == "win32":
        return _application_folder(machine) / "Zed"
    if machine.system == "darwin":  # Zed keeps to this one there, whatever XDG says
        return machine.home / ".config" / "zed"
    flatpak = _absolute(machine, "FLATPAK_XDG_CONFIG_HOME")
    return (flatpak or _application_folder(machine)) / "zed"


def _application_folder(machine: Machine) -> Path:
    """Return where programs keep settings."""
    if machine.system == "win32":
        return _absolute(machine, "APPDATA") or machine.home / "AppData" / "Roaming"
    if machine.system == "darwin":
        return machine.home / "Library" / "Application Support"
    return _absolute(machine, "XDG_CONFIG_HOME") or machine.home / ".config"


def _absolute(machine: Machine, variable: str) -> Path | None:
    """Return the folder that a variable names; a relative one counts for nothing."""
    folder = Path(machine.variables.get(variable, ""))
    return folder if folder.is_absolute() else None
