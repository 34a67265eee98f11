"""The lives of servers: hung, mute, crashed, lost and found again, left out, shared by name."""

from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest
from pydantic import JsonValue

from acp_server.mcp.tool_names import MOST_CHARACTERS
from acp_server.session.ports.mcp import NONE
from acp_server.session.ports.mcp_configs import Patience, ProcessServer
from tests.mcp.live_servers import QUICK, building, program, until
from tests.support.timeouts import PATIENCE_SECONDS


def processes(told: Path) -> list[int]:
    """The processes that a server has told of, and that live."""
    numbers = [int(line.split()[1]) for line in told.read_text().splitlines() if "process" in line]
    return [number for number in numbers if _lives(number)]


def _lives(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_one_that_hangs_holds_up_neither_the_first_call_nor_the_others(
    tmp_path: Path,
) -> None:
    async with building(tmp_path) as house:
        house.limits = replace(QUICK, first_call_seconds=0.1)
        stuck = replace(program("stuck", "hangs"), patience=Patience(connect_seconds=0.4))
        office = house.office(stuck, program("well"))
        office.servers.begin()
        assert office.servers.tools() == ()
        await office.until("): connected")
        with anyio.fail_after(PATIENCE_SECONDS):
            await office.servers.ready()
        assert {name.split("__")[0] for name in office.names()} == {"well"}
        page = await office.until("did not introduce itself within 0.4 s")
        assert "**stuck** (process `python" in page
        await office.servers.close()


async def test_garbage_between_messages_disturbs_nothing_and_is_shown(tmp_path: Path) -> None:
    server = program("s", "prints-garbage")
    async with building(tmp_path) as house, house.opened(server) as office:
        assert (await office.call("s__echo", {"text": "hello"})).text == "hello"
        assert "starting up, please wait…" in office.servers.description()


async def test_two_hundred_tools_are_all_offered(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("s", "many")) as office:
        assert office.names() == [f"s__tool_{number}" for number in range(200)]


async def test_names_that_clash_are_told_apart_in_the_same_way_every_time(tmp_path: Path) -> None:
    names: list[list[str]] = []
    for _ in range(2):
        async with building(tmp_path) as house, house.opened(program("s", "clashes")) as office:
            names.append(office.names())
            assert (
                "a_b: its name is missing, too long or already used" in office.servers.description()
            )

    assert names[0] == names[1]
    assert len(set(names[0])) == 5
    assert {"s__a_b", "s__read_file"} <= set(names[0])
    assert max(map(len, names[0])) <= MOST_CHARACTERS


async def test_a_broken_tool_is_left_out_and_costs_no_other(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("s", "bad-schemas")) as office:
        page = office.servers.description()
        specs = {tool.spec.name: tool.spec.schema for tool in office.servers.tools()}

    assert specs == {
        "s__without": {"type": "object", "properties": {}},
        "s__mended": {"type": "object", "properties": {"n": {}}},
    }
    assert "- skipped: text: its input schema is not an object" in page
    assert "- skipped: unspeakable: its argument name 'a b' is invalid" in page


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        pytest.param(program("s", "leaves-at-once"), "no configuration found", id="it leaves"),
        pytest.param(
            ProcessServer("s", "no-such-program"),
            "there is no program `no-such-program` on the PATH",
            id="there is no such program",
        ),
        pytest.param(
            ProcessServer("s", "/bin/cat", cwd=Path("/no/such/folder")),
            "it cannot be started",
            id="there is no such folder",
        ),
    ],
)
async def test_one_that_does_not_start_says_why(
    tmp_path: Path, server: ProcessServer, problem: str
) -> None:
    async with building(tmp_path) as house, house.opened(server) as office:
        page = await office.until("failed")
        assert problem in page
        assert office.names() == []


async def test_after_a_crash_it_is_connected_again_and_a_call_meanwhile_waits(
    tmp_path: Path,
) -> None:
    server = program("s", environment={"API_KEY": "abc-secret"})
    async with building(tmp_path) as house, house.opened(server) as office:
        crashed = await office.call("s__crash")
        again = await office.call("s__echo", {"text": "hello"})
        page = office.servers.description()

    assert (crashed.text, crashed.is_error) == ("MCP server s: the connection is lost", True)
    assert (again.text, again.is_error) == ("hello", False)
    assert "about to crash with [hidden]" in page
    assert "abc-secret" not in page


async def test_one_that_crashes_again_and_again_is_given_up_and_tried_at_a_rebuild(
    tmp_path: Path,
) -> None:
    async with building(tmp_path) as house:
        house.limits = replace(QUICK, backoff_seconds=(0.01,))
        async with house.opened(program("s", "crashes-on")) as office:
            for _ in range(2):
                assert "the connection is lost" in (await office.call("s__echo")).text
            await office.until("failed")
            lost = await office.call("s__echo")
            assert office.servers.news() == (
                'The MCP server "s" is lost: calls of its tools fail for now.',
            )
            await office.servers.rebuild()
            assert "): connected" in office.servers.description()
            assert office.servers.news() == ()

    assert lost.text == (
        "MCP server s: the server is not connected: the connection was lost; /mcp shows more"
    )


