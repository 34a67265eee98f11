"""Reads the labelled corpus: attacks by family and scope, ordinary texts by kind of file.

Each part lies in a folder of its own. `tuning` was looked at while the patterns were written,
`holdout` was written before them and looked at after, `later` was written against the finished
patterns, on purpose unlike them or (the ordinary texts) close to them. `unseen` in the holdout was
written by somebody who had not read the patterns: 21 of its 60 attacks were found then, and the
patterns were widened after. `blind` came behind that, unlike all before, and changed no pattern:
what is found of it is what a stranger's wording may expect.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from prompt_engine.findings import Scope
from prompt_engine.threats import scan
from prompt_engine.threats.catalogue import patterns
from prompt_engine.threats.invisible import PATTERN

CORPUS = Path(__file__).parent / "corpus"
PARTS = ("tuning", "holdout", "later", "blind")


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    text: str
    family: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Ordinary:
    name: str
    text: str


@cache
def attacks(part: str) -> tuple[Attack, ...]:
    return tuple(
        Attack(f"{part}-{path.stem}-{family}-{name}", text, family, cast("Scope", scope))
        for path in sorted((CORPUS / "attacks" / part).glob("*.toml"))
        for family, scopes in tomllib.loads(path.read_text("utf-8")).items()
        for scope, texts in cast("dict[str, dict[str, str]]", scopes).items()
        for name, text in texts.items()
    )


@cache
def ordinary(part: str) -> tuple[Ordinary, ...]:
    return tuple(
        Ordinary(f"{part}-{path.stem}-{kind}-{name}", text)
        for path in sorted((CORPUS / "ordinary" / part).glob("*.toml"))
        for kind, texts in tomllib.loads(path.read_text("utf-8")).items()
        for name, text in cast("dict[str, str]", texts).items()
    )


def families(text: str, scope: Scope) -> set[str]:
    """The families of all that is found."""
    return {family_of()[finding.pattern] for finding in scan(text, scope)}


@cache
def family_of() -> dict[str, str]:
    return {pattern.id: pattern.family for pattern in patterns()} | {PATTERN: "invisible"}
