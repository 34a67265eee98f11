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

from acp_server.config.fitting import Complaint, fit
from acp_server.config.table import MODEL_KEY, sources, value_at
from acp_server.config.yaml_files import NoMappingError, NotYamlError, composed, parsed

OWN_VARIABLES = "ACP_SERVER_"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_NULL_TAG = "tag:yaml.org,2002:null"
_SECRET_NAMES = ("api_key", "apikey", "auth_token", "token", "key")
_SIGN_IN = "API keys do not belong in this file; run `acp-server setup` to store one"


@dataclass(frozen=True, slots=True)
class Problem:
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


def check_yaml(text: str, *, is_shared: bool = False) -> list[Problem]:
    """Return the problems in a config.yaml, ordered by line.

    With `is_shared`, unknown keys are not reported: they may belong to other programs.
    """
    try:
        root, values = composed(text), parsed(text)
    except NotYamlError as error:
        return [Problem(error.line, "", f"not YAML{error.reason and f': {error.reason}'}")]
    except NoMappingError as error:
        return [Problem(1, "", str(error))]
    if not isinstance(root, MappingNode):
        return []
    found = [] if is_shared else list(_strange_keys(root, ""))
    return sorted([*found, *_misfits(root, values)], key=lambda problem: problem.line or 0)


def check_dotenv(text: str) -> list[Problem]:
    """Return the problems in a .env file that concern this server's variables."""
    by_variable = {source.variable: name for name, source in sources().items() if source.variable}
    found: list[Problem] = []
    for binding in parse_stream(StringIO(text)):
        variable, line = binding.key or "", binding.original.line
        if binding.error:
            found.append(Problem(line, "", "is not an assignment NAME=VALUE"))
        elif variable in by_variable and binding.value:
            complaints = fit(by_variable[variable], binding.value).complaints
            found += [Problem(line, variable, each.reason) for each in complaints]
        elif variable.startswith(OWN_VARIABLES) and variable not in by_variable:
            found.append(
                Problem(line, variable, _unknown(variable, list(by_variable)), is_harmless=True)
            )
    return found


def _misfits(root: MappingNode, values: Mapping[str, object]) -> Iterator[Problem]:
    """Yield the invalid values of known settings."""
    for name, source in sources().items():
        if not source.key:
            continue
        value = value_at(values, source.key)
        node = _node_at(root, source.key)
        if value is None:
            continue
        for complaint in fit(name, value).complaints:
            place = _descend(node, complaint)
            yield Problem(_line(place), complaint.named(source.key), complaint.reason)


def _strange_keys(mapping: MappingNode, above: str) -> Iterator[Problem]:
    """Yield the keys that are unknown, duplicate or dotted."""
    seen: set[str] = set()
    for key_node, value in _entries(mapping):
        key, line = key_node.value, _line(key_node)
        name = f"{above}{key}"
        if name in seen:
            yield Problem(line, name, "is a duplicate key; the last one is used", is_harmless=True)
        seen.add(name)
        if "." in key:
            yield Problem(
                line, name, "dotted keys are not supported; nest the keys", is_harmless=True
            )
        elif name in _sections():
            yield from _strange_section(value, name)
        elif name not in _keys():
            yield Problem(line, name, _strange(name), is_harmless=True)


def _strange_section(value: Node, name: str) -> Iterator[Problem]:
    is_short = name == MODEL_KEY.partition(".")[0]
    if isinstance(value, MappingNode):
        yield from _strange_keys(value, f"{name}.")
    elif not is_short and value.tag != _NULL_TAG:
        yield Problem(_line(value), name, "must be a mapping of keys to values")


def _strange(name: str) -> str:
    last = name.rpartition(".")[2]
    if last in _SECRET_NAMES:
        return _SIGN_IN
    if last in sources() and sources()[last].key:
        return _unknown(name, [sources()[last].key])
    return _unknown(name, [*_keys(), *_sections()])


def _unknown(name: str, known: list[str]) -> str:
    """Return a message for an unknown name, with up to two suggestions."""
    last = name.rpartition(".")[2]
    near = [each for each in known if each.rpartition(".")[2] == last]
    near += difflib.get_close_matches(name, known, n=2, cutoff=0.75)
    guesses = list(dict.fromkeys(near or (known if len(known) == 1 else [])))[:2]
    return f"is not known; did you mean {' or '.join(guesses)}?" if guesses else "is not known"


@cache
def _keys() -> frozenset[str]:
    return frozenset(source.key for source in sources().values() if source.key)


@cache
def _sections() -> frozenset[str]:
    """Return all proper prefixes of keys, such as `log` of `log.level`."""
    return frozenset(
        ".".join(parts[:depth])
        for parts in (key.split(".") for key in _keys())
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
        inner = _below(node, part)
        if inner is None:
            return node
        node = inner
    return node


def _descend(node: Node, complaint: Complaint) -> Node:
    for step in complaint.where:
        node = _below(node, step) or node
    return node


def _below(node: Node, step: str | int) -> Node | None:
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
