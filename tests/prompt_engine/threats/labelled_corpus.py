"""Reader of the labelled corpus: attacks by family and scope, harmless texts by file kind.

Each part has its own directory. `tuning` was used while the patterns were written. `holdout` was
written before them and evaluated after. `later` was written for the finished patterns and
deliberately differs from them or (the harmless texts) comes close to them. The texts `unseen` in
the holdout come from an author without access to the patterns: 21 of their 60 attacks were found at
that time, and the patterns were extended afterwards. `blind` was added after that, unlike all
before, and changed no pattern: its detection rate is the one to expect for new wording.
`public` has reduced forms of public collections, found and missed ones, and what was wrongly found
in public repositories.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from prompt_engine.findings import ScanScope
from prompt_engine.threats import scan
from prompt_engine.threats.catalogue import ThreatPattern, pattern_groups
from prompt_engine.threats.invisible import PATTERN_ID

CORPUS = Path(__file__).parent / "corpus"
PARTS = ("tuning", "holdout", "later", "blind", "public")


@dataclass(frozen=True, slots=True)
class LabelledAttack:
    name: str
    text: str
    family: str
    scope: ScanScope


@dataclass(frozen=True, slots=True)
class HarmlessText:
    name: str
    text: str


@cache
def read_attacks(part: str) -> tuple[LabelledAttack, ...]:
    return tuple(
        LabelledAttack(
            f"{part}-{path.stem}-{family}-{name}", text, family, cast("ScanScope", scope)
        )
        for path in sorted((CORPUS / "attacks" / part).glob("*.toml"))
        for family, scopes in tomllib.loads(path.read_text("utf-8")).items()
        for scope, texts in cast("dict[str, dict[str, str]]", scopes).items()
        for name, text in texts.items()
    )


@cache
def read_harmless(part: str) -> tuple[HarmlessText, ...]:
    return tuple(
        HarmlessText(f"{part}-{path.stem}-{kind}-{name}", text)
        for path in sorted((CORPUS / "ordinary" / part).glob("*.toml"))
        for kind, texts in tomllib.loads(path.read_text("utf-8")).items()
        for name, text in cast("dict[str, str]", texts).items()
    )


def found_families(text: str, scope: ScanScope) -> set[str]:
    """Families of all findings in a text."""
    return {family_of()[finding.pattern] for finding in scan(text, scope)}


def all_patterns() -> list[ThreatPattern]:
    """All patterns for texts."""
    groups = pattern_groups("strict", with_scripts=True)
    return [pattern for group in groups for pattern in group.patterns]


@cache
def family_of() -> dict[str, str]:
    return {pattern.id: pattern.family for pattern in all_patterns()} | {PATTERN_ID: "invisible"}
