"""Processes that do not end by themselves, or that somebody else ends."""

import os
import signal
from pathlib import Path

import psutil

from tests.mcp.live_servers import open_factory, server_program, wait_for_text


def _state(number: int) -> str:
    try:
        is_gone = psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return "gone"
    return "gone" if is_gone else "there"


async def test_an_unresponsive_server_is_killed(tmp_path: Path) -> None:
    server_log = tmp_path / "told"
    server = server_program("s", "stays", environment={"TOLD": str(server_log)})
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        await live.call("s__echo")
    (number,) = [int(line.split()[1]) for line in server_log.read_text().splitlines()[:1]]

    assert _state(number) == "gone"


async def test_a_server_killed_externally_is_restarted(tmp_path: Path) -> None:
    server_log = tmp_path / "told"
    server = server_program("s", environment={"TOLD": str(server_log)})
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        os.kill(int(server_log.read_text().split()[1]), signal.SIGKILL)
        await wait_for_text(lambda: str(server_log.read_text().count("process")), "2")
        assert (await live.call("s__echo", {"text": "back"})).text == "back"
