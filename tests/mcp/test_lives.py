"""The lives of servers: hung, mute, crashed, lost and found again, left out, shared by name."""

import math
from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest
from pydantic import JsonValue

from acp_server.mcp import session_servers
from acp_server.mcp.binder import scan_for_injection
from acp_server.mcp.tool_names import MAX_CHARACTERS
from acp_server.session.ports.mcp import NO_SERVERS, UnavailableServer
from acp_server.session.ports.mcp_configs import ServerTimeouts, StdioServerConfig
from tests.mcp.live_servers import FAST_LIMITS, open_factory, server_program, wait_for_text
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import (
    CONNECTION_LOST,
    LIKE_INSTRUCTIONS,
    SERVER_OF_UNTRUSTED_WORKSPACE,
)


async def ignore_text(text: str) -> None:
    del text


def running_processes(log: Path) -> list[int]:
    """The processes that a server has told of, and that live."""
    numbers = [int(line.split()[1]) for line in log.read_text().splitlines() if "process" in line]
    return [number for number in numbers if _is_running(number)]


def _is_running(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_hanging_server_delays_neither_the_first_call_nor_other_servers(
    tmp_path: Path,
) -> None:
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, first_call_seconds=0.1)
        stuck = replace(
            server_program("stuck", "hangs"), timeouts=ServerTimeouts(connect_seconds=0.4)
        )
        live = factory.create(stuck, server_program("well"))
        live.servers.start(lambda: None)
        assert live.servers.tools() == ()
        await live.wait_for_description("): connected")
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await live.servers.wait_ready()
        assert {name.split("__")[0] for name in live.tool_names()} == {"well"}
        page = await live.wait_for_description("did not introduce itself within 0.4 s")
        assert "**stuck** (process `python" in page
        await live.servers.close()


async def test_garbage_between_messages_is_harmless_and_shown(tmp_path: Path) -> None:
    server = server_program("s", "prints-garbage")
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        assert (await live.call("s__echo", {"text": "hello"})).text == "hello"
        assert "starting up, please wait…" in live.servers.describe()


async def test_two_hundred_tools_are_all_offered(tmp_path: Path) -> None:
    async with (
        open_factory(tmp_path) as factory,
        factory.open_servers(server_program("s", "many")) as live,
    ):
        assert live.tool_names() == [f"s__tool_{number}" for number in range(200)]


async def test_conflicting_names_are_disambiguated_deterministically(tmp_path: Path) -> None:
    names: list[list[str]] = []
    for _ in range(2):
        async with (
            open_factory(tmp_path) as factory,
            factory.open_servers(server_program("s", "clashes")) as live,
        ):
            names.append(live.tool_names())
            assert "a_b: its name is missing, too long or already used" in live.servers.describe()

    assert names[0] == names[1]
    assert len(set(names[0])) == 5
    assert {"s__a_b", "s__read_file"} <= set(names[0])
    assert max(map(len, names[0])) <= MAX_CHARACTERS


async def test_an_invalid_tool_is_skipped_without_affecting_others(tmp_path: Path) -> None:
    async with (
        open_factory(tmp_path) as factory,
        factory.open_servers(server_program("s", "bad-schemas")) as live,
    ):
        page = live.servers.describe()
        specs = {tool.spec.name: tool.spec.schema for tool in live.servers.tools()}

    assert specs == {
        "s__without": {"type": "object", "properties": {}},
        "s__mended": {"type": "object", "properties": {"n": {}}},
        "s__nested": {"type": "object", "properties": {"n": {}}},
        "s__deep": {"type": "object", "properties": {"n": {}}},
        "s__counts": {"type": "object", "properties": {"n": {"type": "string"}}},
        "s__half": {
            "type": "object",
            "properties": {"n": {"type": "string", "description": "\ufffd"}},
        },
        "s__groups": {"type": "object", "properties": {"n": {"type": "string"}}},
    }
    assert "- skipped: text: its input schema is not an object" in page
    assert "- skipped: unspeakable: its argument name 'a b' is invalid" in page


