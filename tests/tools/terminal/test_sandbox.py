"""Confined commands as the model, the user and the editor's own terminal see them."""

import shlex
import socket
import sys
from collections.abc import Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from acp_server.permissions.reasons import OUTSIDE_SANDBOX
from acp_server.tools.shell.confinement.config import SandboxConfig
from tests.support.case_table import named_case
from tests.support.editor import Object, json_at
from tests.tools.confinement.sandbox_setup import needs_sandbox
from tests.tools.editor_session import Answer, allow
from tests.tools.terminal.terminal_session import (
    LIVE_OUTPUT,
    PLAIN,
    SECRET,
    TERMINALS,
    EditorShell,
    open_terminal_sessions,
    process,
    run,
)
from tests.tools.terminal.test_background import start

pytestmark = needs_sandbox
ASKS = "session/request_permission"
NO = allow("reject_once")
YES = allow("allow_once")


def config(folder: Path) -> SandboxConfig:
    return SandboxConfig("workspace", temporary_directories=(folder / "temp",))


def shell(variables: Mapping[str, str] | None = None) -> EditorShell:
    return EditorShell(variables or {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": SECRET})


WAYS = {"shown live": LIVE_OUTPUT, "shown as text": PLAIN, "run by the editor": TERMINALS}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_a_sandbox_denial_is_reported_to_model_and_user(
    tmp_path: Path, way: JsonValue
) -> None:
    answers: Mapping[str, Answer] = shell().matches if way == TERMINALS else {}
    async with open_terminal_sessions(tmp_path, way, answers, sandbox=config(tmp_path)) as session:
        updates = await session.run_one(run(f"echo x > {session.outside}/new; echo y > mine"))
        assert not (session.outside / "new").exists()
        assert (session.root / "mine").read_text() == "y\n"
        assert "bash: line 1: " in updates.text.partition("[The sandbox may have refused this: ")[2]
        assert "unconfined=true" in updates.text
        assert "The sandbox may have refused" in updates.shown_text


async def test_a_command_without_a_denial_is_reported_as_usual(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT, sandbox=config(tmp_path)) as session:
        failed = await session.run_one(run("echo 'no permission denied here' > a; cat a; exit 0"))
        assert failed.text == "no permission denied here"
        assert (await session.run_one(run("exit 3"))).text == "[exit code 3]"


async def test_an_unconfined_command_asks_permission_and_runs_without_the_sandbox(
    tmp_path: Path,
) -> None:
    answers = {ASKS: allow("allow_once")}
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, answers, mode="accept_edits", sandbox=config(tmp_path)
    ) as session:
        updates = await session.run_one(run(f"echo x > {session.outside}/new", unconfined=True))
        assert (updates.status, (session.outside / "new").read_text()) == ("completed", "x\n")
        (permission,) = session.editor.asked(ASKS)
        assert OUTSIDE_SANDBOX in str(permission)
        assert [each["kind"] for each in _options(permission)] == ["allow_once", "reject_once"]


async def test_even_a_read_only_command_asks_permission_to_run_unconfined(tmp_path: Path) -> None:
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, {ASKS: NO}, mode="ask", sandbox=config(tmp_path)
    ) as session:
        assert (await session.run_one(run("ls"))).status == "completed"
        assert session.editor.asked(ASKS) == []
        assert (await session.run_one(run("ls", unconfined=True))).status == "failed"
        assert len(session.editor.asked(ASKS)) == 1


async def test_no_always_answer_covers_leaving_the_sandbox(tmp_path: Path) -> None:
    answers: Mapping[str, Answer] = {ASKS: allow("allow_session")}
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, answers, mode="ask", sandbox=config(tmp_path)
    ) as session:
        await session.run_one(run("ruff check --isolated"))
        await session.run_one(run("ruff check --no-cache"))
        assert len(session.editor.asked(ASKS)) == 1
        updates = await session.run_one(run("ruff check --isolated", unconfined=True))
        assert (updates.status, len(session.editor.asked(ASKS))) == ("failed", 2)


async def test_plan_mode_allows_no_unconfined_command(tmp_path: Path) -> None:
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, {ASKS: YES}, mode="plan", sandbox=config(tmp_path)
    ) as session:
        assert (await session.run_one(run("ls", unconfined=True))).status == "failed"
        assert session.editor.asked(ASKS) == []


