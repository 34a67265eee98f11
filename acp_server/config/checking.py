"""Validation of settings files, with line numbers, for `acp-server config check`.

Loading silently ignores unknown keys; here they are reported. Reads no file: takes texts.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import StringIO

from dotenv.parser import parse_stream
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from acp_server.config.fitting import InvalidPart, validate_setting
from acp_server.config.table import MODEL_KEY, setting_sources, value_at
from acp_server.config.yaml_files import (
    InvalidYamlError,
    NotAMappingError,
    compose_nodes,
    parse_mapping,
)

OWN_VARIABLE_PREFIX = "ACP_SERVER_"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_NULL_TAG = "tag:yaml.org,2002:null"
_KEY_NAMES = ("api_key", "apikey", "auth_token", "token", "key")
_NO_KEYS_HERE = "API keys do not belong in this file; run `acp-server setup` to store one"


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

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}" if self.key else self.reason


def check_yaml(text: str, *, is_shared: bool = False) -> list[ConfigProblem]:
    """Return the problems in a config.yaml, ordered by line.

    With `is_shared`, unknown keys are not reported: they may belong to other programs.
    """
    try:
        root, values = compose_nodes(text), parse_mapping(text)
    except InvalidYamlError as error:
        return [ConfigProblem(error.line, "", f"not YAML{error.reason and f': {error.reason}'}")]
    except NotAMappingError as error:
        return [ConfigProblem(1, "", str(error))]
    if not isinstance(root, MappingNode):
        return []
    found = [] if is_shared else list(_find_unknown_keys(root, ""))
    return sorted(
        [*found, *_find_invalid_values(root, values)], key=lambda problem: problem.line or 0
    )


def check_dotenv(text: str) -> list[ConfigProblem]:
    """Return the problems in a .env file that concern this server's variables."""
    by_variable = {
        source.variable: name for name, source in setting_sources().items() if source.variable
    }
    found: list[ConfigProblem] = []
    for binding in parse_stream(StringIO(text)):
        variable, line = binding.key or "", binding.original.line
        if binding.error:
            found.append(ConfigProblem(line, "", "is not an assignment NAME=VALUE"))
        elif variable in by_variable and binding.value:
            invalid_parts = validate_setting(by_variable[variable], binding.value).invalid_parts
            found += [ConfigProblem(line, variable, each.reason) for each in invalid_parts]
        elif variable.startswith(OWN_VARIABLE_PREFIX) and variable not in by_variable:
            found.append(
                ConfigProblem(
                    line,
                    variable,
                    _unknown_name_reason(variable, list(by_variable)),
                    is_harmless=True,
                )
            )
    return found


def _find_invalid_values(
    root: MappingNode, values: Mapping[str, object]
) -> Iterator[ConfigProblem]:
    """Yield the invalid values of known settings."""
    for name, source in setting_sources().items():
        if not source.key:
            continue
        value = value_at(values, source.key)
        node = _node_at(root, source.key)
        if value is None:
            continue
        for part in validate_setting(name, value).invalid_parts:
            part_node = _node_of_part(node, part)
            yield ConfigProblem(_line(part_node), part.qualified_name(source.key), part.reason)


def _find_unknown_keys(mapping: MappingNode, prefix: str) -> Iterator[ConfigProblem]:
    """Yield the keys that are unknown, duplicate or dotted."""
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
        elif name in _known_sections():
            yield from _check_section(value, name)
        elif name not in _known_keys():
            yield ConfigProblem(line, name, _unknown_key_reason(name), is_harmless=True)


def _check_section(value: Node, name: str) -> Iterator[ConfigProblem]:
    is_short = name == MODEL_KEY.partition(".")[0]
    if isinstance(value, MappingNode):
        yield from _find_unknown_keys(value, f"{name}.")
    elif not is_short and value.tag != _NULL_TAG:
        yield ConfigProblem(_line(value), name, "must be a mapping of keys to values")


def _unknown_key_reason(name: str) -> str:
    last = name.rpartition(".")[2]
    if last in _KEY_NAMES:
        return _NO_KEYS_HERE
    if last in setting_sources() and setting_sources()[last].key:
        return _unknown_name_reason(name, [setting_sources()[last].key])
    return _unknown_name_reason(name, [*_known_keys(), *_known_sections()])


def _unknown_name_reason(name: str, known: list[str]) -> str:
    """Return a message for an unknown name, with up to two suggestions."""
    last = name.rpartition(".")[2]
    similar = [each for each in known if each.rpartition(".")[2] == last]
    similar += difflib.get_close_matches(name, known, n=2, cutoff=0.75)
    guesses = list(dict.fromkeys(similar or (known if len(known) == 1 else [])))[:2]
    return f"is not known; did you mean {' or '.join(guesses)}?" if guesses else "is not known"


@cache
def _known_keys() -> frozenset[str]:
    return frozenset(source.key for source in setting_sources().values() if source.key)


@cache
def _known_sections() -> frozenset[str]:
    """Return all proper prefixes of keys, such as `log` of `log.level`."""
    return frozenset(
        ".".join(parts[:depth])
        for parts in (key.split(".") for key in _known_keys())
        for depth in range(1, len(parts))
    )


def _entries(mapping: MappingNode) -> Iterator[tuple[ScalarNode, Node]]:
    for key, value in mapping.value:
        if isinstance(key, ScalarNode) and key.tag != _MERGE_TAG:
            yield key, value


def _node_at(root: MappingNode, key: str) -> Node:
    """Return the node of a dotted key, else its deepest existing ancestor."""
    node: Node = root
    for part in key.split("."):
        inner = _child_node(node, part)
        if inner is None:
            return node
        node = inner
    return node


def _node_of_part(node: Node, part: InvalidPart) -> Node:
    for step in part.path:
        node = _child_node(node, step) or node
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
