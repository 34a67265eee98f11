"""Settings that each editor needs to start this program, and the paths of its settings files.

Pure except `server_command` and the bundled snippets: reads and writes no settings file.
"""

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from acp_server.cli.commented_json import get_value, remove_value, set_value
from acp_server.startup.isolation import isolated_server

PROGRAM = "acp-server"
PACKAGE = "hermes-acp-server"
FileEditor = Literal["zed", "vscode", "jetbrains"]
EditorName = Literal[FileEditor, "neovim", "emacs"]
EDITORS: Sequence[EditorName] = ("zed", "vscode", "jetbrains", "neovim", "emacs")
TITLES: Mapping[EditorName, str] = {  # as `find_editors` names them
    "zed": "Zed",
    "vscode": "VS Code",
    "jetbrains": "JetBrains",
    "neovim": "Neovim",
    "emacs": "Emacs",
}
NEXT_STEPS: Mapping[EditorName, str] = {
    "zed": "In Zed, open the agent panel, press + and choose acp-server.",
    "vscode": "In VS Code, install the Hermes Agent extension and open its view.",
    "jetbrains": "In the IDE, open AI Chat and choose acp-server from the list of agents.",
    "neovim": (
        "Add this to the file with your plugins, such as ~/.config/nvim/init.lua, in place of the "
        'call of require("codecompanion").setup. Then run :CodeCompanionChat.'
    ),
    "emacs": "Add this to your init file, ~/.emacs.d/init.el, then run M-x acp-server.",
}
_VSCODE_COMMAND, _VSCODE_ARGUMENTS = "acpServer.command", "acpServer.arguments"
# The extension's default, which settings replace.
_VSCODE_SERVE_ARGUMENTS = ("serve", "--unstable", "true")
# Directories in uv's cache, which may be cleared at any time.
_TEMPORARY_PREFIXES = ("archive-v", "environments-v")


@dataclass(frozen=True, slots=True)
class Platform:
    """Platform facts that determine the paths of settings files."""

    system: str
    """Value of `sys.platform`."""
    home: Path
    variables: Mapping[str, str]


def settings_file(editor: FileEditor, machine: Platform) -> Path:
    """Return the settings file in which an editor or its extension looks for agents."""
    match editor:
        case "zed":
            return _zed_directory(machine) / "settings.json"
        case "vscode":
            return _application_directory(machine) / "Code" / "User" / "settings.json"
        case "jetbrains":
            return machine.home / ".jetbrains" / "acp.json"


def with_server(editor: FileEditor, text: str, command: Sequence[str]) -> str:
    """Return an editor's settings with this program added and all else unchanged.

    Existing settings of this program stay, except a different command and its arguments, and
    Zed's `default_mode`, which becomes a default config option.

    Raises:
        CommentedJsonError: The text is not JSON with comments, or not an object.
    """
    if editor == "vscode":
        return _with_vscode_command(text, command)
    if editor == "zed":
        text = _with_zed_mode_option(_with_zed_mode_option(text, PROGRAM), PACKAGE)
    path = ("agent_servers", PROGRAM)
    launch: dict[str, JsonValue] = {"command": command[0], "args": list(command[1:])}
    entry = {"type": "custom", **launch} if editor == "zed" else {**launch, "env": {}}
    known = get_value(text, path)
    if not isinstance(known, dict):
        return set_value(text, path, entry)
    is_same_command = known.get("command") == entry["command"]
    for name, value in entry.items():
        if name not in known or (name != "env" and not is_same_command):
            text = set_value(text, (*path, name), value)
    return text


def snippet(editor: EditorName, command: Sequence[str]) -> str:
    """Return text to paste: settings, or lines for an init file."""
    match editor:
        case "neovim":
            return _fill_template("neovim.lua", ", ", command)
        case "emacs":
            return _fill_template("emacs.el", " ", command)
        case "zed" | "vscode" | "jetbrains":
            return with_server(editor, "", command)


def server_command(which: Callable[[str], str | None] = shutil.which) -> Sequence[str]:
    """Return the command line that starts this installation.

    The program is an absolute path where possible: an editor that is started from a desktop menu
    does not have the shell's PATH.
    """
    sibling = Path(sys.executable).with_name(PROGRAM + (".exe" if sys.platform == "win32" else ""))
    if any(part.startswith(_TEMPORARY_PREFIXES) for part in sibling.parts):
        found = which("uvx")
        return (found if found and Path(found).is_absolute() else "uvx", PACKAGE)
    if not sibling.exists():
        return isolated_server()
    found = which(PROGRAM)
    is_same = (
        found is not None
        and Path(found).is_absolute()
        and Path(found).resolve() == sibling.resolve()
    )
    return (found if found and is_same else str(sibling),)


def _fill_template(name: str, separator: str, command: Sequence[str]) -> str:
    """Return the lines for an init file; JSON string literals are valid in Lua and Lisp too."""
    text = (files("acp_server.cli") / "text" / name).read_text(encoding="utf-8")
    arguments = separator.join(json.dumps(word, ensure_ascii=False) for word in command)
    return text.replace('"acp-server-command"', arguments)


def _with_vscode_command(text: str, command: Sequence[str]) -> str:
    """Return VS Code's settings with the command that its extension starts."""
    if get_value(text, [_VSCODE_COMMAND]) == command[0]:
        return text
    text = set_value(text, [_VSCODE_COMMAND], command[0])
    if len(command) == 1 and get_value(text, [_VSCODE_ARGUMENTS]) is None:
        return text
    return set_value(text, [_VSCODE_ARGUMENTS], [*command[1:], *_VSCODE_SERVE_ARGUMENTS])


def _with_zed_mode_option(text: str, agent: str) -> str:
    """Return Zed's settings with an agent's default mode where Zed looks for it.

    Zed ignores `default_mode` for agents with config options, of which this one's mode is one.
    """
    path = ("agent_servers", agent)
    old_path, new_path = (*path, "default_mode"), (*path, "default_config_options", "mode")
    mode = get_value(text, old_path)
    if mode is None:
        return text
    if isinstance(mode, str) and get_value(text, new_path) is None:
        text = set_value(text, new_path, mode)
    return remove_value(text, old_path)


def _zed_directory(machine: Platform) -> Path:
    if machine.system == "win32":
        return _application_directory(machine) / "Zed"
    if machine.system == "darwin":  # there Zed ignores the XDG variables
        return machine.home / ".config" / "zed"
    flatpak = _absolute_directory(machine, "FLATPAK_XDG_CONFIG_HOME")
    return (flatpak or _application_directory(machine)) / "zed"


def _application_directory(machine: Platform) -> Path:
    """Return the platform's directory for application settings."""
    if machine.system == "win32":
        return _absolute_directory(machine, "APPDATA") or machine.home / "AppData" / "Roaming"
    if machine.system == "darwin":
        return machine.home / "Library" / "Application Support"
    return _absolute_directory(machine, "XDG_CONFIG_HOME") or machine.home / ".config"


def _absolute_directory(machine: Platform, variable: str) -> Path | None:
    """Return the directory that a variable names; relative paths are ignored, as XDG requires."""
    folder = Path(machine.variables.get(variable, ""))
    return folder if folder.is_absolute() else None
