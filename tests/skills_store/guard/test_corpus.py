"""How well the guard tells hostile skills from ordinary ones; figures: `pytest -rP -k figures`."""

from dataclasses import dataclass

from tests.skills_store.guard.labelled_skills import (
    PARTS,
    LabelledSkill,
    read_harmless,
    read_hostile,
    scan_contents,
)
from tests.support.case_table import each_case

KNOWN = [*read_hostile("tuning"), *read_hostile("mended")]
FINE = [*read_harmless("tuning"), *read_harmless("mended")]
LEAST_RECALL_UNSEEN = 0.6
LEAST_PRECISION_UNSEEN = 0.9


@dataclass(frozen=True, slots=True)
class Figures:
    recall: float
    precision: float
    dangerous: float


def figures(part: str) -> Figures:
    levels = [scan_contents(each.contents).level for each in read_hostile(part)]
    caught = sum(level != "safe" for level in levels)
    wrong = sum(scan_contents(each.contents).level != "safe" for each in read_harmless(part))
    return Figures(
        caught / len(levels), caught / (caught + wrong), levels.count("dangerous") / len(levels)
    )


def test_the_corpus_is_large_enough() -> None:
    assert sum(len(read_hostile(part)) for part in PARTS) >= 100
    assert sum(len(read_harmless(part)) for part in PARTS) >= 80


@each_case("skill", KNOWN, ids=lambda skill: skill.name)
def test_a_hostile_skill_is_found(skill: LabelledSkill) -> None:
    assert scan_contents(skill.contents).level != "safe"


@each_case("skill", read_hostile("tuning"), ids=lambda skill: skill.name)
def test_a_hostile_skill_is_found_by_its_category(skill: LabelledSkill) -> None:
    found = scan_contents(skill.contents).findings
    assert skill.category in {each.category for each in found if each.severity != "note"}


@each_case("skill", FINE, ids=lambda skill: skill.name)
def test_an_ordinary_skill_is_safe(skill: LabelledSkill) -> None:
    verdict = scan_contents(skill.contents)
    assert verdict.level == "safe", [str(each) for each in verdict.findings]


def test_precision_and_recall_on_the_holdout_set_are_sufficient() -> None:
    found = figures("holdout")
    print(f"holdout: {found}")  # noqa: T201  # the figures are what this test is read for
    assert found.recall >= LEAST_RECALL_UNSEEN
    assert found.precision >= LEAST_PRECISION_UNSEEN
