"""Edits a few keys in the text of the user's config.yaml and keeps the rest as it is.

A key is written in its place: where it is, or over its commented line in the template, so that
what the template says stays true. Comments stay. Reads no file.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from acp_server.config.yaml_files import compose_nodes, parse_mapping

_COMMENTED = re.compile(r"\s*# ?(?P<text>.*)")
_DESCRIPTION = re.compile(r"#\s+# ")
_NAMED = re.compile(r"\s*[\w-]+:(\s|$)")


class NotChangeableError(ValueError):
    """The text has a form in which the key cannot be changed without changing other things."""

    def __init__(self) -> None:
        super().__init__("its form cannot be changed automatically; run `acp-server config edit`")


def update_section(text: str, section: str, changes: Mapping[str, object], short_key: str) -> str:
    """Return a YAML text with keys of one top-level section changed; None removes a key.

    A section that holds a plain value is treated as a mapping with that value at `short_key`.

    Raises:
        ValueError: The text is not YAML, or not a mapping.
    """
    document = parse_mapping(text)
    current = document.get(section)
    existing: dict[str, object] = {short_key: current} if current else {}
    if isinstance(current, dict):
        existing = cast("dict[str, object]", current)
    merged = {**existing, **changes}
    merged = {key: value for key, value in merged.items() if value is not None}
    changed = text
    with suppress(ValueError):  # what the lines of the text do not allow is done below
        for key, value in changes.items():
            changed = _edit(changed, (section, key), value)
        if parse_mapping(changed) == {**document, section: merged}:
            return changed
    block = yaml.safe_dump({section: merged}, sort_keys=False, allow_unicode=True)
    line_range = _section_lines(text, section)
    lines = text.splitlines(keepends=True)
    if line_range is None:
        before = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{before}{block}"
    first, end = line_range
    return "".join([*lines[:first], block, *lines[end:]])


def set_value(text: str, path: Sequence[str], value: object) -> str:
    """Return a YAML text with the value at a path of keys; None removes the key.

    Raises:
        NotChangeableError: That cannot be done without changing anything else.
        ValueError: The text is not YAML, or not a mapping.
    """
    expected = _with_value(parse_mapping(text), path, value)
    changed = _edit(text, path, value)
    if _without_empty(parse_mapping(changed)) != _without_empty(expected):
        raise NotChangeableError
    return changed


def _with_value(
    document: Mapping[str, object], path: Sequence[str], value: object
) -> dict[str, object]:
    first, *rest = path
    others = {key: each for key, each in document.items() if key != first}
    if not rest:
        return others if value is None else {**others, first: value}
    return {**others, first: _with_value(_entries_of(document.get(first)) or {}, rest, value)}


def _entries_of(value: object) -> Mapping[str, object] | None:
    """Return the entries of a section; None for another value."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _without_empty(document: Mapping[str, object]) -> dict[str, object]:
    """Return a document without sections in which no key is left."""
    kept: dict[str, object] = {}
    for key, value in document.items():
        inner = _entries_of(value)
        if inner is None:
            kept |= {} if value is None else {key: value}
        elif left := _without_empty(inner):
            kept[key] = left
    return kept


def _edit(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with the lines of one key changed; callers must check what it means now.

    Raises:
        ValueError: The text is not YAML, or a section on the way is no block of lines.
    """
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    node = compose_nodes(text)
    start, indent = 0, 0
    for depth, name in enumerate(path):
        children = _children(node)
        if children:
            indent = children[0][0].start_mark.column
        found = next(((key, each) for key, each in children if key.value == name), None)
        is_last = depth == len(path) - 1
        if found is not None and is_last:
            is_only = depth > 0 and len(children) == 1
            if value is None and is_only:  # a section without a value is not valid
                lines[start - 1] = f"# {lines[start - 1]}"
            return "".join(_replace_entry(lines, *found, value))
        if value is None and found is None:
            return text
        if found is not None:
            key, node = found
            start, indent = key.start_mark.line + 1, key.start_mark.column + 2
            continue
        commented = _find_commented(lines, start, indent, name)
        if commented is not None and not is_last:
            lines[commented] = f"{' ' * indent}{name}:\n"
            node, start, indent = None, commented + 1, indent + 2
            continue
        block = _block(path[depth:], value, indent)
        if commented is not None:
            return "".join([*lines[:commented], block, *lines[commented + 1 :]])
        place = _last_line(lines, children[-1][1]) if children else start
        # A section at the end: in the middle it would end the one of the lines below it.
        place = place if depth else len(lines)
        return "".join([*lines[:place], block, *lines[place:]])
    return text


def _children(node: Node | None) -> Sequence[tuple[Node, Node]]:
    """Return the entries of a section.

    Raises:
        NotChangeableError: It has a value, or its entries have no lines of their own.
    """
    if node is None or (isinstance(node, ScalarNode) and not node.value):
        return ()
    if not isinstance(node, MappingNode) or node.flow_style:
        raise NotChangeableError
    return node.value


def _replace_entry(lines: Sequence[str], key: Node, old: Node, value: object) -> list[str]:
    first, end = key.start_mark.line, _last_line(lines, old)
    if value is None:
        is_described = first > 0 and _DESCRIPTION.match(lines[first - 1])
        stub = f"# {' ' * key.start_mark.column}{key.value}:\n"  # as in the template
        return [*lines[:first], *([stub] if is_described else []), *lines[end:]]
    block = _block((str(key.value),), value, key.start_mark.column)
    mark = old.end_mark
    if isinstance(old, ScalarNode) and mark.line == first == end - 1 and block.count("\n") == 1:
        block = f"{block.rstrip()}{lines[first][mark.column :].rstrip()}\n"  # its comment
    return [*lines[:first], block, *lines[end:]]


def _last_line(lines: Sequence[str], value: Node) -> int:
    """Return the line after a value; the mark of a block is behind the comments that follow."""
    mark = value.end_mark
    end = mark.line + (1 if mark.column else 0)
    end = max(end, value.start_mark.line + 1)
    while end > value.start_mark.line + 1 and lines[end - 1].lstrip()[:1] in {"", "#"}:
        end -= 1
    return end


def _find_commented(lines: Sequence[str], start: int, indent: int, name: str) -> int | None:
    """Return the commented line of a key in a section, written as the template writes it."""
    for number in range(start, len(lines)):
        line = lines[number].rstrip("\n")
        commented = _COMMENTED.fullmatch(line)
        text = line if commented is None else commented["text"]
        if not text.strip() or (commented is not None and not _NAMED.match(text)):
            continue
        depth = len(text) - len(text.lstrip())
        if depth < indent:
            return None
        if commented is not None and depth == indent and text.lstrip().startswith(f"{name}:"):
            return number
    return None


def _block(path: Sequence[str], value: object, indent: int) -> str:
    nested = value
    for name in reversed(path):
        nested = {name: nested}
    text = yaml.safe_dump(nested, sort_keys=False, allow_unicode=True, width=10_000)
    return "".join(f"{' ' * indent}{line}" for line in text.splitlines(keepends=True))


def _section_lines(text: str, section: str) -> tuple[int, int] | None:
    """Return a section's first line and the line after its last, counted from 0."""
    root = compose_nodes(text)
    if not isinstance(root, MappingNode):
        return None
    for key, value in root.value:
        if key.value == section:
            end = value.end_mark
            return key.start_mark.line, end.line + (1 if end.column else 0)
    return None
