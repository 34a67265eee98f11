"""Parse a SKILL.md leniently, and validate a new one strictly.

Skills of any author are loaded if at all possible. Skills that this package writes must be valid
for the Agent Skills standard's own validator, which reads strict YAML. No file access here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skills_store import frontmatter
from skills_store.frontmatter import FrontmatterParts, scalar_text
from skills_store.skill import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_DOCUMENT_CHARACTERS,
    MAX_NAME_CHARACTERS,
    DocumentProblem,
    Frontmatter,
)

STANDARD_FIELDS = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
)
MAX_COMPATIBILITY_CHARACTERS = 500

_STANDARD_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_AMBIGUOUS_YAML = re.compile(r"---|: +(?:[|>][-+0-9]*)?#|\r(?!\n)|[\t\x0b\x0c\x85\u2028\u2029]")
_READABLE_NAME = re.compile(r"[a-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """A SKILL.md: frontmatter (with unknown fields), body, and the problems found in it."""

    frontmatter: Frontmatter
    body: str
    problems: tuple[DocumentProblem, ...] = ()

    @property
    def name(self) -> str:
        """The name in the frontmatter; empty if it has none."""
        return scalar_text(self.frontmatter.get("name"))

    @property
    def description(self) -> str:
        """The description; empty only in a document that is not usable."""
        return scalar_text(self.frontmatter.get("description"))

    @property
    def is_usable(self) -> bool:
        """Whether it can be loaded as a skill."""
        return not any(problem.is_fatal for problem in self.problems)


def is_standard_name(name: str) -> bool:
    """Return whether a name follows the standard: 1-64 lowercase letters, digits and hyphens."""
    return len(name) <= MAX_NAME_CHARACTERS and bool(_STANDARD_NAME.fullmatch(name))


def parse_document(text: str, folder_name: str | None = None) -> SkillDocument:
    """Parse the text of a SKILL.md. With `folder_name`, also compare the two names.

    Raises nothing: problems are part of the result.
    """
    block = frontmatter.split(text)
    if isinstance(block, DocumentProblem):
        return SkillDocument({}, text, (block,))
    fields = frontmatter.read_leniently(block)
    document = SkillDocument(fields.values, block.body, fields.problems)
    if not document.is_usable:
        return document
    repeated = (each for each in fields.dialect_problems if "second time" in each.text)
    problems = (*fields.problems, *repeated, *_reading_problems(document, text, folder_name))
    return SkillDocument(fields.values, block.body, problems)


def validate_new_document(name: str, text: str) -> tuple[DocumentProblem, ...]:
    """Return the reasons why a text must not be written as the SKILL.md of `name`; empty if it may.

    A text without problems also passes the standard's validator (`agentskills validate`).
    """
    problems: list[DocumentProblem] = []
    if not is_standard_name(name):
        reason = (
            f"{name!r} is no valid name: 1-{MAX_NAME_CHARACTERS} lowercase letters, digits and "
            "single hyphens, none at an end"
        )
        problems.append(DocumentProblem(_line_of("name", text), reason))
    if len(text) > MAX_DOCUMENT_CHARACTERS:
        reason = f"it has {len(text)} characters, more than {MAX_DOCUMENT_CHARACTERS}"
        problems.append(DocumentProblem(1, reason))
    # It must be writable as UTF-8, without a NUL or a byte order mark.
    if any(each in "\0\ufeff" or "\ud800" <= each <= "\udfff" for each in text):
        problems.append(DocumentProblem(1, "it holds characters that are no text"))
    elif isinstance(block := frontmatter.split(text), DocumentProblem):
        problems.append(block)
    else:
        problems += _frontmatter_problems(name, text, block)
    return tuple(problems)


def _reading_problems(
    document: SkillDocument, text: str, folder_name: str | None
) -> Iterator[DocumentProblem]:
    """Yield the problems of a document whose frontmatter could be read."""
    description = document.description
    if not description:
        yield DocumentProblem(1, "it has no description", is_fatal=True)
    if len(description) > MAX_DESCRIPTION_CHARACTERS:
        yield DocumentProblem(
            _line_of("description", text),
            f"its description has {len(description)} characters, "
            f"more than {MAX_DESCRIPTION_CHARACTERS}",
        )
    if len(text) > MAX_DOCUMENT_CHARACTERS:
        yield DocumentProblem(
            1, f"it has {len(text)} characters, more than {MAX_DOCUMENT_CHARACTERS}"
        )
    if folder_name is None:
        return
    name = document.name
    is_readable = len(folder_name) <= MAX_NAME_CHARACTERS and _READABLE_NAME.fullmatch(folder_name)
    if name == folder_name and is_readable:  # as nearly always: there is no line to look for
        return
    line = _line_of("name", text)
    if not name:
        yield DocumentProblem(line, f"it has no name; it is called {folder_name!r} like its folder")
    elif name != folder_name:
        yield DocumentProblem(
            line, f"its name is {name!r}; it is called {folder_name!r} like its folder"
        )
    if len(folder_name) > MAX_NAME_CHARACTERS:
        yield DocumentProblem(line, f"its name is longer than {MAX_NAME_CHARACTERS} characters")
    if not _READABLE_NAME.fullmatch(folder_name):
        yield DocumentProblem(line, "its name has other characters than a-z, 0-9, hyphen, _ and .")


def _frontmatter_problems(
    name: str, text: str, block: FrontmatterParts
) -> Iterator[DocumentProblem]:
    # YAML parsers disagree on these (strictyaml, PyYAML, YAML 1.2), so another agent could read a
    # different description than the one that was checked here.
    if found := _AMBIGUOUS_YAML.search(block.yaml):
        line = block.yaml.count("\n", 0, found.start()) + 2
        yield DocumentProblem(
            line, f"its frontmatter holds {found[0]!r}, which others read differently"
        )
        return
    fields = frontmatter.read(block)
    yield from fields.problems
    if fields.problems:
        return
    yield from (
        DocumentProblem(dialect_problem.line, f"it has {dialect_problem.text}")
        for dialect_problem in fields.dialect_problems
    )
    for field in sorted(fields.values.keys() - STANDARD_FIELDS):
        yield DocumentProblem(
            _line_of(field, text), f"the field {field!r} is not standard: put it under metadata"
        )
    found_name = scalar_text(fields.values.get("name"))
    if found_name != name:
        yield DocumentProblem(
            _line_of("name", text), f"its name must be {name!r}, not {found_name!r}"
        )
    limits = {
        "description": MAX_DESCRIPTION_CHARACTERS,
        "compatibility": MAX_COMPATIBILITY_CHARACTERS,
    }
    for field, limit in limits.items():
        value = fields.values.get(field, "" if field == "description" else "-")
        line = _line_of(field, text)
        if not scalar_text(value):
            yield DocumentProblem(line, f"its {field} is missing or no text")
        elif len(str(value)) > limit:
            yield DocumentProblem(
                line, f"its {field} has {len(str(value))} characters, more than {limit}"
            )
    if not block.body.strip():
        yield DocumentProblem(block.body_line, "it has no text below its frontmatter")


def _line_of(field: str, text: str) -> int:
    """Return the line of a top-level frontmatter field; 1 if it is missing."""
    end = text.find(
        "\n---", len("---")
    )  # search the frontmatter only: the body may have such a line too
    pattern = rf"^['\"]?{re.escape(field)}['\"]?[ \t]*:"
    found = re.search(pattern, text[: max(end, 0)], re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1
