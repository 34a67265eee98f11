"""Guard rules, read from the tables in `rules/` and compiled on first use.

A rule has a category, a severity and patterns. In a pattern a space represents a gap, whose width
depends on the table, and `{name}` an entry of `vocabulary.toml`. Adjacent rules with the same
description are matched together.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Literal, NotRequired, TypedDict

from skills_store.guard.engine import GuardExpression, compile_expression
from skills_store.guard.verdict import Category, Severity

Signal = Literal["source", "sink", "drop-box", "decodes", "executes"]
"""Property of a file that a rule implies, used by combined findings (e.g. reads secrets and sends).
"""

GAPS = {"commands": r"[\t\f\r\x20]+", "prose": r"[\s*_>#|\"'`~,:;-]+"}
"""Gap expression by table. Commands end with the line; sentences may continue on the next."""

_ENTRY = re.compile(r"\{([a-z-]+)\}")
_OPTIONAL_GAP = re.compile(r" \?")


class _RuleTable(TypedDict):
    category: Category
    severity: Severity
    what: str
    patterns: list[str]
    signal: NotRequired[Signal]
    excused_hosts: NotRequired[bool]
    excused_examples: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class GuardRule:
    """Guard rule: the finding it produces and the expression that triggers it."""

    category: Category
    severity: Severity
    description: str
    expression: str
    signal: Signal | None
    exempts_known_hosts: bool
    """Whether commands that only use well-known installation hosts are exempt."""
    exempts_placeholders: bool
    """Whether obvious placeholders are exempt."""


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules matched in one pass: capture group n of the expression is rule n."""

    rules: tuple[GuardRule, ...]
    expression: GuardExpression


@cache
def rule_groups() -> tuple[RuleGroup, ...]:
    """Return all rule groups, compiled."""
    grouped = groupby(all_rules(), key=lambda rule: rule.description)
    return tuple(_group(tuple(chosen)) for _, chosen in grouped)


@cache
def all_rules() -> tuple[GuardRule, ...]:
    """Return every rule, in table order."""
    return tuple(rule for table in GAPS for rule in _rules(table))


def _group(chosen: tuple[GuardRule, ...]) -> RuleGroup:
    alternatives = "|".join(f"({rule.expression})" for rule in chosen)
    return RuleGroup(chosen, compile_expression(alternatives))


def _rules(table: str) -> Iterator[GuardRule]:
    document: dict[str, list[_RuleTable]] = tomllib.loads(_read_table(table))
    for each in document["rule"]:
        yield GuardRule(
            each["category"],
            each["severity"],
            each["what"],
            "|".join(_expression(pattern, GAPS[table]) for pattern in each["patterns"]),
            each.get("signal"),
            each.get("excused_hosts", False),
            each.get("excused_examples", False),
        )


def _expression(pattern: str, gap: str) -> str:
    """Expand vocabulary and gaps, and wrap the pattern in a non-capturing group."""
    while _ENTRY.search(pattern):
        pattern = _ENTRY.sub(lambda found: _vocabulary()[found[1]], pattern)
    optional = f"{gap[:-1]}*"
    pattern = _OPTIONAL_GAP.sub(lambda _: optional, pattern)
    return f"(?:{pattern.replace(' ', gap)})"


@cache
def _vocabulary() -> dict[str, str]:
    vocabulary: dict[str, str] = tomllib.loads(_read_table("vocabulary"))
    return vocabulary


def _read_table(table: str) -> str:
    return files("skills_store.guard").joinpath("rules", f"{table}.toml").read_text("utf-8")
