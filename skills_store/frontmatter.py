"""Find the YAML frontmatter of a Markdown file and read it as leniently as possible.

Many authors write `description: Use this when: ...`, which is invalid YAML. Such a block is read a
second time with its values quoted. No text makes these functions raise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skills_store import simple_yaml
from skills_store.json_file import Json
from skills_store.skill import DocumentProblem, Frontmatter

MAX_BLOCK_CHARACTERS = 64 * 1024

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?$\n?", re.MULTILINE)
_FIELD = re.compile(r"(?P<indent>[ ]*)(?P<head>(?:- +)?[A-Za-z_][\w.-]*:[ \t]+)(?P<value>\S.*)")
_ITEM_OR_FIELD = re.compile(r"\s*(?:-(?:\s|$)|[A-Za-z_][\w.-]*:(?:\s|$))")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?\Z")
_COMPLETE_VALUE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|\{[^{}]*\}""")


@dataclass(frozen=True, slots=True)
class FrontmatterParts:
    """A text split into frontmatter and body. Lines count from 1."""

    yaml: str
    body: str
    body_line: int
    """Line at which the body begins."""


@dataclass(frozen=True, slots=True)
class FrontmatterFields:
    """The parsed frontmatter. Line numbers are those of the file."""

    values: Frontmatter
    problems: tuple[DocumentProblem, ...] = ()
    """Fatal if the block could not be read."""
    dialect_problems: tuple[DocumentProblem, ...] = ()
    """Constructs that the strict YAML dialect of the standard does not allow."""


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


def read(block: FrontmatterParts) -> FrontmatterFields:
    """Parse a block as it is."""
    return _parse(block.yaml)


def read_leniently(block: FrontmatterParts) -> FrontmatterFields:
    """Parse a block; if it is invalid YAML, parse it again with its values quoted."""
    fields = _parse(block.yaml)
    if not _is_broken(fields):
        return fields
    reparsed = _parse("\n".join(_quote_values(block.yaml.splitlines())))
    if _is_broken(reparsed):
        return fields
    (first, *_) = fields.problems
    quoting_problem = DocumentProblem(
        first.line, f"its frontmatter is no YAML ({first.text}); read as if quoted"
    )
    return FrontmatterFields(
        reparsed.values, (quoting_problem, *reparsed.problems), reparsed.dialect_problems
    )


def _is_broken(fields: FrontmatterFields) -> bool:
    return any(each.is_fatal for each in fields.problems)


def _parse(yaml: str) -> FrontmatterFields:
    values = simple_yaml.parse(yaml)
    if values is not None:
        return FrontmatterFields(values)
    from skills_store import plain_yaml

    try:
        mapping = plain_yaml.parse(yaml)
    except plain_yaml.PlainYamlError as error:
        return FrontmatterFields({}, (DocumentProblem(error.line + 1, str(error), is_fatal=True),))
    return FrontmatterFields(
        mapping.values,
        (),
        tuple(
            DocumentProblem(problem.line + 1, problem.text) for problem in mapping.dialect_problems
        ),
    )


def _quote_values(lines: list[str]) -> Iterator[str]:
    """Yield the lines, each value quoted unless it is quoted already or a block scalar.

    Yields as many lines as it gets, so line numbers stay right.
    """
    position = 0
    while position < len(lines):
        found = _FIELD.fullmatch(lines[position].rstrip())
        position += 1
        if found is None:
            yield lines[position - 1]
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


def scalar_text(value: Json) -> str:
    """Return a scalar as stripped text; empty for anything else."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value).strip()
        case _:
            return ""
