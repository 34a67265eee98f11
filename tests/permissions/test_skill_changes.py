"""The policy on changes of skills: as on files, and doubts are asked about whatever holds."""

from pathlib import Path

import pytest

from acp_server.permissions.effects import ChangeSkill, FileTarget
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import (
    PLANNING,
    REJECTED_BY_RULE,
    Allow,
    Ask,
    Decision,
    FileFacts,
    Refuse,
    SkillFacts,
    decide,
)
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.scopes import DirectoryScope
from tests.support.case_table import each_case

INSIDE = Path("/code/.agents/skills/release/SKILL.md")
OUTSIDE = Path("/home/me/.hermes/skills/release/SKILL.md")
NO_RULES = RuleBook([])
DOUBT = "SKILL.md:5: dangerous"


def facts(path: Path, *doubts: str) -> SkillFacts:
    outside = (path,) if path == OUTSIDE else ()
    return SkillFacts(FileFacts("write", (path,), outside, coverable_directory=path.parent), doubts)


def make_rules(path: Path, *, is_allowed: bool) -> RuleBook:
    return RuleBook([PermissionRule(DirectoryScope("write", path.parent), is_allowed)])


SCOPE = DirectoryScope("write", INSIDE.parent)
LEAVE = Ask(f"{OUTSIDE} is outside the workspace", DirectoryScope("write", OUTSIDE.parent))


@each_case(
    ("mode", "path", "expected"),
    [
        ("ask", INSIDE, Ask("", SCOPE)),
        ("ask", OUTSIDE, LEAVE),
        ("accept_edits", INSIDE, Allow()),
        ("accept_edits", OUTSIDE, LEAVE),
        ("plan", INSIDE, Refuse(PLANNING)),
        ("plan", OUTSIDE, Refuse(PLANNING)),
        ("bypass", INSIDE, Allow()),
        ("bypass", OUTSIDE, Allow()),
    ],
)
def test_a_skill_change_needs_the_same_permission_as_a_file_edit(
    mode: Mode, path: Path, expected: Decision
) -> None:
    assert decide(facts(path), mode, NO_RULES) == expected


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "bypass"])
@pytest.mark.parametrize("path", [INSIDE, OUTSIDE])
def test_a_doubtful_change_is_asked_about_even_if_the_rest_is_allowed(
    mode: Mode, path: Path
) -> None:
    doubtful = facts(path, DOUBT, "and another")
    assert decide(doubtful, mode, make_rules(path, is_allowed=True)) == Ask(f"{DOUBT}. and another")


def test_a_doubt_does_not_override_a_refusal() -> None:
    doubtful = facts(OUTSIDE, DOUBT)
    assert decide(doubtful, "plan", NO_RULES) == Refuse(PLANNING)
    never = make_rules(OUTSIDE, is_allowed=False)
    assert decide(doubtful, "ask", never) == Refuse(REJECTED_BY_RULE)


def test_an_always_allow_rule_covers_only_the_skills_directory(tmp_path: Path) -> None:
    root, own_home = tmp_path / "work", tmp_path / "own"
    root.mkdir()
    file = own_home / "skills" / "release" / "SKILL.md"
    file.parent.mkdir(parents=True)
    surveyor = FactCollector((root,), tmp_path / "home", own_home)
    effect = ChangeSkill((FileTarget(file, file, is_inside=False),), (DOUBT,))
    found = surveyor.collect(effect)
    assert found == SkillFacts(
        FileFacts("write", (file,), (file,), coverable_directory=file.parent), (DOUBT,)
    )
    assert not surveyor.has_moved(effect)
