"""Tool names and arguments of each agent for five calls: read, search, patch, write, run.

The dialect is chosen by the tools that a request offers. Knows no API formats.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

Arguments = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class DialectCall:
    """A tool call with an agent's own tool name and arguments."""

    name: str
    arguments: str
    is_freeform: bool = False
    """Whether the arguments are plain text rather than JSON."""


Translate = Callable[[str, Arguments], DialectCall]


def translate_call(
    tools: frozenset[str], folder: str, name: str, arguments: Arguments
) -> DialectCall:
    """Return a call in the dialect of the agent that offers these tools, with absolute paths."""
    path = arguments.get("path")
    resolved = arguments if path is None else {**arguments, "path": f"{folder}/{path}"}
    for mark, translate in DIALECTS.items():
        if mark in tools:
            return translate(name, resolved)
    return DialectCall(name, json.dumps(resolved))


def _plain(name: str, arguments: Arguments) -> DialectCall:
    return DialectCall(name, json.dumps(arguments))


def _rename_arguments(
    renaming: tuple[str, Mapping[str, str], Arguments], arguments: Arguments
) -> DialectCall:
    name, fields, more = renaming
    renamed = {fields[field]: value for field, value in arguments.items() if field in fields}
    return DialectCall(name, json.dumps({**renamed, **more}))


def _path(name: str) -> dict[str, str]:
    return {"path": name, "offset": "offset", "limit": "limit"}


CLAUDE: Mapping[str, tuple[str, Mapping[str, str], Arguments]] = {
    "read_file": ("Read", _path("file_path"), {}),
    "search_files": ("Grep", {"pattern": "pattern"}, {"output_mode": "content", "-n": True}),
    "patch": (
        "Edit",
        {"path": "file_path", "old_string": "old_string", "new_string": "new_string"},
        {},
    ),
    "write_file": ("Write", {"path": "file_path", "content": "content"}, {}),
    "terminal": ("Bash", {"command": "command"}, {"description": "Runs a command"}),
}
OPENCODE: Mapping[str, tuple[str, Mapping[str, str], Arguments]] = {
    "read_file": ("read", _path("filePath"), {}),
    "search_files": ("grep", {"pattern": "pattern"}, {}),
    "patch": (
        "edit",
        {"path": "filePath", "old_string": "oldString", "new_string": "newString"},
        {},
    ),
    "write_file": ("write", {"path": "filePath", "content": "content"}, {}),
    "terminal": ("bash", {"command": "command"}, {"description": "Runs a command"}),
}
GEMINI: Mapping[str, tuple[str, Mapping[str, str], Arguments]] = {
    "read_file": ("read_file", {"path": "file_path"}, {}),
    "search_files": ("grep_search", {"pattern": "pattern"}, {}),
    "patch": (
        "replace",
        {"path": "file_path", "old_string": "old_string", "new_string": "new_string"},
        {"instruction": "Change the lines"},
    ),
    "write_file": ("write_file", {"path": "file_path", "content": "content"}, {}),
    "terminal": ("run_shell_command", {"command": "command"}, {"description": "Runs a command"}),
}


def _gemini(name: str, arguments: Arguments) -> DialectCall:
    made = _rename_arguments(GEMINI[name], arguments)
    if "offset" not in arguments:
        return made
    first, count = int(str(arguments["offset"])), int(str(arguments["limit"]))
    lines = {"start_line": first, "end_line": first + count - 1}
    return DialectCall(made.name, json.dumps({**json.loads(made.arguments), **lines}))


def _claude(name: str, arguments: Arguments) -> DialectCall:
    if name == "search_files":  # some versions have no search tool and use a command
        found = {"command": f"grep -rn -e '{arguments['pattern']}' . | head -20"}
        return _rename_arguments(CLAUDE["terminal"], found)
    return _rename_arguments(CLAUDE[name], arguments)


def _claude_with_grep(name: str, arguments: Arguments) -> DialectCall:
    limit = {"head_limit": arguments.get("limit", 20)} if name == "search_files" else {}
    made = _rename_arguments(CLAUDE[name], arguments)
    return DialectCall(made.name, json.dumps({**json.loads(made.arguments), **limit}))


def _opencode(name: str, arguments: Arguments) -> DialectCall:
    return _rename_arguments(OPENCODE[name], arguments)


def _shell(tool: str, field: str) -> Translate:
    def speak(name: str, arguments: Arguments) -> DialectCall:
        if name == "patch":
            return DialectCall("apply_patch", _envelope(arguments), is_freeform=True)
        return DialectCall(tool, json.dumps({field: _command(name, arguments)}))

    return speak


def _envelope(arguments: Arguments) -> str:
    removed = "".join(f"-{line}\n" for line in str(arguments["old_string"]).splitlines())
    added = "".join(f"+{line}\n" for line in str(arguments["new_string"]).splitlines())
    path = arguments["path"]
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n{removed}{added}*** End Patch\n"


def _command(name: str, arguments: Arguments) -> str:
    match name:
        case "read_file":
            first, limit = int(str(arguments["offset"])), int(str(arguments["limit"]))
            return f"sed -n {first},{first + limit - 1}p {arguments['path']}"
        case "search_files":
            return f"grep -rn -e '{arguments['pattern']}' . | head -20"
        case "write_file":
            path = arguments["path"]
            return (
                f"mkdir -p \"$(dirname {path})\"; cat > {path} <<'END'\n{arguments['content']}END"
            )
        case _:
            return str(arguments["command"])


DIALECTS: Mapping[str, Translate] = {
    "search_files": _plain,
    "Grep": _claude_with_grep,
    "Bash": _claude,
    "run_shell_command": _gemini,
    "exec_command": _shell("exec_command", "cmd"),
    "shell_command": _shell("shell_command", "command"),
    "grep": _opencode,
    "bash": _opencode,
}
"""Dialects by a tool that only this agent offers, the most specific first."""
