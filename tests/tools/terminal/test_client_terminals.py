"""Commands in the editor's own terminals: asked for well, shown at once, always given back once."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.handlers import workspace
from acp_server.tools.shell import terminal
from acp_server.tools.shell.environment import REMOVED_VARIABLES
from tests.support.case_table import named_case
from tests.support.editor import Object
from tests.support.user_texts import CHARACTERS_SHOWN
from tests.tools.editor_session import Answer, EditorRefusedError
from tests.tools.terminal.terminal_session import (
    SECRET,
    TERMINALS,
    EditorShell,
    TerminalSession,
    open_terminal_sessions,
    run,
)

SHOWN: JsonValue = [{"type": "terminal", "terminalId": "t1"}]


def editor(**changes: JsonValue | Answer | None) -> Mapping[str, Answer]:
    """Return the answers of an editor; None stays open, a text is an error."""
    results: dict[str, JsonValue | Answer | None] = {
        "create": {"terminalId": "t1"},
        "wait_for_exit": {"exitCode": 0},
        "output": {"output": "hello\r\n", "truncated": False},
        "kill": {},
        "release": {},
        **changes,
    }
    return {f"terminal/{k}": _answer(v) for k, v in results.items() if v is not None}


def _answer(value: JsonValue | Answer) -> Answer:
    def answer(params: Object) -> JsonValue:
        if isinstance(value, str):
            raise EditorRefusedError(value)
        return value(params) if callable(value) else value

    return answer


def requested(session: TerminalSession) -> list[str]:
    """Return what was asked about terminals, in order."""
    methods = (str(each["method"]) for each in session.editor.requests)
    return [m.removeprefix("terminal/") for m in methods if m.startswith("terminal/")]


async def test_a_terminal_is_requested_with_all_parameters(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, TERMINALS, editor()) as session:
        (session.root / "sub").mkdir()
        updates = await session.run_one(run("echo hello", workdir="sub"))
        (create,) = session.editor.asked("terminal/create")
        hidden = sorted({*settings.secret_variables(), *REMOVED_VARIABLES})
        names = [str(each["name"]) for each in cast("list[Object]", create.pop("env"))]
        assert create == {
            "sessionId": session.session_id,
            "command": "env",
            "args": [
                *(part for name in hidden for part in ("-u", name)),
                "bash",
                "-p",
                "-c",
                "exec </dev/null; echo hello",
            ],
            "cwd": str(session.root / "sub"),
            "outputByteLimit": 512 * 1024,
        }
        assert {"PAGER", "GIT_EDITOR", "GIT_TERMINAL_PROMPT"} <= set(names)
        assert "TERM" not in names
        assert requested(session) == ["create", "wait_for_exit", "output", "release"]
        assert (updates.status, updates.text) == ("completed", "hello")


async def test_the_terminal_is_shown_before_its_exit_is_awaited(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, TERMINALS, editor()) as session:
        updates = await session.run_one(run("echo hello"))
        shown = next(n for n, m in enumerate(session.editor.messages) if '"t1"' in _text(m))
        waited = next(n for n, m in enumerate(session.editor.messages) if "wait_for" in _text(m))
        assert shown < waited
        assert [each["content"] for each in updates.updates if "content" in each] == [SHOWN, SHOWN]


def _text(message: Object) -> str:
    return str(message).replace("'", '"')


ENDINGS: dict[str, tuple[JsonValue, str, str]] = {
    "success": ({"exitCode": 0}, "completed", "hello"),
    "a code": ({"exitCode": 3}, "failed", "hello\n[exit code 3]"),
    "a signal": ({"signal": "SIGSEGV"}, "failed", "hello\n[ended by SIGSEGV]"),
    "nothing": ({}, "completed", "hello\n[ended; the editor did not say how]"),
}


async def test_the_exit_is_reported(tmp_path: Path) -> None:
    answers = dict(editor())
    async with open_terminal_sessions(tmp_path, TERMINALS, answers) as session:
        for name, (exit_, status, text) in ENDINGS.items():
            answers |= editor(wait_for_exit=exit_)
            before = len(requested(session))
            with named_case(name):
                updates = await session.run_one(run("echo hello"))
                assert (updates.status, updates.text) == (status, text)
                asked = requested(session)[before:]
                assert asked == ["create", "wait_for_exit", "output", "release"]


async def test_an_exit_reported_only_with_the_output_is_used(tmp_path: Path) -> None:
    output: JsonValue = {"output": "", "truncated": False, "exitStatus": {"exitCode": 4}}
    async with open_terminal_sessions(
        tmp_path, TERMINALS, editor(wait_for_exit={}, output=output)
    ) as session:
        assert (await session.run_one(run("exit 4"))).text == "[exit code 4]"


LEFT = {
    "a last line": ("the end\n", "the end"),
    "a first line of which only the end is left": ("02\n103\n", "103"),
    "no line at all": ("x", "x"),
}


async def test_a_truncated_beginning_is_reported(tmp_path: Path) -> None:
    answers = dict(editor())
    async with open_terminal_sessions(tmp_path, TERMINALS, answers) as session:
        for name, (left, shown) in LEFT.items():
            answers |= editor(output={"output": left, "truncated": True})
            with named_case(name):
                updates = await session.run_one(run("yes"))
                assert updates.text == f"[the beginning is lost]\n{shown}"


async def test_output_beyond_the_requested_limit_is_truncated(tmp_path: Path) -> None:
    output: JsonValue = {"output": "x" * 2_000_000, "truncated": False}
    async with open_terminal_sessions(tmp_path, TERMINALS, editor(output=output)) as session:
        updates = await session.run_one(run("yes"))
        assert len(updates.text) < 11_000
        assert CHARACTERS_SHOWN in updates.text


async def test_a_command_past_its_timeout_is_killed_and_its_output_returned(
    tmp_path: Path,
) -> None:
    output: JsonValue = {
        "output": "so far\n",
        "truncated": False,
        "exitStatus": {"signal": "SIGKILL"},
    }
    async with open_terminal_sessions(
        tmp_path, TERMINALS, editor(wait_for_exit=None, output=output)
    ) as session:
        updates = await session.run_one(run("sleep 60", timeout=0.1))
        assert requested(session) == ["create", "wait_for_exit", "kill", "output", "release"]
        assert updates.status == "failed"
        assert updates.text.startswith("so far\n[stopped after 0.1 s")
        assert updates.last("content") == SHOWN


SILENT: dict[str, Mapping[str, JsonValue | None]] = {
    "nothing": {},
    "kill": {"kill": None},
    "output": {"output": None},
    "release": {"release": None},
    "anything": {"kill": None, "output": None, "release": None},
}


@pytest.mark.parametrize("silent", SILENT.values(), ids=SILENT.keys())
async def test_a_cancelled_command_is_killed_and_its_terminal_released(
    tmp_path: Path, silent: Mapping[str, JsonValue | None]
) -> None:
    async with open_terminal_sessions(
        tmp_path, TERMINALS, editor(wait_for_exit=None, **silent)
    ) as session:
        tool_call = run("sleep 60")
        pending = session.start(tool_call)
        await session.editor.wait_for_response(
            lambda m: m.get("method") == "terminal/wait_for_exit"
        )
        await session.cancel(pending)
        # The prompt is answered after 200 ms at the latest, and the release may follow.
        await session.editor.wait_for_response(lambda m: m.get("method") == "terminal/release")
        assert sorted(requested(session)) == [
            "create",
            "kill",
            "output",
            "release",
            "wait_for_exit",
        ]
        assert requested(session)[-1] == "release"
        updates = session.updates_of(tool_call.id)
        assert (updates.status, updates.last("content")) == ("failed", SHOWN)
        assert ("had printed:\nhello" in session.pending_result(tool_call)) == (
            "output" not in silent
        )
        assert (await session.run_one(run("no", background=True))).status == "completed"


async def test_a_terminal_is_released_even_if_the_editor_returns_errors(tmp_path: Path) -> None:
    answers = dict(editor())
    async with open_terminal_sessions(tmp_path, TERMINALS, answers) as session:
        for method in ("wait_for_exit", "output", "kill", "release"):
            answers |= editor(**{method: "no such thing"})
            before = len(requested(session))
            with named_case(method):
                updates = await session.run_one(run("echo hello"))
                asked = requested(session)[before:]
                assert asked.count("release") == 1
                assert asked[-1] == "release"
                assert updates.last("content") == SHOWN
                if method == "wait_for_exit":
                    assert updates.status == "failed"
                    reason = "the editor's terminal failed: no such thing"
                    assert updates.text == f"{reason}\nIt had printed:\nhello\n"
                    assert "kill" in asked
                elif method == "output":
                    reason = "[the editor did not return the output: no such thing]"
                    assert updates.text == reason
                else:
                    assert updates.text == "hello"


async def test_waiting_for_the_editors_output_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "EDITOR_ANSWER_SECONDS", 0.1)
    async with open_terminal_sessions(
        tmp_path, TERMINALS, editor(wait_for_exit=None, kill=None, output=None)
    ) as session:
        updates = await session.run_one(run("sleep 60", timeout=0.1))
        assert "did not return the output: no answer" in updates.text
        assert requested(session) == ["create", "wait_for_exit", "kill", "output", "release"]


async def test_a_command_the_editor_refuses_to_start_is_not_run_locally(
    tmp_path: Path,
) -> None:
    async with open_terminal_sessions(
        tmp_path, TERMINALS, editor(create="the user said no")
    ) as session:
        updates = await session.run_one(run("touch made"))
        assert updates.status == "failed"
        assert updates.text == "the editor did not run it: the user said no"
        assert requested(session) == ["create"]
        assert not (session.root / "made").exists()


@pytest.mark.parametrize(
    "data",
    ["the user said no", {"message": "the user said no"}, {"details": "the user said no"}],
    ids=["text", "message", "details"],
)
async def test_the_editors_reason_is_passed_on_from_any_field(
    tmp_path: Path, data: JsonValue
) -> None:
    async with open_terminal_sessions(tmp_path, TERMINALS, editor(create=None)) as session:
        tool_call = run("true")
        pending = session.start(tool_call)
        create = await session.editor.wait_for_response(
            lambda m: m.get("method") == "terminal/create"
        )
        error: JsonValue = {"code": -32603, "message": "Internal error", "data": data}
        session.editor.send({"jsonrpc": "2.0", "id": create["id"], "error": error})
        await pending.response()
        text = "the editor did not run it: Internal error: the user said no"
        assert session.pending_result(tool_call) == text


@pytest.mark.parametrize("answer", [None, {}, {"terminalId": 5}, {"id": "t"}], ids=str)
async def test_a_command_runs_here_if_the_editors_answer_names_no_terminal(
    tmp_path: Path, answer: JsonValue
) -> None:
    async with open_terminal_sessions(tmp_path, TERMINALS, editor(create=None)) as session:
        first, second = run("echo one"), run("echo two")
        pending = session.start(first)
        create = await session.editor.wait_for_response(
            lambda m: m.get("method") == "terminal/create"
        )
        session.editor.send({"jsonrpc": "2.0", "id": create["id"], "result": answer})
        await pending.response()
        assert "one" in session.pending_result(first)
        await session.start(second).response()
        assert "two" in session.pending_result(second)
        asked = [m for m in session.editor.messages if m.get("method") == "terminal/create"]
        assert len(asked) == 1
        texts = [str(each) for each in session.editor.updates]
        assert sum("without naming one" in text for text in texts) == 1


async def test_an_editor_that_opens_no_terminal_is_asked_once_and_late_ones_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "OPEN_SECONDS", 0.1)
    async with open_terminal_sessions(tmp_path, TERMINALS, editor(create=None)) as session:
        updates = await session.run_one(run("echo here"))
        assert updates.status == "failed"
        assert updates.text.startswith("the editor did not run it: it did not answer")
        updates = await session.run_one(run("echo here"))
        assert (updates.status, updates.text) == ("completed", "here")
        (create,) = session.editor.requests
        session.editor.reply(create, {"terminalId": "t1"})
        await session.editor.wait_for_response(lambda m: m.get("method") == "terminal/release")
        assert requested(session) == ["create", "kill", "release"]


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered late", "never answered"])
async def test_a_terminal_being_opened_during_a_cancel_is_released(
    tmp_path: Path, *, is_answered: bool
) -> None:
    async with open_terminal_sessions(tmp_path, TERMINALS, editor(create=None)) as session:
        pending = session.start(run("sleep 60"))
        create = await session.editor.wait_for_response(
            lambda m: m.get("method") == "terminal/create"
        )
        await session.cancel(pending)
        if is_answered:
            session.editor.reply(create, {"terminalId": "t1"})
            await session.editor.wait_for_response(lambda m: m.get("method") == "terminal/release")
            assert requested(session) == ["create", "kill", "release"]


async def test_a_terminal_opened_at_the_moment_of_the_cancel_is_released(
    tmp_path: Path,
) -> None:
    async with open_terminal_sessions(tmp_path, TERMINALS, editor(create=None)) as session:
        pending = session.start(run("sleep 60"))
        create = await session.editor.wait_for_response(
            lambda m: m.get("method") == "terminal/create"
        )
        session.editor.reply(create, {"terminalId": "t1"})
        await session.cancel(pending)
        await session.editor.wait_for_response(lambda m: m.get("method") == "terminal/release")
        assert requested(session).count("release") == 1


async def test_parallel_commands_have_their_own_terminals(tmp_path: Path) -> None:
    shell = EditorShell({"PATH": "/usr/bin:/bin"})
    async with open_terminal_sessions(tmp_path, TERMINALS, shell.matches) as session:
        results = await session.run(*(run(f"echo {n}; exit {n}") for n in range(3)))
        assert [each.text for each in results] == ["0", "1\n[exit code 1]", "2\n[exit code 2]"]
        released = [terminal_id for method, terminal_id in shell.log if method == "release"]
        assert sorted(map(str, released)) == ["editor_1", "editor_2", "editor_3"]


async def test_a_command_in_the_editor_sees_no_secret_and_has_no_input(tmp_path: Path) -> None:
    shell = EditorShell({"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": SECRET, "KEPT": "yes"})
    async with open_terminal_sessions(tmp_path, TERMINALS, shell.matches) as session:
        updates = await session.run_one(run("cat; env"))
        assert "KEPT=yes" in updates.text
        assert SECRET not in updates.text
        assert shell.methods() == ["create", "wait_for_exit", "output", "release"]
