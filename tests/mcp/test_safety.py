"""What outlives us, and what is not imported before it is needed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.mcp.office import PATIENCE_SECONDS, building, program, until

ROOT = Path(__file__).parents[2]
SESSION = """
import sys
from pathlib import Path
import anyio
from tests.mcp.office import building, program

async def main():
    folder = Path(sys.argv[1])
    async with building(folder) as house:
        server = program("s", "child", environment={"TOLD": str(folder / "told")})
        async with house.opened(server):
            print("open", flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""
UNUSED = """
import sys
import acp_server.mcp.servers, acp_server.mcp.loading, acp_server.mcp.configuration
print(sorted({"mcp", "mcp_types", "httpx2"} & set(sys.modules)))
"""


def open_and_kill(folder: Path) -> None:
    """Open a session in a process of its own, and kill that while its server runs."""
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert session.stdout is not None
        assert session.stdout.readline() == "open\n"
    finally:
        session.kill()
        session.communicate()


async def test_servers_end_when_we_are_killed(tmp_path: Path) -> None:
    open_and_kill(tmp_path)
    lines = (tmp_path / "told").read_text().splitlines()
    started = [int(line.split()[1]) for line in lines if line.startswith("process")]

    assert len(started) == 2
    await until(lambda: " ".join(_state(number) for number in started), "gone gone")


def _state(number: int) -> str:
    try:
        is_gone = psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return "gone"
    return "gone" if is_gone else "there"


async def test_one_that_ignores_all_is_ended_by_force(tmp_path: Path) -> None:
    told = tmp_path / "told"
    server = program("s", "stays", environment={"TOLD": str(told)})
    async with building(tmp_path) as house, house.opened(server) as office:
        await office.call("s__echo")
    (number,) = [int(line.split()[1]) for line in told.read_text().splitlines()[:1]]

    assert _state(number) == "gone"


async def test_one_that_is_killed_from_outside_comes_back(tmp_path: Path) -> None:
    told = tmp_path / "told"
    server = program("s", environment={"TOLD": str(told)})
    async with building(tmp_path) as house, house.opened(server) as office:
        os.kill(int(told.read_text().split()[1]), signal.SIGKILL)
        await until(lambda: str(told.read_text().count("process")), "2")
        assert (await office.call("s__echo", {"text": "back"})).text == "back"


def test_the_sdk_is_not_imported_with_the_room() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", UNUSED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )

    assert ran.stdout == "[]\n"
