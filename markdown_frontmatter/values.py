"""Values of frontmatter, and the problems found in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

YamlValue: TypeAlias = "bool | int | float | str | list[YamlValue] | dict[str, YamlValue] | None"
"""A value as in JSON. Dates and decimals are text: `1.10` is a version, not a number."""
Frontmatter = Mapping[str, YamlValue]


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """A problem in the text of a file. Lines count from 1."""

    line: int
    text: str
    """Half a sentence, without the file name."""
    is_fatal: bool = False
    """The text cannot be used at all."""


@dataclass(frozen=True, slots=True)
class FrontmatterFields:
    """The parsed frontmatter. Line numbers are those of the file."""

    values: Frontmatter
    problems: tuple[DocumentProblem, ...] = ()
    """Fatal if the block could not be read."""
    dialect_problems: tuple[DocumentProblem, ...] = ()
    """Constructs that the strict YAML dialect of the standard does not allow."""

    @property
    def is_broken(self) -> bool:
        """Whether the block could not be read."""
        return any(each.is_fatal for each in self.problems)


def scalar_text(value: YamlValue) -> str:
    """Return a scalar as stripped text; empty for anything else."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value).strip()
        case _:
            return ""