async def test_instructions_in_tools_are_marked_for_the_model_and_the_user(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        factory.scan = scan_for_injection
        async with factory.open_servers(server_program("s", "instructs")) as live:
            marked = {
                each.spec.name
                for each in live.servers.tools()
                if LIKE_INSTRUCTIONS in each.spec.description
            }
            page = live.servers.describe()
    assert marked == {"s__described", "s__argued", "s__listed"}
    assert "instructions to the model, and is marked as data: described, argued, listed" in page


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        pytest.param(
            server_program("s", "leaves-at-once"), "no configuration found", id="it leaves"
        ),
        pytest.param(
            StdioServerConfig("s", "no-such-program"),
            "there is no program `no-such-program` on the PATH",
            id="there is no such program",
        ),
        pytest.param(
            StdioServerConfig("s", "/bin/cat", cwd=Path("/no/such/folder")),
            "it cannot be started",
            id="there is no such folder",
        ),
    ],
)
async def test_a_server_that_does_not_start_is_reported_with_the_reason(
    tmp_path: Path, server: StdioServerConfig, problem: str
) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        page = await live.wait_for_description("failed")
        assert problem in page
        assert live.tool_names() == []
        await live.servers.refresh_tools()  # fails again in the same way: no second notice
        (notice,) = live.notices
        assert notice.startswith("The MCP server “s” is not available: ")
        assert problem in notice


async def test_a_crashed_server_is_reconnected_and_a_call_meanwhile_waits(
    tmp_path: Path,
) -> None:
    server = server_program("s", environment={"API_KEY": "abc-secret"})
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        crashed = await live.call("s__crash")
        again = await live.call("s__echo", {"text": "hello"})
        page = live.servers.describe()

    assert (crashed.text, crashed.is_error) == (f"MCP server s: {CONNECTION_LOST}", True)
    assert (again.text, again.is_error) == ("hello", False)
    assert "about to crash with [hidden]" in page
    assert "abc-secret" not in page


async def test_a_repeatedly_crashing_server_is_given_up_and_retried_at_a_rebuild(
    tmp_path: Path,
) -> None:
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, backoff_seconds=(0.01,))
        async with factory.open_servers(server_program("s", "crashes-on")) as live:
            for _ in range(2):
                assert CONNECTION_LOST in (await live.call("s__echo")).text
            await live.wait_for_description("failed")
            lost = await live.call("s__echo")
            assert live.servers.take_notices() == (
                'The MCP server "s" is lost: calls of its tools fail for now.',
            )
            await live.servers.refresh_tools()
            assert "): connected" in live.servers.describe()
            assert live.servers.take_notices() == ()

    assert lost.text == (
        "MCP server s: the server is not connected: the connection was lost; /mcp shows more"
    )


async def test_a_timed_out_call_fails_and_the_server_is_notified(tmp_path: Path) -> None:
    log = tmp_path / "told"
    server = server_program("s", environment={"TOLD": str(log)})
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, call_seconds=0.2)
        async with factory.open_servers(server) as live:
            outcome = await live.call("s__slow")
            await wait_for_text(log.read_text, "stopped")

    assert outcome.is_error
    assert outcome.text.startswith("MCP server s: no answer within 0.2 s; it was told to stop")


async def test_a_changed_tool_list_is_reported_and_applied_at_the_next_rebuild(
    tmp_path: Path,
) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server_program("s")) as live:
        before = live.tool_names()
        await live.call("s__grow")
        await live.wait_for_description(f"{len(before) + 1} tools")
        assert live.tool_names() == before
        (notice,) = live.servers.take_notices()
        assert notice == (
            'The tools of the MCP server "s" are others now (new or changed: s__grown). You can '
            "use them as they are now once your tools are rebuilt; the user can have that done "
            "with /reload."
        )
        assert live.servers.take_notices() == ()
        await live.servers.refresh_tools()
        assert live.tool_names() == [*before, "s__grown"]
        assert live.servers.take_notices() == ()


async def test_tools_excluded_by_a_project_cause_no_notices(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, backoff_seconds=())
        async with factory.open_servers(server_program("s")) as live:
            before = len(live.tool_names())
            await live.call("s__grow")
            await live.wait_for_description(f"{before + 1} tools")
            assert live.servers.take_notices({"s__echo"}) == ()
            await live.call("s__crash")
            await live.wait_for_description("failed")
            assert live.servers.take_notices({"read_file"}) == ()