async def test_no_answer_in_time_is_a_failed_call_and_the_server_is_told(tmp_path: Path) -> None:
    told = tmp_path / "told"
    server = program("s", environment={"TOLD": str(told)})
    async with building(tmp_path) as house:
        house.limits = replace(QUICK, call_seconds=0.2)
        async with house.opened(server) as office:
            outcome = await office.call("s__slow")
            await until(told.read_text, "stopped")

    assert outcome.is_error
    assert outcome.text.startswith("MCP server s: no answer within 0.2 s; it was told to stop")


async def test_a_changed_list_is_told_and_enters_at_the_next_rebuild(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("s")) as office:
        before = office.names()
        await office.call("s__grow")
        await office.until(f"{len(before) + 1} tools")
        assert office.names() == before
        (news,) = office.servers.news()
        assert news == (
            'The tools of the MCP server "s" are others now (new or changed: s__grown). You can '
            "use them as they are now once your tools are rebuilt; the user can have that done "
            "with /reload."
        )
        assert office.servers.news() == ()
        await office.servers.rebuild()
        assert office.names() == [*before, "s__grown"]
        assert office.servers.news() == ()


async def test_of_tools_that_a_project_leaves_out_there_is_no_news(tmp_path: Path) -> None:
    async with building(tmp_path) as house:
        house.limits = replace(QUICK, backoff_seconds=())
        async with house.opened(program("s")) as office:
            before = len(office.names())
            await office.call("s__grow")
            await office.until(f"{before + 1} tools")
            assert office.servers.news({"s__echo"}) == ()
            await office.call("s__crash")
            await office.until("failed")
            assert office.servers.news({"read_file"}) == ()


async def test_one_that_comes_late_is_told_and_enters_at_the_next_rebuild(tmp_path: Path) -> None:
    async with building(tmp_path) as house:
        house.limits = replace(QUICK, first_call_seconds=0)
        office = house.office(program("s"))
        office.servers.begin()
        await office.servers.ready()
        assert office.names() == []
        await office.until("connected")
        (news,) = office.servers.news()
        assert "new or changed: s__echo, s__env" in news
        await office.servers.rebuild()
        assert "s__echo" in office.names()
        await office.servers.close()


async def test_two_sessions_have_processes_of_their_own_which_end_with_them(
    tmp_path: Path,
) -> None:
    told = [tmp_path / "told-1", tmp_path / "told-2"]
    first, second = (program("s", "child", environment={"TOLD": str(each)}) for each in told)

    def living() -> str:
        return str([len(processes(each)) for each in told])

    async with building(tmp_path) as house:
        async with house.opened(first) as office:
            async with house.opened(second) as other:
                assert (await other.call("s__echo", {"text": "2"})).text == "2"
                assert living() == "[2, 2]"
            await until(living, "[2, 0]")
            assert (await office.call("s__echo", {"text": "1"})).text == "1"
        await until(living, "[0, 0]")


async def test_what_an_untrusted_workspace_brings_is_listed_and_started_once_it_is_trusted(
    tmp_path: Path,
) -> None:
    told = tmp_path / "told"
    own = program("own")
    entry: JsonValue = {"command": own.command, "args": [*own.args], "env": {"TOLD": str(told)}}
    async with building(tmp_path) as house:
        office = house.office()
        office.servers.begin()
        found = office.servers.bring({"own": entry, "odd": {"url": 5}})
        assert [each.split(" (runs ")[0] for each in found.servers] == ["own"]
        assert [each.split(": ")[0] for each in found.problems] == [
            "the workspace's MCP server odd"
        ]
        await office.servers.ready()
        assert "not started: this workspace configures it" in office.servers.description()
        assert not told.exists()

        office.servers.admit()
        await office.servers.ready()
        assert "own__echo" in office.names()
        assert office.servers.news() == ()
        await office.servers.close()


async def test_a_session_without_servers_has_nothing_to_wait_for(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened() as office:
        assert (office.names(), office.servers.news()) == ([], ())
        assert office.servers.description() == NONE


async def test_closing_leaves_no_open_descriptor_behind(tmp_path: Path) -> None:
    async with building(tmp_path) as house:
        async with house.opened(program("s")):
            pass
        before = psutil.Process().num_fds()
        async with house.opened(program("s"), program("stuck", "leaves-at-once")):
            pass
        after = psutil.Process().num_fds()

    assert after == before
