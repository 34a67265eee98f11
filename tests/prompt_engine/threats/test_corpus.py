"""How well the scan tells attacks from ordinary files; figures: `pytest -rP -k figures`."""

from dataclasses import dataclass

import pytest

from prompt_engine.findings import ScanScope
from prompt_engine.threats import scan
from prompt_engine.threats.catalogue import INCLUDED_SCOPES
from tests.prompt_engine.threats.labelled_corpus import (
    PARTS,
    LabelledAttack,
    all_patterns,
    found_families,
    read_attacks,
    read_harmless,
)
from tests.support.case_table import each_case

LEAST_RECALL = {"blind": 0.1, "public": 0.85}
"""Patterns know wordings, not meanings; of those that they were not written for they find few."""
USUAL_RECALL = 0.95
LEAST_PRECISION = 0.98
ALL_ATTACKS = [attack for part in PARTS for attack in read_attacks(part)]


@dataclass(frozen=True, slots=True)
class Figures:
    recall: float
    precision: float


def figures(part: str) -> Figures:
    caught = sum(bool(scan(attack.text, attack.scope)) for attack in read_attacks(part))
    scope: ScanScope = "mark" if part == "public" else "context"
    wrong = sum(bool(scan(each.text, scope)) for each in read_harmless(part))
    return Figures(caught / len(read_attacks(part)), caught / (caught + wrong))


def test_the_corpus_is_large_enough() -> None:
    assert sum(len(read_attacks(part)) for part in PARTS) >= 250
    assert sum(len(read_harmless(part)) for part in PARTS) >= 200


@pytest.mark.parametrize("part", PARTS)
def test_precision_and_recall_of_each_part_are_sufficient(part: str) -> None:
    found = figures(part)
    counts = f"{len(read_attacks(part))} attacks, {len(read_harmless(part))} ordinary texts"
    line = f"{part}: {counts}, recall {found.recall:.3f}, precision {found.precision:.3f}"
    print(line)  # noqa: T201  # the figures are what this test is read for
    assert found.recall >= LEAST_RECALL.get(part, USUAL_RECALL), line
    assert found.precision >= LEAST_PRECISION, line


@each_case("attack", read_attacks("tuning"), ids=lambda attack: attack.name)
def test_an_attack_is_found_under_its_family(attack: LabelledAttack) -> None:
    assert attack.family in found_families(attack.text, attack.scope)


@pytest.mark.parametrize("scope", INCLUDED_SCOPES)
def test_a_scope_reports_only_what_it_contains(scope: ScanScope) -> None:
    expected = INCLUDED_SCOPES[scope]
    reported = {finding.scope for attack in ALL_ATTACKS for finding in scan(attack.text, scope)}
    assert reported == set(expected)


def test_every_pattern_has_a_unique_id() -> None:
    ids = [(pattern.id, pattern.scope) for pattern in all_patterns()]
    assert len({id_ for id_, _ in ids}) == len(ids)


def test_corpus_families_and_known_families_are_the_same() -> None:
    known = {pattern.family for pattern in all_patterns()} | {"invisible"}
    assert {attack.family for attack in ALL_ATTACKS} == known
