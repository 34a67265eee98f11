"""Finds the YAML frontmatter of a Markdown file and reads it as leniently as possible.

The text is untrusted; no text makes these functions raise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from markdown_frontmatter.values import DocumentProblem, FrontmatterFields

MAX_BLOCK_CHARACTERS = 64 * 1024

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?$\n?", re.MULTILINE)
_KEY = r"[A-Za-z_][\w.-]*:"
_VALUE = re.compile(
    rf"(?P<indent>[ ]*)(?P<head>(?:- +)?{_KEY}[ \t]+|- +(?!- |{_KEY}(?:\s|$)))(?P<value>\S.*)"
)
_ITEM_OR_FIELD = re.compile(rf"\s*(?:-(?:\s|$)|{_KEY}(?:\s|$))")
_HAS_MEANING = re.compile(r"\s*-(?:\s|$)|.*:(?:\s|$)")
"""An item, or a line with a key of any kind; no other line can stand alone in a mapping."""
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?\Z")
_COMPLETE_VALUE = re.compile(
    r"""(?:'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\[[^\[\]*&!@%`]*\]|\{[^{}*&!@%`]*\}|-?\w[\w.-]*)"""
    r"(?:[ \t]+#.*)?"
)


@dataclass(frozen=True, slots=True)
class FrontmatterParts:
    """A text split into frontmatter and body. Lines count from 1."""

    yaml: str
    body: str
    body_line: int
    """Line at which the body begins."""


def split(text: str) -> FrontmatterParts | DocumentProblem:
    """Split a text into frontmatter and body, or return why it has no frontmatter."""
    opening = _OPENING.match(text)
    if opening is None:
        return DocumentProblem(1, "it does not begin with frontmatter (a line ---)", is_fatal=True)
    # The limit keeps a large Markdown file that starts with a rule (---) from being parsed as YAML.
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_BLOCK_CHARACTERS)
    if closing is None:
        return DocumentProblem(1, "its frontmatter has no end (a line ---)", is_fatal=True)
    block = text[opening.end() : closing.start()]
    return FrontmatterParts(block, text[closing.end() :], block.count("\n") + 3)


def read_leniently(text: str) -> tuple[FrontmatterFields, str]:
    """Return the fields of a text and its body: all of it, if it has no valid frontmatter.

    A block that is invalid YAML is parsed again with its values quoted, as editors and authors
    write `globs: *.ts` and `description: Use this when: ...`.
    """
    parts = split(text)
    if isinstance(parts, DocumentProblem):
        return FrontmatterFields({}, (parts,)), text
    fields = parse_block(parts.yaml)
    if not fields.is_broken:
        return fields, parts.body
    reparsed = parse_block("\n".join(_quote_values(parts.yaml.splitlines())))
    # Without any field it is prose between two rules (---).
    if reparsed.is_broken or not reparsed.values:
        return fields, text
    (first, *_) = fields.problems
    problem = DocumentProblem(
        first.line, f"its frontmatter is not valid YAML ({first.text}); read as if quoted"
    )
    return replace(reparsed, problems=(problem, *reparsed.problems)), parts.body


def parse_block(block: str) -> FrontmatterFields:
    """Parse a block as it is."""
    # The parser is slow to import, and not needed with a valid scan cache.
    from markdown_frontmatter import plain_yaml

    try:
        return plain_yaml.parse(block, first_line=2)
    except plain_yaml.PlainYamlError as error:
        return FrontmatterFields({}, (DocumentProblem(error.line, str(error), is_fatal=True),))


def _quote_values(lines: list[str]) -> Iterator[str]:
    """Yield the lines, each value quoted unless it is a word, quoted already or a block scalar.

    Yields as many lines as it gets, so line numbers stay right; a stray line becomes an empty one.
    """
    position = 0
    while position < len(lines):
        line = lines[position]
        found = _VALUE.fullmatch(line.rstrip())
        position += 1
        if found is None:
            yield line if _HAS_MEANING.match(line) else ""
            continue
        is_block = bool(_BLOCK_SCALAR.match(found["value"]))
        end = position
        while end < len(lines) and _is_continuation(
            lines[end], len(found["indent"]), is_block=is_block
        ):
            end += 1
        if is_block:
            yield from lines[position - 1 : end]
        else:
            value = " ".join([found["value"], *(line.strip() for line in lines[position:end])])
            if not _COMPLETE_VALUE.fullmatch(value):
                value = "'" + value.replace("'", "''") + "'"
            yield f"{found['indent']}{found['head']}{value}"
            yield from [""] * (end - position)
        position = end


def _is_continuation(line: str, indent: int, *, is_block: bool) -> bool:
    """Return whether a line continues the value of a field with this indentation."""
    is_deeper = len(line) - len(line.lstrip(" ")) > indent
    if is_block:
        return is_deeper or not line.strip()
    return is_deeper and bool(line.strip()) and not _ITEM_OR_FIELD.match(line)