async def test_bypass_mode_confines_commands_unless_the_model_opts_out(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT, sandbox=config(tmp_path)) as session:
        assert (await session.run_one(run(f"touch {session.outside}/a"))).status == "failed"
        updates = await session.run_one(run(f"touch {session.outside}/a", unconfined=True))
        assert updates.status == "completed"


async def test_background_commands_are_confined_and_report_denials(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT, sandbox=config(tmp_path)) as session:
        name = await start(session, f"read -r line; echo x > {session.outside}/$line")
        await session.run_one(process("write", session_id=name, data="new\n"))
        ended = (await session.run_one(process("wait", session_id=name))).text
        assert "exit code 1" in ended
        assert "may have refused" in ended
        assert not (session.outside / "new").exists()


async def test_the_editors_terminal_gets_the_launcher_and_no_secrets(
    tmp_path: Path,
) -> None:
    async with open_terminal_sessions(
        tmp_path, TERMINALS, shell().matches, sandbox=config(tmp_path)
    ) as session:
        updates = await session.run_one(
            run("echo [$ANTHROPIC_API_KEY]; setsid -w touch /usr/new; id -u")
        )
        (create,) = session.editor.asked("terminal/create")
        words = cast("list[str]", create["args"])
        assert f"write={session.root}" in words
        assert ("-u", "ANTHROPIC_API_KEY") in pairwise(words)
        assert updates.text.startswith("[]\n")
        assert "touch: cannot touch" in updates.text


async def test_a_command_the_editor_cannot_confine_runs_locally(tmp_path: Path) -> None:
    async with open_terminal_sessions(
        tmp_path, TERMINALS, _OtherLocation().matches, sandbox=config(tmp_path)
    ) as r:
        updates = await r.run_one(run(f"echo hello; echo x > {r.outside}/new"))
        assert updates.text.startswith("hello\n")
        assert not (r.outside / "new").exists()
        assert "hello" in updates.shown_text
        await r.run_one(run("echo again"))
        assert len(r.editor.asked("terminal/create")) == 1, "nor is it tried again"


class _OtherLocation(EditorShell):
    """A machine on which our files do not lie."""

    def __init__(self) -> None:
        super().__init__({"PATH": "/usr/bin:/bin"})

    def _create(self, params: Object) -> JsonValue:
        words = cast("list[str]", params["args"])
        there = [f"/elsewhere{word}" if word.endswith(".pl") else word for word in words]
        return super()._create({**params, "args": cast("JsonValue", there)})


def _options(params: Object) -> list[Object]:
    return cast("list[Object]", json_at(params, "options"))


async def test_without_a_sandbox_nothing_is_confined(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        assert (await session.run_one(run("ls", unconfined=True))).status == "completed"
        assert (await session.run_one(run(f"touch {session.outside}/a"))).status == "completed"


BY_DESCENDANTS = {
    "itself": "{act}",
    "a child": "sh -c {quoted}",
    "a grandchild": "sh -c 'sh -c \"$0\"' {quoted}",
    "one of a session of its own": "setsid -w sh -c {quoted}",
    "one that is left behind": "(setsid sh -c {quoted} >/dev/null 2>&1 &) ; sleep 0.3",
}
REFUSED = {
    "a write": "echo x > {outside}/new",
    "a deletion": "rm -f {outside}/there.txt",
    "a connection": "{python} -S -c "
    "'import socket; socket.create_connection((\"127.0.0.1\", {port}), 1)'",
}


async def test_an_editor_command_is_confined_with_its_child_processes(tmp_path: Path) -> None:
    async with open_terminal_sessions(
        tmp_path, TERMINALS, shell().matches, sandbox=config(tmp_path)
    ) as session:
        (session.outside / "there.txt").write_text("as it was")
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            server.settimeout(0.1)
            for name, who in BY_DESCENDANTS.items():
                with named_case(name):
                    acts = "; ".join(REFUSED.values()).format(
                        outside=session.outside,
                        python=sys.executable,
                        port=server.getsockname()[1],
                    )
                    await session.run_one(run(who.format(act=acts, quoted=shlex.quote(acts))))
                    with pytest.raises(TimeoutError):
                        server.accept()
                    assert [each.name for each in session.outside.iterdir()] == ["there.txt"]
                    assert (session.outside / "there.txt").read_text() == "as it was"
        made = session.editor.asked("terminal/create")
        assert len(made) == len(BY_DESCENDANTS)
