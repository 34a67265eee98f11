"""MCP servers that a repository configures for other agents: `.mcp.json` and its siblings.

Formats: https://docs.anthropic.com/en/docs/claude-code/mcp,
https://code.visualstudio.com/docs/copilot/customization/mcp-servers,
https://cursor.com/docs/context/mcp

Nothing is started here. `${VAR}` stands for a variable of this process's environment, which the
user sees by name before a server may start; variables with keys of model providers are withheld.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.text.lines import to_single_line
from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.sources.file_reading import ReadFailure, read_within, resolve

FILES = {
    ".mcp.json": "mcpServers",
    ".vscode/mcp.json": "servers",
    ".cursor/mcp.json": "mcpServers",
}
"""The files and the key of their servers, in the order in which a name is looked up."""
MAX_BYTES = 1024 * 1024
MAX_NAME_CHARACTERS = 100
_PLACEHOLDER = re.compile(r"\$\{([^}\n]*)\}")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_KEYS = ("type", "command", "args", "env", "cwd", "url", "headers")
_TRANSPORTS = {"streamable-http": "http", "streamableHttp": "http"}


@frozen_dataclass
class FileServers:
    """Servers of files, in the form of the settings."""

    entries: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """By name, placeholders replaced."""
    written: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The same as the files have them."""
    variables: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Names of the environment variables that a server receives, by its name."""
    problems: tuple[str, ...] = ()


class _UnresolvedError(Exception):
    """A placeholder has no value; the text says which and what to do."""


def read_server_files(
    roots: Sequence[Path], environment: Mapping[str, str], secret_names: Collection[str]
) -> FileServers:
    """Read the files of the roots of a workspace. Blocks; nothing outside them is read."""
    entries: dict[str, JsonValue] = {}
    written: dict[str, JsonValue] = {}
    variables: dict[str, Sequence[str]] = {}
    problems: list[str] = []
    for root in map(resolve, roots):
        for file, key in FILES.items():
            document = _read_document(root / file, root, problems)
            inputs = {as_text(as_object(i).get("id")): i for i in as_list(document.get("inputs"))}
            for name, entry in as_object(document.get(key)).items():
                resolver = _Resolver(root, environment, secret_names, inputs)
                if name in entries or as_object(entry).get("disabled") is True:
                    continue
                try:
                    entries[name] = _to_settings(as_object(entry), resolver)
                    written[name] = entry
                    variables[name] = tuple(dict.fromkeys(resolver.used))
                except _UnresolvedError as error:
                    shown = to_single_line(name, MAX_NAME_CHARACTERS)
                    problems.append(f"the MCP server {shown} of {file} is not used: {error}")
    return FileServers(entries, written, variables, tuple(problems))


def _read_document(path: Path, root: Path, problems: list[str]) -> Mapping[str, JsonValue]:
    found = read_within(path, root, MAX_BYTES)
    if found is None:
        return {}
    label = path.relative_to(root).as_posix()
    if isinstance(found, ReadFailure):
        problems.append(f"{label} is not used: {found.reason}")
        return {}
    try:
        # Editors write comments into these files; a JSON file has none.
        return as_object(json.loads(_without_comments(decode_text(found.raw))))
    except UndecodableError as error:
        problems.append(f"{label} is not used: {error.reason}")
    except ValueError as error:
        problems.append(f"{label} is not used: it is not JSON ({error})")
    except RecursionError:
        problems.append(f"{label} is not used: it is nested too deeply")
    return {}


def _without_comments(text: str) -> str:
    """Return JSON without `//` and `/* */` comments and without trailing commas."""
    pieces: list[str] = []
    position = 0
    # Strings are matched first, so that `//` in a URL is no comment.
    for found in _JSON_TOKEN.finditer(text):
        pieces.append(text[position : found.start()])
        pieces.append(found[0] if found[0].startswith('"') else " ")
        position = found.end()
    return "".join((*pieces, text[position:]))


def _to_settings(entry: Mapping[str, JsonValue], resolver: "_Resolver") -> JsonValue:
    """Return the entry in the form of the settings.

    Raises:
        _UnresolvedError: a placeholder has no value.
    """
    if "envFile" in entry:
        raise _UnresolvedError("`envFile` is not supported; name the variables in `env`")
    url = entry.get("url") or entry.get("serverUrl")
    known = {key: entry[key] for key in _KEYS if key in entry} | ({"url": url} if url else {})
    transport = known.get("type")
    if isinstance(transport, str):
        known["type"] = _TRANSPORTS.get(transport, transport)
    return {key: resolver.fill(value) for key, value in known.items()}


class _Resolver:
    """Replaces the placeholders of one server."""

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        secret_names: Collection[str],
        inputs: Mapping[str, JsonValue],
    ) -> None:
        self.used: list[str] = []
        self._root = root
        self._environment = environment
        self._secret_names = secret_names
        self._inputs = inputs

    def fill(self, value: JsonValue) -> JsonValue:
        """Return a value with all placeholders in its texts replaced."""
        match value:
            case str():
                return _PLACEHOLDER.sub(lambda found: self._value_of(found[1]), value)
            case list():
                return [self.fill(each) for each in value]
            case dict():
                return {name: self.fill(each) for name, each in value.items()}
            case _:
                return value

    def _value_of(self, placeholder: str) -> str:
        if placeholder in ("workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR"):
            return str(self._root)
        if placeholder == "workspaceFolderBasename":
            return self._root.name
        if placeholder.startswith("input:"):
            return self._input(placeholder.removeprefix("input:"))
        # VS Code and Cursor write `${env:NAME}`, Claude Code `${NAME}` and `${NAME:-default}`.
        name, has_default, default = placeholder.removeprefix("env:").partition(":-")
        value = self._variable(name)
        if value is None and not has_default:
            raise _UnresolvedError(f"the environment variable {name} is not set")
        return default if value is None else value

    def _input(self, name: str) -> str:
        """Return the value of a VS Code input: a variable of its name, else its default."""
        variable = re.sub(r"\W", "_", name).upper()
        value = self._variable(variable)
        default = as_object(self._inputs.get(name)).get("default")
        if value is None and isinstance(default, str):
            return default
        if value is None:
            raise _UnresolvedError(f"it asks for {name}; set the environment variable {variable}")
        return value

    def _variable(self, name: str) -> str | None:
        if name in self._secret_names:
            raise _UnresolvedError(f"it asks for {name}, which no MCP server receives")
        value = self._environment.get(name)
        if value is not None:
            self.used.append(name)
        return value
