"""Parse a SKILL.md leniently, and validate a new one strictly.

Skills of any author are loaded if at all possible. Skills that this package writes must be valid
for the Agent Skills standard's own validator, which reads strict YAML. No file access here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skills_store import frontmatter
from skills_store.frontmatter import Block, text_of
from skills_store.skill import (
    MOST_DESCRIPTION_CHARACTERS,
    MOST_DOCUMENT_CHARACTERS,
    MOST_NAME_CHARACTERS,
    Frontmatter,
    Problem,
)

STANDARD_FIELDS = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
)
MOST_COMPATIBILITY_CHARACTERS = 500

_STANDARD_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_UNCLEAR = re.compile(r"---|: +(?:[|>][-+0-9]*)?#|\r(?!\n)|[\t\x0b\x0c\x85\u2028\u2029]")
_READ_NAME = re.compile(r"[a-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """A SKILL.md: frontmatter (with unknown fields), body, and the problems found in it."""

    frontmatter: Frontmatter
    body: str
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """The name in the frontmatter; empty if it has none."""
        return text_of(self.frontmatter.get("name"))

    @property
    def description(self) -> str:
        """The description; empty only in a document that is not usable."""
        return text_of(self.frontmatter.get("description"))

    @property
    def is_usable(self) -> bool:
        """Whether it can be loaded as a skill."""
        return not any(problem.is_fatal for problem in self.problems)


def is_standard_name(name: str) -> bool:
    """Return whether a name follows the standard: 1-64 lowercase letters, digits and hyphens."""
    return len(name) <= MOST_NAME_CHARACTERS and bool(_STANDARD_NAME.fullmatch(name))


def parse(text: str, folder_name: str | None = None) -> SkillDocument:
    """Parse the text of a SKILL.md. With `folder_name`, also compare the two names.

    Raises nothing: problems are part of the result.
    """
    block = frontmatter.split(text)
    if isinstance(block, Problem):
        return SkillDocument({}, text, (block,))
    fields = frontmatter.read_leniently(block)
    document = SkillDocument(fields.values, block.body, fields.problems)
    if not document.is_usable:
        return document
    repeated = (each for each in fields.oddities if "second time" in each.text)
    problems = (*fields.problems, *repeated, *_doubts(document, text, folder_name))
    return SkillDocument(fields.values, block.body, problems)


def check_created(name: str, text: str) -> tuple[Problem, ...]:
    """Return the reasons why a text must not be written as the SKILL.md of `name`; empty if it may.

    A text without problems also passes the standard's validator (`agentskills validate`).
    """
    return tuple(_faults(name, text))


def _doubts(document: SkillDocument, text: str, folder_name: str | None) -> Iterator[Problem]:
    """Yield the problems of a document whose frontmatter could be read."""
    description = document.description
    if not description:
        yield Problem(1, "it has no description", is_fatal=True)
    if len(description) > MOST_DESCRIPTION_CHARACTERS:
        yield Problem(
            _line_of("description", text),
            f"its description has {len(description)} characters, "
            f"more than {MOST_DESCRIPTION_CHARACTERS}",
        )
    if len(text) > MOST_DOCUMENT_CHARACTERS:
        yield Problem(1, f"it has {len(text)} characters, more than {MOST_DOCUMENT_CHARACTERS}")
    if folder_name is not None:
        yield from _name_doubts(document.name, text, folder_name)


def _name_doubts(name: str, text: str, folder_name: str) -> Iterator[Problem]:
    line = _line_of("name", text)
    if not name:
        yield Problem(line, f"it has no name; it is called {folder_name!r} like its folder")
    elif name != folder_name:
        yield Problem(line, f"its name is {name!r}; it is called {folder_name!r} like its folder")
    if len(folder_name) > MOST_NAME_CHARACTERS:
        yield Problem(line, f"its name is longer than {MOST_NAME_CHARACTERS} characters")
    if not _READ_NAME.fullmatch(folder_name):
        yield Problem(line, "its name has other characters than a-z, 0-9, hyphen, _ and .")


def _faults(name: str, text: str) -> Iterator[Problem]:
    if not is_standard_name(name):
        yield Problem(
            _line_of("name", text),
            f"{name!r} is no valid name: 1-{MOST_NAME_CHARACTERS} lowercase letters, digits and "
            "single hyphens, none at an end",
        )
    if len(text) > MOST_DOCUMENT_CHARACTERS:
        yield Problem(1, f"it has {len(text)} characters, more than {MOST_DOCUMENT_CHARACTERS}")
    if not _is_plain_text(text):
        yield Problem(1, "it holds characters that are no text")
    elif isinstance(block := frontmatter.split(text), Problem):
        yield block
    else:
        yield from _block_faults(name, text, block)


def _block_faults(name: str, text: str, block: Block) -> Iterator[Problem]:
    # YAML parsers disagree on these (strictyaml, PyYAML, YAML 1.2), so another agent could read a
    # different description than the one that was checked here.
    if found := _UNCLEAR.search(block.yaml):
        line = block.yaml.count("\n", 0, found.start()) + 2
        yield Problem(line, f"its frontmatter holds {found[0]!r}, which others read differently")
        return
    fields = frontmatter.read(block)
    yield from fields.problems
    if fields.problems:
        return
    yield from (Problem(odd.line, f"it has {odd.text}") for odd in fields.oddities)
    for field in sorted(fields.values.keys() - STANDARD_FIELDS):
        yield Problem(
            _line_of(field, text), f"the field {field!r} is not standard: put it under metadata"
        )
    yield from _value_faults(name, text, fields.values)
    if not block.body.strip():
        yield Problem(block.body_line, "it has no text below its frontmatter")


def _value_faults(name: str, text: str, values: Frontmatter) -> Iterator[Problem]:
    given = text_of(values.get("name"))
    if given != name:
        yield Problem(_line_of("name", text), f"its name must be {name!r}, not {given!r}")
    limits = {
        "description": MOST_DESCRIPTION_CHARACTERS,
        "compatibility": MOST_COMPATIBILITY_CHARACTERS,
    }
    for field, most in limits.items():
        value = values.get(field, "" if field == "description" else "-")
        line = _line_of(field, text)
        if not text_of(value):
            yield Problem(line, f"its {field} is missing or no text")
        elif len(str(value)) > most:
            yield Problem(line, f"its {field} has {len(str(value))} characters, more than {most}")


def _is_plain_text(text: str) -> bool:
    """Return whether a text can be written as UTF-8 and has neither a NUL nor a byte order mark."""
    return not any(each in "\0\ufeff" or "\ud800" <= each <= "\udfff" for each in text)


def _line_of(field: str, text: str) -> int:
    """Return the line of a top-level frontmatter field; 1 if it is missing."""
    end = text.find(
        "\n---", len("---")
    )  # search the frontmatter only: the body may have such a line too
    pattern = rf"^['\"]?{re.escape(field)}['\"]?[ \t]*:"
    found = re.search(pattern, text[: max(end, 0)], re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1
