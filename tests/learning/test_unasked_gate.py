"""What a pass that nobody asked for may do: the gate that its tools have."""

from pathlib import Path

import pytest

from acp_server.learning.background_gate import (
    NEEDS_USER,
    NOT_ALLOWED,
    PROPOSED,
    RUN_ENDED,
    BackgroundGate,
)
from acp_server.permissions.effects import (
    ChangeMemory,
    ChangeSkill,
    Effect,
    FileTarget,
    ReadFiles,
    RunCommandEffect,
    WriteFiles,
)
from acp_server.permissions.gate import Gate, Refusal
from acp_server.permissions.policy import PLANNING
from acp_server.permissions.questions import PermissionQuestion


def skill_at(folder: Path, *warnings: str) -> ChangeSkill:
    path = folder / "release" / "SKILL.md"
    return ChangeSkill((FileTarget(path, path, is_inside=False),), warnings)


def question(effect: Effect) -> PermissionQuestion:
    return PermissionQuestion("call_1", effect, "Patch the skill release", "edit")


async def verdict(gate: Gate, effect: Effect) -> str | None:
    refusal = await gate.authorize(question(effect))
    return refusal.reason if isinstance(refusal, Refusal) else None


async def test_memory_and_skill_changes_are_allowed_without_asking(tmp_path: Path) -> None:
    gate = BackgroundGate(tmp_path)
    assert await verdict(gate, ChangeMemory()) is None
    assert await verdict(gate, skill_at(tmp_path)) is None
    assert gate.proposed_call_ids == set()


async def test_all_other_effects_are_denied(tmp_path: Path) -> None:
    target = FileTarget(tmp_path / "a", tmp_path / "a", is_inside=True)
    for effect in (ReadFiles((target,)), WriteFiles((target,)), RunCommandEffect("ls", target)):
        assert await verdict(BackgroundGate(tmp_path), effect) == NOT_ALLOWED


async def test_skills_in_other_places_or_behind_a_symlink_are_denied(tmp_path: Path) -> None:
    skills, others = tmp_path / "skills", tmp_path / "others"
    for folder in (skills, others):
        folder.mkdir()
    (skills / "linked").symlink_to(others, target_is_directory=True)
    gate = BackgroundGate(skills)
    assert await verdict(gate, skill_at(others)) == NOT_ALLOWED
    assert await verdict(gate, skill_at(skills / "linked")) == NOT_ALLOWED


@pytest.mark.parametrize("may_propose", [True, False])
async def test_effects_that_require_the_user_are_not_performed(
    tmp_path: Path, *, may_propose: bool
) -> None:
    for effect in (skill_at(tmp_path, "it deletes files"), ChangeMemory(asks_first=True)):
        gate = BackgroundGate(tmp_path, can_propose=may_propose)
        assert await verdict(gate, effect) == (PROPOSED if may_propose else NEEDS_USER)
        assert gate.proposed_call_ids == ({"call_1"} if may_propose else set())


async def test_every_change_becomes_a_proposal_if_the_rule_says_so(tmp_path: Path) -> None:
    gate = BackgroundGate(tmp_path, "propose", can_propose=True)
    assert await verdict(gate, skill_at(tmp_path)) == PROPOSED


async def test_all_effects_are_denied_in_plan_mode_or_after_the_run(tmp_path: Path) -> None:
    planning = BackgroundGate(tmp_path, mode=lambda: "plan")
    assert await verdict(planning, ChangeMemory()) == PLANNING
    over = BackgroundGate(tmp_path, has_ended=lambda: True)
    assert await verdict(over, ChangeMemory()) == RUN_ENDED
