"""The YAML block at the beginning of a Markdown file: split off, read, never trusted.

Nothing here raises on any text. Aliases, tags, depth and size are refused, so that a small block
cannot grow large. Does not know what the values mean.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import cast

import yaml
from pydantic import JsonValue

MOST_CHARACTERS = 32_768
MOST_DEPTH = 16

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^---[ \t]*$\n?", re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w.-]*):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")

_Loader: type[yaml.SafeLoader | yaml.CSafeLoader] = (
    yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A text in two parts."""

    body: str
    """What stands behind the block; the whole text if there is none."""
    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    is_present: bool = False
    problem: str = ""
    """Why the block could not be read as YAML; its values are then those of its plain lines."""


def split(text: str) -> Frontmatter:
    """Return a text of lines ended by line feeds without its frontmatter, and what that says.

    A block that is no mapping is no frontmatter: a text may begin with a line of dashes.
    Some editors write `globs: *.ts`, which is no YAML; such a block is read line by line.
    """
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end(), MOST_CHARACTERS) if opening else None
    if opening is None or closing is None:
        return Frontmatter(text)
    block, body = text[opening.end() : closing.start()], text[closing.end() :]
    problem = ""
    try:
        values = _mapping(block)
    except (yaml.YAMLError, ValueError) as error:
        values = _plain_lines(block)
        problem = f"its frontmatter is no plain YAML ({_short(error)})"
    if values is None or (problem and not values):
        return Frontmatter(text)
    return Frontmatter(body, values, is_present=True, problem=problem)


def _mapping(block: str) -> dict[str, JsonValue] | None:
    """Return what a block says; None if it is something else than a mapping.

    Raises:
        yaml.YAMLError: it is no YAML.
        ValueError: it is YAML that is refused, or holds a number or date that is none.
    """
    _check(block)
    loader = _Loader(block)
    try:
        value = _json(cast("object", loader.get_single_data()))
    finally:
        loader.dispose()
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _check(block: str) -> None:
    """Refuse what could grow, or make the loader build something else than plain data."""
    depth = 0
    for event in yaml.parse(block, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("aliases are refused")
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise ValueError("tags are refused")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise ValueError("it is nested too deeply")


def _json(value: object) -> JsonValue:
    match value:
        case None | str() | bool() | int() | float():
            return value
        case date():
            return value.isoformat()
        case dict():
            pairs = cast("dict[object, object]", value)
            return {str(key): _json(each) for key, each in pairs.items()}
        case list():
            return [_json(each) for each in cast("list[object]", value)]
        case _:
            return str(value)


def _plain_lines(block: str) -> dict[str, JsonValue]:
    """Return the values of lines like `key: value`, and of the lists below such lines."""
    values: dict[str, JsonValue] = {}
    items: list[JsonValue] = []
    for line in block.splitlines():
        if (pair := _KEY.match(line)) is not None:
            key, value = pair[1], _scalar(pair[2] or "")
            items = []
            values[key] = items if value == "" else value
        elif (item := _ITEM.match(line)) is not None:
            items.append(_scalar(item[1]))
    return values


def _scalar(text: str) -> str | bool:
    plain = _COMMENT.sub("", text).strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        return plain[1:-1]
    return plain == "true" if plain in ("true", "false") else plain


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:80]
