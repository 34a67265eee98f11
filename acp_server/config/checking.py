"""Validation of settings files, with line numbers, for `acp-server config check`.

Loading silently ignores unknown keys; here they are reported. Reads no file: takes texts.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO

from dotenv.parser import parse_stream
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from acp_server.config.fitting import validate_setting
from acp_server.config.setting import NameKind
from acp_server.config.table import (
    MODEL_KEY,
    find_written,
    names_by_setting,
    setting_sources,
    value_at,
)
from acp_server.config.unused_keys import find_unused_keys, known_keys, sections_of
from acp_server.config.values import mcp_server_keys
from acp_server.config.yaml_files import (
    InvalidYamlError,
    NotAMappingError,
    compose_nodes,
    parse_mapping,
)

MCP_SERVERS = "mcp_servers"
OWN_VARIABLE_PREFIX = "ACP_SERVER_"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_NULL_TAG = "tag:yaml.org,2002:null"
KEY_NAMES = ("api_key", "apikey", "auth_token", "token", "key")
NO_KEYS_HERE = "API keys do not belong in this file; run `acp-server setup` to store one"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """A problem in a settings file. Never contains the value, which may be a secret."""

    line: int | None
    """Line number from 1; None if the parser does not report it."""
    key: str
    """The dotted key or the variable; empty for the whole file."""
    reason: str
    is_harmless: bool = False
    """Whether only this entry is affected, such as an unknown key that is never read."""
    is_notice: bool = False
    """Whether nothing is wrong: an old name, which still works, or a key of Hermes alone."""

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}" if self.key else self.reason


def check_yaml(text: str, *, is_shared: bool = False) -> list[ConfigProblem]:
    """Return the problems in a config.yaml, ordered by line.

    With `is_shared`, old names are not reported, and unknown keys, which Hermes may use, are
    notices at the end, safety rules first.
    """
    try:
        root, values = compose_nodes(text), parse_mapping(text)
    except InvalidYamlError as error:
        return [ConfigProblem(error.line, "", f"not YAML{error.reason and f': {error.reason}'}")]
    except NotAMappingError as error:
        return [ConfigProblem(1, "", str(error))]
    if not isinstance(root, MappingNode):
        return []
    found: list[ConfigProblem] = []
    for name, written in find_written("key", partial(value_at, values)):
        for key, value in written:
            for part in validate_setting(name, value).invalid_parts:
                node = _node_at(root, (*key.split("."), *part.path))
                found.append(ConfigProblem(_line(node), part.qualified_name(key), part.reason))
    if not is_shared:
        old_names = {each.key: each for each in _find_old_names("key", partial(value_at, values))}
        found = [*_find_unusual_keys(root, "", old_names), *found]
    found.sort(key=lambda problem: problem.line or 0)
    if is_shared:
        for each in find_unused_keys(values):
            line = _line(_node_at(root, each.key.split(".")))
            found.append(
                ConfigProblem(line, each.key, each.reason, is_harmless=True, is_notice=True)
            )
    return found


def check_dotenv(text: str) -> list[ConfigProblem]:
    """Return the problems in a .env file that concern this server's variables."""
    by_variable = {
        variable: name
        for name, variables in names_by_setting("variable").items()
        for variable in variables
    }
    current_names = [names[0] for names in names_by_setting("variable").values()]
    bindings = list(parse_stream(StringIO(text)))
    old_names = {
        problem.key: problem
        for problem in find_old_variables({each.key or "": each.value for each in bindings})
    }
    found: list[ConfigProblem] = []
    for binding in bindings:
        variable, line = binding.key or "", binding.original.line
        if binding.error:
            found.append(ConfigProblem(line, "", "is not an assignment NAME=VALUE"))
        elif variable in by_variable and binding.value:
            invalid_parts = validate_setting(by_variable[variable], binding.value).invalid_parts
            found += [ConfigProblem(line, variable, each.reason) for each in invalid_parts]
            if variable in old_names:
                found.append(replace(old_names[variable], line=line))
        elif variable.startswith(OWN_VARIABLE_PREFIX) and variable not in by_variable:
            found.append(
                ConfigProblem(
                    line,
                    variable,
                    _unknown_name_reason(variable, current_names),
                    is_harmless=True,
                )
            )
    return found


def find_old_variables(environment: Mapping[str, str | None]) -> Iterator[ConfigProblem]:
    """Yield a notice for each old name of a variable that is set."""
    return _find_old_names("variable", lambda name: environment.get(name) or None)


