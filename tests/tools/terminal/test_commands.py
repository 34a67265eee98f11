"""What holds for every command, in whatever way it is shown."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.session.saved_outputs import SavedOutputs
from acp_server.turn.conversation import ToolResult
from tests.support.case_table import named_case
from tests.support.user_texts import (
    ARGUMENTS_NOT_VALID_JSON,
    CHARACTERS_SHOWN,
    NO_BACKGROUND_COMMANDS,
    NO_SUCH_FOLDER,
    NOT_A_FOLDER,
)
from tests.tools.editor_session import Answer, allow
from tests.tools.terminal.terminal_session import (
    LIVE_OUTPUT,
    PLAIN,
    SECRET,
    TERMINALS,
    VARIABLES,
    EditorShell,
    TerminalSession,
    open_terminal_sessions,
    run,
)
from tests.tools.typing_model import raw_call

WAYS: dict[str, tuple[JsonValue, Mapping[str, Answer]]] = {
    "live": (LIVE_OUTPUT, {}),
    "hosted": (TERMINALS, EditorShell(VARIABLES).matches),
    "text": (PLAIN, {}),
}
ways = pytest.mark.parametrize(("can", "answers"), WAYS.values(), ids=WAYS.keys())
HERE = pytest.mark.parametrize("can", [LIVE_OUTPUT, PLAIN], ids=["live", "text"])
JUDGED_ALIKE = pytest.mark.parametrize(
    "can", [LIVE_OUTPUT, pytest.param(PLAIN, marks=pytest.mark.full)], ids=["live", "text"]
)
"""For what is decided before anything is shown: the other way is the long form."""

EXPECTED = {
    "nothing": ("true", "completed", "(no output)"),
    "only spaces": ("printf '  \\n\\n'", "completed", "  "),
    "a code and nothing": ("exit 7", "failed", "[exit code 7]"),
    "a signal": ("echo bye; kill -TERM $$", "failed", "bye\n[ended by SIGTERM]"),
    "no such command": ("exec no-such-thing-at-all", "failed", "[exit code 127]"),
    "binary": ("head -c 3000 /dev/zero", "completed", "binary output, 3,000 bytes"),
    "what was overwritten": ("printf '10%%\\r20%%\\r100%%\\n'", "completed", "100%"),
}


@ways
async def test_the_model_receives_the_output_and_the_exit_status(
    tmp_path: Path, can: JsonValue, answers: Mapping[str, Answer]
) -> None:
    async with open_terminal_sessions(tmp_path, can, answers) as session:
        for name, (command, status, text) in EXPECTED.items():
            with named_case(name):
                updates = await session.run_one(run(command))
                assert updates.status == status
                is_whole = text != "[exit code 127]"
                assert updates.text == text if is_whole else updates.text.endswith(text)


@pytest.mark.parametrize(
    ("last", "least", "most"),
    [(1_900, 8_000, 10_000), (5_000, 9_000, 10_000), (9_000, 1_800, 2_300)],
    ids=["fits", "long", "huge"],
)
async def test_the_longer_an_output_the_less_of_it_is_shown(
    tmp_path: Path, last: int, least: int, most: int
) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN, {}) as session:
        text = (await session.run_one(run(f"seq 1 {last}"))).text
        assert least < len(text) <= most
        assert text.startswith("1\n2\n3\n")
        assert text.endswith(f"\n{last}")
        assert ("search_files and read_file can open it" in text) == (last != 1_900)


@pytest.mark.parametrize(
    ("last", "is_whole"),
    [(5_000, True), (9_000, False), (200_000, False)],
    ids=["long", "huge", "longer than memory"],
)
async def test_more_of_an_output_is_shown_if_it_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int, *, is_whole: bool
) -> None:
    def fail(*_: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(SavedOutputs, "create", fail)
    async with open_terminal_sessions(tmp_path, PLAIN, {}) as session:
        text = (await session.run_one(run(f"seq 1 {last}"))).text
    output, _, note = text.partition("\n[this output could not be saved")
    assert output.startswith("1\n2\n3\n")
    assert output.endswith(f"\n{last}")
    assert (output.count("\n") == last - 1, not note) == (is_whole, is_whole)
    assert is_whole or len(output) > 29_000
    size = len("".join(f"{number}\n" for number in range(1, last + 1)))
    assert is_whole or f"of {size:,} {CHARACTERS_SHOWN}" in output


@HERE
async def test_a_command_past_its_timeout_is_killed_with_its_child_processes(
    tmp_path: Path, can: JsonValue
) -> None:
    async with open_terminal_sessions(tmp_path, can) as session:
        updates = await session.run_one(
            run("echo up; (sleep 1; touch alive) & sleep 60", timeout=0.2)
        )
        assert updates.status == "failed"
        assert updates.text == (
            "up\n[stopped after 0.2 s, with all processes that it started; give a longer timeout, "
            "or background=true]"
        )
        assert updates.last("rawOutput") == {
            "text": updates.text,
            "exit_code": None,
            "signal": "SIGTERM",
            "timed_out": True,
        }


@ways
async def test_no_command_sees_a_secret_of_the_server(
    tmp_path: Path, can: JsonValue, answers: Mapping[str, Answer]
) -> None:
    async with open_terminal_sessions(tmp_path, can, answers) as session:
        updates = await session.run_one(run("env; cat"))
        assert "PATH=" in updates.text
        assert SECRET not in updates.text
        assert "ANTHROPIC_API_KEY" not in updates.text
        started = await session.run_one(run("env > seen", background=True))
        assert started.status == "completed"
        await session.wait_until_exists("seen")
        assert SECRET not in (session.root / "seen").read_text()


WORKDIRS = {
    "relative": ("sub", "completed", "sub"),
    "missing": ("no/such", "failed", NO_SUCH_FOLDER),
    "a file": ("a.txt", "failed", NOT_A_FOLDER),
    "with a NUL": ("a\0b", "failed", "has a NUL character"),
}


@JUDGED_ALIKE
async def test_the_working_directory_can_be_chosen(tmp_path: Path, can: JsonValue) -> None:
    async with open_terminal_sessions(tmp_path, can) as session:
        (session.root / "sub").mkdir()
        session.write_file("a.txt", "")
        for name, (workdir, status, text) in WORKDIRS.items():
            with named_case(name):
                updates = await session.run_one(run("basename $PWD", workdir=workdir))
                assert (updates.status, text in updates.text) == (status, True)


async def test_a_command_outside_the_workspace_asks_permission(tmp_path: Path) -> None:
    answers = {"session/request_permission": allow("reject_once")}
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, answers, mode="accept_edits"
    ) as session:
        updates = await session.run_one(run("ls", workdir=str(session.outside)))
        assert updates.status == "failed"
        (question,) = session.editor.asked("session/request_permission")
        assert str(session.outside) in str(question["toolCall"])


async def test_a_command_cannot_hide_text_after_a_closing_code_fence(tmp_path: Path) -> None:
    answers = {"session/request_permission": allow("reject_once")}
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT, answers, mode="ask") as session:
        command = "rm -rf everything # ```\nharmless"
        await session.run_one(run(command))
        (question,) = session.editor.asked("session/request_permission")
        assert f"````sh\n{command}\n````" in str(question["toolCall"]).replace("\\n", "\n")
        assert "'```` rm -rf everything # ``` … ````'" in str(question["toolCall"])


@ways
async def test_plan_mode_runs_no_command(
    tmp_path: Path, can: JsonValue, answers: Mapping[str, Answer]
) -> None:
    async with open_terminal_sessions(tmp_path, can, answers, mode="plan") as session:
        updates = await session.run_one(run("touch made"))
        assert updates.status == "failed"
        assert not (session.root / "made").exists()
        assert session.editor.requests == []


UNFIT = {
    "a NUL": ('{"command": "echo a\\u0000b"}', "a command cannot hold a NUL character"),
    "200 KB": (f'{{"command": "echo {"x" * 200_000}"}}', "the command is too long"),
    "half a character": ('{"command": "echo \\ud800"}', ARGUMENTS_NOT_VALID_JSON),
    "half a character like a byte": ('{"command": "echo \\udc80"}', "the arguments are not valid"),
    "nothing": ('{"command": ""}', "`command` must not be empty"),
    "no time": ('{"command": "ls", "timeout": "soon"}', "`timeout` must be a number"),
}


@JUDGED_ALIKE
async def test_an_unusable_command_is_one_failed_call(tmp_path: Path, can: JsonValue) -> None:
    async with open_terminal_sessions(tmp_path, can) as session:
        for name, (arguments, reason) in UNFIT.items():
            with named_case(name):
                updates = await session.run_one(raw_call("terminal", arguments))
                assert updates.statuses[-1] == "failed"
                assert updates.statuses.count("failed") == 1
                assert updates.text.startswith(reason)
                assert (await session.run_one(run("echo next"))).text == "next"


@JUDGED_ALIKE
async def test_no_state_carries_over_to_the_next_command_or_another_session(
    tmp_path: Path, can: JsonValue
) -> None:
    async with open_terminal_sessions(tmp_path, can, sessions=2) as session:
        (session.root / "sub").mkdir()
        await session.run_one(run("cd sub; export LEFT=behind; alias ls=rm; echo $LEFT"))
        for each in (session, *session.others):
            updates = await each.run_one(run("basename $PWD; echo [$LEFT]"))
            assert updates.text == "workspace\n[]"


async def test_sessions_do_not_see_background_commands_of_others(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT, sessions=2) as session:
        (other,) = session.others
        await session.run_one(run("sleep 60", background=True))
        updates = await other.run_one(raw_call("process", '{"action": "list"}'))
        assert updates.text == NO_BACKGROUND_COMMANDS


@HERE
async def test_concurrent_commands_do_not_mix_output(tmp_path: Path, can: JsonValue) -> None:
    async with open_terminal_sessions(tmp_path, can) as session:
        calls = [run(f"for n in 1 2 3; do echo call {k}; sleep 0.1; done") for k in range(6)]
        results = await session.run(*calls)
        assert [each.text for each in results] == ["\n".join([f"call {k}"] * 3) for k in range(6)]
        for k, each in enumerate(results):
            others = [f"call {n}" for n in range(6) if n != k]
            shown = str([[u.get("content"), u.get("_meta")] for u in each.updates])
            assert not any(other in shown for other in others)


async def test_two_sessions_run_commands_concurrently(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN, sessions=2) as session:
        (other,) = session.others
        first, second = (
            run("touch a; until [ -e b ]; do sleep 0.01; done; echo first"),
            run("touch b; until [ -e a ]; do sleep 0.01; done; echo second"),
        )
        pending = [_begin(session, first)]
        # Both sessions share the model, which answers in the order of the requests.
        await session.wait_until_exists("a")
        pending.append(_begin(other, second))
        for each in pending:
            await each.response()
        # The model is shared: either session may have been the first to ask it.
        messages = [*session.session.context.conversation, *other.session.context.conversation]
        results = [part for m in messages for part in m.parts if isinstance(part, ToolResult)]
        assert {part.call_id: part.text for part in results} == {
            first.id: "first",
            second.id: "second",
        }


_begin = TerminalSession.start
