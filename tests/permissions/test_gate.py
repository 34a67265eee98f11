"""The gate: who is asked what and when, what an answer is good for, and what ends a question."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import anyio
import pytest

from acp_server.permissions.effects import ConnectHost, RestoreFiles
from acp_server.permissions.gate import (
    CHANGED,
    MOVED,
    NOT_ASKED,
    REJECTED,
    PermissionGate,
    Refusal,
)
from acp_server.permissions.policy import PLANNING, REJECTED_BY_RULE
from acp_server.permissions.questions import (
    AskingError,
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
)
from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import CommandPattern, CommandScope, DirectoryScope
from tests.permissions.gates import GateSetup, wait_until
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


@pytest.fixture
def setting(tmp_path: Path) -> GateSetup:
    return GateSetup(tmp_path)


async def passing(
    gate: PermissionGate, question: PermissionQuestion, results: dict[str, Refusal | None]
) -> None:
    """Go through a gate as a call does, its place in line being held already."""
    try:
        results[question.call_id] = await gate.authorize(question)
    finally:
        gate.leave_queue(question.call_id)


async def answered(
    setting: GateSetup,
    question: PermissionQuestion,
    answer: PermissionChoiceId | None,
    gate: PermissionGate | None = None,
) -> Refusal | None:
    """Ask, answer, return what came of it."""
    results: dict[str, Refusal | None] = {}
    count = len(setting.user.asked)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, gate or setting.gate(), question, results)
        (await setting.user.wait_for_question(count)).answer(answer)
    return results[question.call_id]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("allow_once", None),
        ("allow_session", None),
        ("allow_workspace", None),
        ("reject_once", Refusal(REJECTED)),
        ("reject_workspace", Refusal(REJECTED)),
    ],
)
async def test_the_answer_determines_the_result(
    setting: GateSetup, answer: PermissionChoiceId, result: Refusal | None
) -> None:
    assert await answered(setting, setting.edit("a"), answer) == result


async def test_allow_once_applies_only_once(setting: GateSetup) -> None:
    gate = setting.gate()
    for number in range(2):
        assert await answered(setting, setting.edit(f"{number}"), "allow_once", gate) is None
    assert [asked.call_id for asked in setting.user.asked] == ["0", "1"]


@pytest.mark.parametrize(
    ("answer", "here", "elsewhere"),
    [("allow_session", None, 1), ("allow_workspace", None, 0),
     ("reject_workspace", Refusal(REJECTED_BY_RULE), 0)],
)  # fmt: skip
async def test_an_always_answer_applies_here_and_depending_on_scope_in_other_sessions(
    setting: GateSetup, answer: PermissionChoiceId, here: Refusal | None, elsewhere: int
) -> None:
    gate, other = setting.gate(), setting.gate()
    await answered(setting, setting.edit("a"), answer, gate)
    assert await gate.authorize(setting.edit("b", "src/deep/b.py")) == here
    assert len(setting.user.asked) == 1
    results: dict[str, Refusal | None] = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, other, setting.edit("c"), results)
        await wait_until(lambda: bool(results) or len(setting.user.asked) > 1)
        tasks.cancel_scope.cancel()
    assert len(setting.user.asked) == 1 + elsewhere


async def test_a_restoration_offers_no_answer_that_lasts(setting: GateSetup) -> None:
    effect = RestoreFiles((setting.target("src/a.py"),))
    question = PermissionQuestion("a", effect, "Restore a.py?", "edit")
    # A client can send any id: one that would save a rule is refused.
    refusal = await answered(setting, question, "allow_workspace")
    assert isinstance(refusal, Refusal)
    assert await answered(setting, question, "allow_once") is None
    offered = [(each.name, each.kind) for each in setting.user.asked[-1].choices]
    assert offered == [("Restore", "allow_once"), ("Cancel", "reject_once")]
    assert setting.store.load(setting.root) == ()


async def test_an_always_rule_is_stored_with_its_scope(setting: GateSetup) -> None:
    await answered(setting, setting.edit("a"), "allow_workspace")
    await answered(setting, setting.command("b", "pytest tests -q"), "reject_workspace")
    assert setting.store.load(setting.root) == (
        PermissionRule(DirectoryScope("write", setting.root / "src"), is_allowed=True),
        PermissionRule(
            CommandScope((CommandPattern(("pytest",), setting.root),)), is_allowed=False
        ),
    )
    assert [path.name for path in setting.root.iterdir()] == ["src"]


async def test_a_rule_that_cannot_be_saved_applies_to_the_session(setting: GateSetup) -> None:
    (setting.base / "own").write_text("no folder")
    gate = setting.gate()
    assert await answered(setting, setting.edit("a"), "allow_workspace", gate) is None
    assert await gate.authorize(setting.edit("b")) is None


@pytest.mark.parametrize(
    "command",
    ["pytest | tee x", "pytest > x", "pytest $(ls)", "sh -c pytest", "env pytest", "make A=b",
     "pytest; rm a", "PATH=. pytest", "pytest .env", "/opt/check.sh", "cd / && pytest"],
)  # fmt: skip
async def test_no_always_rule_is_offered_for_an_unbounded_command(
    setting: GateSetup, command: str
) -> None:
    await answered(setting, setting.command("a", command), "reject_once")
    ids = [choice.id for choice in setting.user.asked[0].choices]
    assert ids == ["allow_once", "reject_once"]


async def test_an_always_holds_in_the_directory_it_was_given_in(setting: GateSetup) -> None:
    gate = setting.gate()
    (setting.root / "evil").mkdir()
    (setting.root / "link").symlink_to(setting.root / "evil")
    assert (
        await answered(setting, setting.command("a", "npm test"), "allow_workspace", gate) is None
    )
    for again in ("npm test", "npm test -- --watch", "ls && npm test 2>&1 | tail -3"):
        assert await gate.authorize(setting.command("b", again)) is None
    elsewhere = [
        setting.command("c", "npm test", "evil"),
        setting.command("d", "cd evil && npm test"),
        setting.command("e", "cd link && npm test"),
        setting.command("f", "cd evil; npm test"),
    ]
    for count, question in enumerate(elsewhere, start=1):
        refusal = await answered(setting, question, "reject_once", gate)
        assert (refusal, len(setting.user.asked)) == (Refusal(REJECTED), 1 + count)


async def test_the_width_of_an_always_is_the_one_that_was_chosen(setting: GateSetup) -> None:
    gate = setting.gate()
    exactly = setting.command("a", "git add a b")
    assert await answered(setting, exactly, "allow_exactly", gate) is None
    assert await gate.authorize(setting.command("b", "git add a b")) is None
    other = setting.command("c", "git add c")
    assert await answered(setting, other, "allow_workspace", gate) is None
    assert await gate.authorize(setting.command("d", "git add d e")) is None
    assert len(setting.user.asked) == 2


async def test_permission_requests_are_made_one_at_a_time_in_call_order(setting: GateSetup) -> None:
    gate = setting.gate()
    results: dict[str, Refusal | None] = {}
    for name in "abc":
        gate.enter_queue(name)
    async with anyio.create_task_group() as tasks:
        for name in "cba":
            tasks.start_soon(passing, gate, setting.edit(name), results)
            await anyio.wait_all_tasks_blocked()
        for number in range(3):
            (await setting.user.wait_for_question(number)).answer("allow_once")
    assert [asked.call_id for asked in setting.user.asked] == ["a", "b", "c"]
    assert (setting.user.max_open, results) == (1, {"a": None, "b": None, "c": None})


async def test_an_always_rule_is_applied_to_waiting_calls(setting: GateSetup) -> None:
    gate = setting.gate()
    results: dict[str, Refusal | None] = {}
    questions = [setting.edit("a"), setting.edit("b"), setting.edit("c", "x.py")]
    for question in questions:
        gate.enter_queue(question.call_id)
    async with anyio.create_task_group() as tasks:
        for question in questions:
            tasks.start_soon(passing, gate, question, results)
        (await setting.user.wait_for_question(0)).answer("allow_session")
        (await setting.user.wait_for_question(1)).answer("reject_once")
    assert [asked.call_id for asked in setting.user.asked] == ["a", "c"]
    assert results == {"a": None, "b": None, "c": Refusal(REJECTED)}


async def test_a_call_that_requires_no_permission_blocks_no_other(setting: GateSetup) -> None:
    gate = setting.gate()
    for name in "ab":
        gate.enter_queue(name)
    assert await gate.authorize(setting.command("a", "ls")) is None  # and it runs on
    assert await answered(setting, setting.edit("b"), "allow_once", gate) is None


async def test_an_allowed_call_blocks_no_other_while_it_runs(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    for name in "ab":
        gate.enter_queue(name)
    for number, name in enumerate("ab"):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate.authorize, setting.edit(name))
            (await setting.user.wait_for_question(number)).answer("allow_once")


async def test_two_calls_with_the_same_id_are_asked_about_in_sequence(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    async with anyio.create_task_group() as tasks:
        for name in ("src/a.py", "src/b.py"):
            gate.enter_queue("same")
            tasks.start_soon(gate.authorize, setting.edit("same", name))
        (await setting.user.wait_for_question(0)).answer("allow_once")
        (await setting.user.wait_for_question(1)).answer("reject_once")
    assert setting.user.max_open == 1


async def test_a_cancelled_permission_request_ends_immediately_and_the_next_is_made(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    results: dict[str, Refusal | None] = {}
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(passing, gate, setting.edit("a"), results)
            await setting.user.wait_for_question(0)
            tasks.cancel_scope.cancel()
    setting.user.asked[0].answer("allow_session")
    assert await answered(setting, setting.edit("b"), "reject_once", gate) == Refusal(REJECTED)
    assert results == {}


async def test_a_call_queued_behind_a_cancelled_call_is_asked_about(setting: GateSetup) -> None:
    gate = setting.gate()
    results: dict[str, Refusal | None] = {}
    for name in "ab":
        gate.enter_queue(name)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, gate, setting.edit("b"), results)
        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as inner:
                inner.start_soon(passing, gate, setting.edit("a"), results)
                await setting.user.wait_for_question(0)
                first.cancel()
        (await setting.user.wait_for_question(1)).answer("allow_once")
    assert results == {"b": None}


async def test_a_cancelled_answer_ends_the_turn_and_allows_nothing(setting: GateSetup) -> None:
    results: dict[str, Refusal | None] = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, setting.gate(), setting.edit("a"), results)
        (await setting.user.wait_for_question(0)).answer(None)
        await wait_until(lambda: setting.cancelled_at == ["turn"])
        tasks.cancel_scope.cancel()
    assert results == {}


async def test_a_dismissed_question_that_no_call_waits_for_is_a_refusal(
    setting: GateSetup,
) -> None:
    question = PermissionQuestion("a", ConnectHost("example.com"), "", "fetch", is_awaited=False)
    assert await answered(setting, question, None) == Refusal(REJECTED)
    assert setting.cancelled_at == ["turn"]


async def test_allowing_the_network_covers_the_command_that_asked_but_no_other(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    first = setting.command("a", "make install", sandbox_status="networked")
    assert await answered(setting, first, "allow_session", gate) is None
    second = setting.command("b", "make upload", sandbox_status="networked")
    assert await answered(setting, second, "allow_once", gate) is None
    asked = [{choice.id for choice in each.choices} for each in setting.user.asked]
    assert ["ask_per_host" in each for each in asked] == [True, False]


async def test_hosts_are_asked_about_instead_if_the_user_chooses_so(setting: GateSetup) -> None:
    gate = setting.gate()
    gate.ask_per_host = lambda: setting.cancelled_at.append("asks per host")
    command = setting.command("a", "make install", sandbox_status="networked")
    assert await answered(setting, command, "ask_per_host", gate) is None
    assert setting.cancelled_at == ["asks per host"]


@pytest.mark.parametrize("answer", ["allow_workspace", "allow_session", "yes", ""])
async def test_an_answer_that_was_not_offered_allows_nothing(
    setting: GateSetup, answer: str
) -> None:
    choice = cast("PermissionChoiceId", answer)
    refusal = await answered(setting, setting.command("a", "rm a"), choice)
    reason = NOT_ASKED.format(reason="the answer was none of those offered")
    assert (refusal, setting.store.load(setting.root)) == (Refusal(reason), ())


class _Nobody:
    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        del question, choices
        raise AskingError("nobody is there")


async def test_without_a_user_to_ask_a_call_is_refused_and_the_next_is_not_blocked(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    gate.asker = _Nobody()
    for name in "ab":
        refusal = await gate.authorize(setting.edit(name))
        assert refusal == Refusal(NOT_ASKED.format(reason="nobody is there"))


async def test_an_approval_is_void_once_plan_mode_is_on(setting: GateSetup) -> None:
    async def switch_and_allow() -> None:
        asked = await setting.user.wait_for_question(0)
        setting.mode = "plan"
        asked.answer("allow_session")

    results: dict[str, Refusal | None] = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, setting.gate(), setting.edit("a"), results)
        tasks.start_soon(switch_and_allow)
    assert results == {"a": Refusal(PLANNING)}


async def test_an_approval_is_void_once_the_path_resolves_elsewhere(setting: GateSetup) -> None:
    gate, question = setting.gate(), setting.edit("a")
    results: dict[str, Refusal | None] = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, gate, question, results)
        asked = await setting.user.wait_for_question(0)
        (setting.root / "src").rename(setting.base / "old")
        (setting.root / "src").symlink_to(setting.base)
        asked.answer("allow_once")
    assert results == {"a": Refusal(MOVED)}


async def test_an_approval_is_void_once_a_command_would_read_something_else(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    outside = setting.base / "outside.txt"
    outside.write_text("")
    (setting.root / "link.txt").symlink_to(outside)
    results: dict[str, Refusal | None] = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passing, gate, setting.command("a", "cat *.txt"), results)
        asked = await setting.user.wait_for_question(0)
        (setting.root / "credentials.txt").symlink_to(setting.root / ".env")
        (setting.root / ".env").write_text("")
        asked.answer("allow_once")
    assert results == {"a": Refusal(CHANGED)}


async def test_a_waiting_call_is_not_asked_about_once_bypass_is_on(setting: GateSetup) -> None:
    gate = setting.gate()
    results: dict[str, Refusal | None] = {}
    for name in "ab":
        gate.enter_queue(name)
    async with anyio.create_task_group() as tasks:
        for name in "ab":
            tasks.start_soon(passing, gate, setting.edit(name), results)
        asked = await setting.user.wait_for_question(0)
        setting.mode = "bypass"
        asked.answer("reject_once")
    assert (len(setting.user.asked), results) == (1, {"a": Refusal(REJECTED), "b": None})


async def test_only_bypass_mode_excludes_nothing_from_searches(setting: GateSetup) -> None:
    gate = setting.gate()
    assert ".env*" in gate.search_excludes()
    setting.mode = "bypass"
    assert gate.search_excludes() == ()


async def test_a_part_of_an_answer_is_forgotten_in_the_session_and_for_later_ones(
    setting: GateSetup,
) -> None:
    gate = setting.gate()
    both = setting.command("a", "pytest tests -q && ruff check .")
    await answered(setting, both, "allow_workspace", gate)
    await answered(setting, setting.edit("b"), "allow_session", gate)
    listed = {each.text: each for each in gate.list_rules()}
    assert {text: each.is_saved for text, each in listed.items()} == {
        "`pytest …`": True,
        "`ruff check …`": True,
        "edits in src/": False,
    }
    assert len({each.id for each in listed.values()}) == 3
    gate.forget_rule(listed["`pytest …`"].rule)
    gate.forget_rule(listed["edits in src/"].rule)
    assert [each.text for each in gate.list_rules()] == ["`ruff check …`"]
    assert [each.text for each in setting.gate().list_rules()] == ["`ruff check …`"]
    assert await gate.authorize(setting.command("c", "ruff check .")) is None
    assert await answered(setting, setting.command("d", "pytest tests"), "reject_once", gate)
    assert await answered(setting, setting.edit("e"), "reject_once", gate)
