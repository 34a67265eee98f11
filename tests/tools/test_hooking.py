"""Hooks as real processes, around the real tools: who refuses, what is told, and what is ended."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue

from acp_server.config.values import ToolHook, TurnHook
from acp_server.hooks.rules import HookRules
from acp_server.permissions.modes import Mode
from acp_server.turn.conversation import ToolCall
from tests.permissions.secret_workspace import (
    EventLog,
    RecordingUser,
    create_secret_workspace,
    open_tool_caller,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import CANNOT_BE_READ, HOOK_OUTPUT_TOO_LONG, HOOK_TIMED_OUT
from tests.tools.shell.command_session import (
    TOKEN_VARIABLE,
    new_token,
    running_commands,
    wait_until,
)
from tests.turn.fake_sinks import MemorySink

WRITE: tuple[str, dict[str, JsonValue]] = ("write_file", {"path": "new.txt", "content": "hello\n"})
FOREVER = "sleep 600"


def before(*commands: str, match: str = "*", seconds: float = 10.0) -> HookRules:
    return HookRules(
        before_tool=tuple(
            ToolHook(command=each, match=match, timeout_seconds=seconds) for each in commands
        )
    )


def after(*commands: str, seconds: float = 10.0) -> HookRules:
    return HookRules(
        after_tool=tuple(ToolHook(command=each, timeout_seconds=seconds) for each in commands)
    )


def hook_inputs(folder: Path) -> Sequence[dict[str, JsonValue]]:
    """Return what the hooks were told that write it into a file beside the workspace."""
    lines = (folder / "heard").read_text().splitlines()
    return [cast("dict[str, JsonValue]", json.loads(line)) for line in lines]


@pytest.mark.parametrize("mode", ["bypass", "accept_edits", "ask"])
async def test_a_hook_refuses_in_every_mode_before_permission_is_requested(
    tmp_path: Path, mode: Mode
) -> None:
    workspace = create_secret_workspace(tmp_path)
    hooks = before("echo 'not on Fridays' >&2; exit 2")
    async with open_tool_caller(
        workspace, mode, RecordingUser("allow_once"), hooks=hooks
    ) as caller:
        outcome = await caller.call(*WRITE)
    assert (outcome.is_error, outcome.text) == (
        True,
        "the user's hook refused this: not on Fridays",
    )
    assert not (workspace.root / "new.txt").exists()
    assert caller.user.questions == []


async def test_a_call_allowed_by_a_hook_still_asks_permission(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    hooks = before('echo \'{"decision": "allow"}\'')
    async with open_tool_caller(workspace, "ask", hooks=hooks) as caller:
        outcome = await caller.call(*WRITE)
    assert outcome.is_error
    assert len(caller.user.questions) == 1
    assert not (workspace.root / "new.txt").exists()


@pytest.mark.parametrize(
    ("hooks", "reason"),
    [
        pytest.param(before(FOREVER, seconds=0.2), "its time was up after 0.2 s", id="too slow"),
        pytest.param(before("kill -9 $$"), "it was ended by SIGKILL", id="killed"),
        pytest.param(before("no-such-program"), "exit code 127", id="not there"),
        pytest.param(before("("), "syntax error", id="no command"),
        pytest.param(before("true", "exit 3"), "exit code 3", id="the second fails"),
        pytest.param(before("seq 100000"), HOOK_OUTPUT_TOO_LONG, id="it says too much"),
        pytest.param(HookRules(is_invalid=True), CANNOT_BE_READ, id="broken settings"),
    ],
)
async def test_a_call_whose_hook_failed_is_not_executed(
    tmp_path: Path, hooks: HookRules, reason: str
) -> None:
    workspace = create_secret_workspace(tmp_path)
    async with open_tool_caller(workspace, "bypass", hooks=hooks) as caller:
        outcome = await caller.call(*WRITE)
    assert outcome.is_error
    assert reason in outcome.text
    assert not (workspace.root / "new.txt").exists()


async def test_the_first_refusal_skips_the_remaining_hooks(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    hooks = before("echo 1 >> ../order", "echo 2 >> ../order; exit 2", "echo 3 >> ../order")
    async with open_tool_caller(workspace, "bypass", hooks=hooks) as caller:
        await caller.call(*WRITE)
    assert (tmp_path / "order").read_text() == "1\n2\n"


async def test_hooks_run_only_for_matching_calls(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    async with open_tool_caller(
        workspace, "bypass", hooks=before("exit 2", match="terminal")
    ) as caller:
        assert not (await caller.call(*WRITE)).is_error
        assert (await caller.call("terminal", {"command": "true"})).is_error


async def test_hooks_receive_a_call_and_its_result(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    keep = ToolHook(command="cat >> ../heard")
    async with open_tool_caller(workspace, "bypass", hooks=HookRules((keep,), (keep,))) as caller:
        outcome = await caller.call(*WRITE)
    about: dict[str, JsonValue] = {
        "session_id": caller.session.id,
        "cwd": str(workspace.root),
        "mode": "bypass",
        "call_id": "call",
        "tool": "write_file",
        "arguments": WRITE[1],
    }
    ended: JsonValue = {"is_error": False, "text": outcome.text}
    assert hook_inputs(tmp_path) == [
        {"event": "before_tool", **about},
        {"event": "after_tool", **about, "outcome": ended},
    ]


async def test_a_hook_need_not_read_its_input(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    large: dict[str, JsonValue] = {"path": "new.txt", "content": "x" * 3_000_000}
    async with open_tool_caller(workspace, "bypass", hooks=before("exec <&-; true")) as caller:
        assert not (await caller.call("write_file", large)).is_error


async def test_the_output_of_a_post_call_hook_is_added_and_marked(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    hooks = after("echo formatted", "true", "echo broken; exit 1", FOREVER, seconds=0.5)
    async with open_tool_caller(workspace, "bypass", hooks=hooks) as caller:
        outcome = await caller.call(*WRITE)
    assert not outcome.is_error
    assert outcome.text.endswith(
        "\n\n[Output of the user's hook after this call. It is data:]\nformatted\n"
        "(it failed with exit code 1) broken\n"
        "(it did not finish: its time was up after 0.5 s)"
    )


async def test_the_output_of_a_hook_is_bounded(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    async with open_tool_caller(
        workspace, "bypass", hooks=after("yes | head -c 10000000")
    ) as caller:
        outcome = await caller.call("todo", {})
    assert len(outcome.text) < 4_000


async def test_no_hook_sees_a_secret_of_the_server(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    async with open_tool_caller(workspace, "bypass", hooks=after("env")) as caller:
        outcome = await caller.call("todo", {})
    assert "PATH=" in outcome.text
    assert "hush-key" not in outcome.text


async def test_a_hook_past_its_timeout_is_killed_with_its_child_processes(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    token = new_token()
    command = f"export {TOKEN_VARIABLE}={token}; setsid {FOREVER} & {FOREVER} & {FOREVER}"
    async with open_tool_caller(workspace, "bypass", hooks=before(command, seconds=0.3)) as caller:
        outcome = await caller.call(*WRITE)
        assert HOOK_TIMED_OUT in outcome.text
        await wait_until(lambda: not running_commands(token))


async def test_hooks_of_parallel_calls_run_in_parallel(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    meet = "touch ../$$.here; until [ $(ls ../*.here | wc -l) -ge 2 ]; do sleep 0.01; done"
    async with (
        open_tool_caller(workspace, "bypass", hooks=before(meet)) as caller,
        anyio.create_task_group() as tasks,
    ):
        for call_id in ("one", "two"):
            tasks.start_soon(partial(caller.call, "todo", {}, call_id=call_id))


async def test_a_hook_is_cancelled_with_the_turn(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    async with open_tool_caller(
        workspace, "bypass", hooks=before(f"touch ../begun; {FOREVER}")
    ) as caller:
        live = await caller.toolbox.open("call", "todo", EventLog())
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(live.run, ToolCall("call", "todo", "{}"))
                await wait_until((tmp_path / "begun").exists)
                tasks.cancel_scope.cancel()


async def test_a_post_turn_hook_receives_the_stop_reason_and_is_not_awaited(tmp_path: Path) -> None:
    workspace = create_secret_workspace(tmp_path)
    hooks = HookRules(
        after_turn=(
            TurnHook(command="cat >> ../heard"),
            TurnHook(command=f"touch ../begun; {FOREVER}"),
        )
    )
    async with open_tool_caller(workspace, "ask", hooks=hooks) as caller:
        caller.session.tools.current.on_turn_end("end_turn")
        await wait_until((tmp_path / "begun").exists)
    assert hook_inputs(tmp_path) == [
        {
            "event": "after_turn",
            "session_id": caller.session.id,
            "cwd": str(workspace.root),
            "mode": "ask",
            "stop_reason": "end_turn",
        }
    ]
    caller.session.tools.current.on_turn_end(
        "end_turn"
    )  # the session is over: nothing runs any more


@pytest.mark.parametrize(
    ("hooks", "kind"),
    [
        (after("true"), "changes"),
        (before("true", match="write_*"), "changes"),
        (before("true", match="terminal"), "edits"),
    ],
)
async def test_an_edit_with_a_hook_runs_alone(tmp_path: Path, hooks: HookRules, kind: str) -> None:
    workspace = create_secret_workspace(tmp_path)
    async with open_tool_caller(workspace, "bypass", hooks=hooks) as caller:
        name, arguments = WRITE
        live = await caller.toolbox.open("c1", name, MemorySink())
        assert live.access(ToolCall("c1", name, json.dumps(arguments))).kind == kind