def _find_old_names(kind: NameKind, lookup: Callable[[str], object]) -> Iterator[ConfigProblem]:
    for field, written in find_written(kind, lookup):
        current = names_by_setting(kind)[field][0]
        first = written[0][0]
        for name, _ in written:
            is_of_hermes = kind == "key" and name in setting_sources()[field].hermes_keys
            if name == current or (is_of_hermes and name == first):
                continue
            reason = f"was renamed to {current}; the old name still works"
            if name != first:
                reason = f"is ignored: {first} is also set"
            yield ConfigProblem(None, name, reason, is_harmless=True, is_notice=True)


def _find_unusual_keys(
    mapping: MappingNode, prefix: str, old_names: Mapping[str, ConfigProblem]
) -> Iterator[ConfigProblem]:
    """Yield the keys that are unknown, duplicate or dotted, and old names."""
    seen: set[str] = set()
    for key_node, value in _entries(mapping):
        key, line = key_node.value, _line(key_node)
        name = f"{prefix}{key}"
        if name in seen:
            yield ConfigProblem(
                line, name, "is a duplicate key; the last one is used", is_harmless=True
            )
        seen.add(name)
        if "." in key:
            yield ConfigProblem(
                line, name, "dotted keys are not supported; nest the keys", is_harmless=True
            )
        elif name == MCP_SERVERS and isinstance(value, MappingNode):
            yield from _find_unknown_keys_of_servers(value)
        elif name in sections_of(known_keys()):
            is_short_model = name == MODEL_KEY.partition(".")[0]
            if isinstance(value, MappingNode):
                yield from _find_unusual_keys(value, f"{name}.", old_names)
            elif not is_short_model and value.tag != _NULL_TAG:
                yield ConfigProblem(_line(value), name, "must be a mapping of keys to values")
        elif name in old_names:
            yield replace(old_names[name], line=line)
        elif name not in known_keys():
            yield ConfigProblem(line, name, _unknown_key_reason(name), is_harmless=True)


def _find_unknown_keys_of_servers(servers: MappingNode) -> Iterator[ConfigProblem]:
    for server, settings in _entries(servers):
        if not isinstance(settings, MappingNode):
            continue  # not a server: the check of the value says so
        prefix = f"{MCP_SERVERS}.{server.value}."
        for key_node, _ in _entries(settings):
            key: str = key_node.value
            name = f"{prefix}{key}"
            if key not in mcp_server_keys():
                # Only the last part tells the names apart.
                close = difflib.get_close_matches(key, mcp_server_keys(), n=1)
                guess = f"; did you mean {prefix}{close[0]}?" if close else ""
                reason = f"is not known{guess}"
                yield ConfigProblem(_line(key_node), name, reason, is_harmless=True)


def _unknown_key_reason(name: str) -> str:
    last = name.rpartition(".")[2]
    if last in KEY_NAMES:
        return NO_KEYS_HERE
    names = names_by_setting("key")
    if last in names:
        return _unknown_name_reason(name, [names[last][0]])
    current = frozenset(each[0] for each in names.values())
    return _unknown_name_reason(name, [*current, *sections_of(current)])


def _unknown_name_reason(name: str, known: list[str]) -> str:
    """Return a message for an unknown name, with up to two suggestions."""
    last = name.rpartition(".")[2]
    similar = [each for each in known if each.rpartition(".")[2] == last]
    similar += difflib.get_close_matches(name, known, n=2, cutoff=0.75)
    guesses = list(dict.fromkeys(similar or (known if len(known) == 1 else [])))[:2]
    return f"is not known; did you mean {' or '.join(guesses)}?" if guesses else "is not known"


def _entries(mapping: MappingNode) -> Iterator[tuple[ScalarNode, Node]]:
    for key, value in mapping.value:
        if isinstance(key, ScalarNode) and key.tag != _MERGE_TAG:
            yield key, value


def _node_at(root: MappingNode, path: Iterable[str | int]) -> Node:
    """Return the node at a path, else its deepest existing ancestor."""
    node: Node = root
    for step in path:
        inner = _child_node(node, step)
        if inner is None:
            return node
        node = inner
    return node


def _child_node(node: Node, step: str | int) -> Node | None:
    """Return the child at a key (the last duplicate, as in loading) or at an index."""
    if isinstance(node, SequenceNode) and isinstance(step, int):
        items: list[Node] = node.value
        return items[step]
    if isinstance(node, MappingNode):
        found = [value for key, value in _entries(node) if key.value == str(step)]
        return found[-1] if found else None
    return None


def _line(node: Node) -> int:
    return node.start_mark.line + 1
