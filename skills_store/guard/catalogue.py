"""The rules, read from the tables in `rules/` and compiled when they are first needed.

A rule belongs to a category and a severity and holds its patterns. In a pattern a space stands for
a gap, whose width is the table's, and `{name}` for an entry of `vocabulary.toml`. Rules of one
category and severity are looked for together: only the place differs then, not the judgement.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Literal, NotRequired, TypedDict

from skills_store.guard.engine import Expression, compiled
from skills_store.guard.verdict import Category, Severity

Signal = Literal["source", "sink", "drop-box", "decodes", "executes"]
"""What a rule also tells of a file: that it reads secrets, sends something, decodes, executes."""

GAPS = {"commands": r"[\t\f\r\x20]+", "prose": r"[\s*_>#|\"'`~,:;-]+"}
"""The width of a gap, by table. Commands end with the line; sentences do not."""

_ENTRY = re.compile(r"\{([a-z-]+)\}")
_OPTIONAL_GAP = re.compile(r" \?")


class _Rule(TypedDict):
    category: Category
    severity: Severity
    what: str
    patterns: list[str]
    signal: NotRequired[Signal]
    excused_hosts: NotRequired[bool]
    excused_examples: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A judgement, and what leads to it."""

    category: Category
    severity: Severity
    what: str
    expression: str
    signal: Signal | None
    excuses_hosts: bool
    """Not said of what comes from the hosts that everybody installs from."""
    excuses_examples: bool
    """Not said of what is plainly a placeholder."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are looked for together: group n of the expression is rule n."""

    rules: tuple[Rule, ...]
    expression: Expression


@cache
def groups() -> tuple[Group, ...]:
    """Return everything that is looked for, compiled."""
    grouped = groupby(rules(), key=lambda rule: rule.what)
    return tuple(_group(tuple(chosen)) for _, chosen in grouped)


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule, in the order of the tables."""
    return tuple(rule for table in GAPS for rule in _rules(table))


def _group(chosen: tuple[Rule, ...]) -> Group:
    alternatives = "|".join(f"({rule.expression})" for rule in chosen)
    return Group(chosen, compiled(alternatives))


def _rules(table: str) -> Iterator[Rule]:
    read: dict[str, list[_Rule]] = tomllib.loads(_source(table))
    for each in read["rule"]:
        yield Rule(
            each["category"],
            each["severity"],
            each["what"],
            "|".join(_expression(pattern, GAPS[table]) for pattern in each["patterns"]),
            each.get("signal"),
            each.get("excused_hosts", False),
            each.get("excused_examples", False),
        )


def _expression(pattern: str, gap: str) -> str:
    """Put in the vocabulary and the gaps, and let no group of a pattern's own count."""
    while _ENTRY.search(pattern):
        pattern = _ENTRY.sub(lambda found: _vocabulary()[found[1]], pattern)
    optional = f"{gap[:-1]}*"
    pattern = _OPTIONAL_GAP.sub(lambda _: optional, pattern)
    return f"(?:{pattern.replace(' ', gap)})"


@cache
def _vocabulary() -> dict[str, str]:
    read: dict[str, str] = tomllib.loads(_source("vocabulary"))
    return read


def _source(table: str) -> str:
    return files("skills_store.guard").joinpath("rules", f"{table}.toml").read_text("utf-8")