async def test_without_a_user_the_first_call_waits_until_each_server_has_connected_or_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_servers, "QUIET_WAIT_SECONDS", 0)
    go = tmp_path / "go"
    async with open_factory(tmp_path) as factory, anyio.create_task_group() as tasks:
        factory.limits = replace(FAST_LIMITS, first_call_seconds=math.inf, is_unattended=True)
        slow = server_program("slow", "waits", environment={"GO": str(go)})
        live = factory.create(slow, StdioServerConfig("gone", "/nope"))
        live.servers.start(lambda: None)
        tasks.start_soon(live.servers.run_command, "", ignore_text)
        await wait_for_text(lambda: " ".join(live.notices), "Waiting for these MCP servers")
        assert live.tool_names() == []
        go.touch()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await live.servers.wait_ready()
        assert "slow__echo" in live.tool_names()
        assert [each.name for each in live.servers.unavailable()] == ["gone"]
        await live.servers.close()


async def test_without_a_user_servers_that_are_left_out_are_named(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, first_call_seconds=0, is_unattended=True)
        live = factory.create(server_program("stuck", "hangs"))
        live.servers.start(lambda: None)
        await live.servers.wait_ready()
        expected = session_servers.LATE.format(seconds=0, names="stuck")
        assert expected in live.notices
        missing = UnavailableServer("stuck", session_servers.NOT_CONNECTED_YET)
        assert live.servers.unavailable() == (missing,)
        await live.servers.close()


async def test_a_late_server_is_reported_and_added_at_the_next_rebuild(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, first_call_seconds=0)
        live = factory.create(server_program("s"))
        live.servers.start(lambda: None)
        await live.servers.wait_ready()
        assert live.tool_names() == []
        await live.wait_for_description("connected")
        (notice,) = live.servers.take_notices()
        assert "new or changed: s__echo, s__env" in notice
        await live.servers.refresh_tools()
        assert "s__echo" in live.tool_names()
        await live.servers.close()


async def test_two_sessions_have_separate_processes_that_end_with_them(
    tmp_path: Path,
) -> None:
    logs = [tmp_path / "told-1", tmp_path / "told-2"]
    first, second = (server_program("s", "child", environment={"TOLD": str(each)}) for each in logs)

    def living() -> str:
        return str([len(running_processes(each)) for each in logs])

    async with open_factory(tmp_path) as factory:
        async with factory.open_servers(first) as live:
            async with factory.open_servers(second) as other:
                assert (await other.call("s__echo", {"text": "2"})).text == "2"
                assert living() == "[2, 2]"
            await wait_for_text(living, "[2, 0]")
            assert (await live.call("s__echo", {"text": "1"})).text == "1"
        await wait_for_text(living, "[0, 0]")


async def test_servers_of_an_untrusted_workspace_are_listed_and_started_once_trusted(
    tmp_path: Path,
) -> None:
    log = tmp_path / "told"
    own = server_program("own")
    entry: JsonValue = {"command": own.command, "args": [*own.args], "env": {"TOLD": str(log)}}
    async with open_factory(tmp_path) as factory:
        live = factory.create()
        live.servers.start(lambda: None)
        found = await live.servers.register({"own": entry, "odd": {"url": 5}})
        assert [each.phrase.split(" (runs ")[0] for each in found.servers] == ["the MCP server own"]
        assert [each.split(": ")[0] for each in found.problems] == [
            "the workspace's MCP server odd"
        ]
        await live.servers.wait_ready()
        assert SERVER_OF_UNTRUSTED_WORKSPACE in live.servers.describe()
        assert not log.exists()

        live.servers.start_registered([each.digest for each in found.servers])
        await live.servers.wait_ready()
        assert "own__echo" in live.tool_names()
        assert live.servers.take_notices() == ()
        await live.servers.close()


async def test_a_session_without_servers_waits_for_nothing(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers() as live:
        assert (live.tool_names(), live.servers.take_notices()) == ([], ())
        assert live.servers.describe() == NO_SERVERS


async def test_closing_leaves_no_open_descriptors(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        async with factory.open_servers(server_program("s")):
            pass
        before = psutil.Process().num_fds()
        async with factory.open_servers(
            server_program("s"), server_program("stuck", "leaves-at-once")
        ):
            pass
        after = psutil.Process().num_fds()

    assert after == before
