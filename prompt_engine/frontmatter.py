"""Splits and parses the YAML frontmatter of a Markdown file. The content is untrusted.

No input raises. Aliases, tags, depth and size are limited, so that a small block cannot expand
into a large value. The meaning of the values is up to the caller.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

MAX_CHARACTERS = 32_768

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^---[ \t]*$\n?", re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w.-]*):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Text split into frontmatter and body."""

    body: str
    """Text after the block; the complete text if there is no block."""
    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    is_present: bool = False
    problem: str = ""
    """Why the block is not valid YAML; `values` then come from its `key: value` lines."""


def split_frontmatter(text: str) -> Frontmatter:
    """Split the frontmatter from a text with line-feed endings, and parse it.

    A block that is not a mapping is not frontmatter: a text may start with a line of dashes.
    Some editors write `globs: *.ts`, which is invalid YAML; such a block is parsed line by line.
    """
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end(), MAX_CHARACTERS) if opening else None
    if opening is None or closing is None:
        return Frontmatter(text)
    block, body = text[opening.end() : closing.start()], text[closing.end() :]
    # Most sessions have no file with such a block, and the YAML parser takes time and memory.
    from prompt_engine.yaml_block import parse_mapping

    problem = ""
    try:
        values = parse_mapping(block)
    except ValueError as error:
        values = _parse_lines(block)
        message = " ".join(str(error).split())[:80]
        problem = f"its frontmatter is not plain YAML ({message})"
    if values is None or (problem and not values):
        return Frontmatter(text)
    return Frontmatter(body, values, is_present=True, problem=problem)


def _parse_lines(block: str) -> dict[str, JsonValue]:
    """Parse `key: value` lines and the `- item` lists below them."""
    values: dict[str, JsonValue] = {}
    items: list[JsonValue] = []
    for line in block.splitlines():
        if (pair := _KEY.match(line)) is not None:
            key, value = pair[1], _parse_scalar(pair[2] or "")
            items = []
            values[key] = items if value == "" else value
        elif (item := _ITEM.match(line)) is not None:
            items.append(_parse_scalar(item[1]))
    return values


def _parse_scalar(text: str) -> str | bool:
    plain = _COMMENT.sub("", text).strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        return plain[1:-1]
    return plain == "true" if plain in ("true", "false") else plain
