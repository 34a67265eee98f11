import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest

from acp_server.headless.agent import ClientProfile
from acp_server.headless.driver import spawn_agent
from acp_server.headless.errors import AgentDisconnectedError, AgentStartError
from acp_server.headless.process import AgentLaunch, ShutdownTimeouts, serve_command
from acp_server.headless.updates import UnknownUpdate, Update
from acp_server.headless.wire import WireLine
from tests.headless.driven_agents import make_python_launch
from tests.support.server_process import environment
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SHORT_TIMEOUTS = ShutdownTimeouts(flush_seconds=0.1, exit_seconds=0.1)
DEAF = "import time; time.sleep(60)"
LISTENING = "import sys; sys.stdin.read()"
"""An agent that answers nothing, and exits when its input ends."""


def serving(home: Path) -> AgentLaunch:
    """Our server, with a home of its own and none of our variables."""
    return AgentLaunch(serve_command(), environment=environment(home), stderr="capture")


async def test_the_server_is_started_used_and_shut_down_cleanly(tmp_path: Path) -> None:
    record: list[WireLine] = []
    async with spawn_agent(serving(tmp_path), record=record.append) as child:
        await child.agent.initialize()
        session = await child.agent.new_session(tmp_path)
        await child.agent.close_session(session.session_id)
        left = await child.close()
        assert (left.code, left.was_killed) == (0, False)
        assert await child.close() == left
    assert child.stderr_text == ""
    assert [line.sender for line in record[:4]] == ["client", "agent", "client", "agent"]


async def test_a_missing_command_is_named() -> None:
    with pytest.raises(AgentStartError, match="/no/such/agent") as caught:
        async with spawn_agent(AgentLaunch(("/no/such/agent",))):
            pass
    assert caught.value.command == "/no/such/agent"


async def test_the_error_output_of_an_agent_that_exits_early_is_quoted() -> None:
    launch = make_python_launch("import sys; print('no disk', file=sys.stderr); sys.exit(3)")
    with pytest.raises(AgentDisconnectedError) as caught:
        async with spawn_agent(launch) as child:
            await child.agent.initialize()
    assert caught.value.exit_code == 3
    assert caught.value.stderr_tail == "no disk\n"
    assert "exit code 3 before it answered initialize:\nno disk" in str(caught.value)


async def test_an_agent_that_does_not_exit_is_killed() -> None:
    async with spawn_agent(make_python_launch(DEAF, SHORT_TIMEOUTS)) as child:
        left = await child.close()
    assert (left.code, left.was_killed) == (-9, True)


async def test_an_agent_that_reads_nothing_does_not_block_the_caller() -> None:
    async with spawn_agent(make_python_launch(DEAF, SHORT_TIMEOUTS)) as child:
        with anyio.move_on_after(0.1):
            await child.agent.prompt("one", "x" * 1_000_000)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            left = await child.close()
    assert left.code == -9


async def test_an_error_of_the_caller_propagates_and_leaves_no_process() -> None:
    pids: list[int] = []

    async def fail() -> None:
        async with spawn_agent(make_python_launch(LISTENING)) as child:
            pids.append(child.pid)
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await fail()
    assert not psutil.pid_exists(pids[0])


async def test_cancelling_the_caller_leaves_no_process() -> None:
    pids: list[int] = []
    with anyio.CancelScope() as scope:
        async with spawn_agent(make_python_launch(LISTENING)) as child:
            pids.append(child.pid)
            scope.cancel()
            await anyio.sleep_forever()
    assert not psutil.pid_exists(pids[0])


PARENT = """
import json, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
params = {"pid": child.pid}
print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}), flush=True)
time.sleep(60)
"""


async def test_children_of_a_killed_agent_are_killed_too() -> None:
    notified = anyio.Event()
    grandchildren: list[psutil.Process] = []

    async def show(session_id: str, update: Update) -> None:
        assert session_id == ""
        assert isinstance(update, UnknownUpdate)
        assert isinstance(update.params, dict)
        grandchildren.append(psutil.Process(int(str(update.params["pid"]))))
        notified.set()

    async with spawn_agent(
        make_python_launch(PARENT, SHORT_TIMEOUTS), ClientProfile(show)
    ) as child:
        await notified.wait()
        await child.close()
    await anyio.to_thread.run_sync(_wait_for_its_end, grandchildren[0])


def _wait_for_its_end(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.005)


async def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    async def once() -> None:
        async with spawn_agent(serving(tmp_path)) as child:
            await child.agent.initialize()

    await once()
    process = psutil.Process()
    before = process.num_fds()
    await once()
    assert process.num_fds() == before


async def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    async with spawn_agent(replace(serving(tmp_path), cwd=tmp_path)) as child:
        await child.agent.initialize()
    assert sys.executable in serve_command()
