"""Much output and many commands: what it costs, and that nothing of it stays."""

import time
from pathlib import Path

import psutil
import pytest

from acp_server.session.ports.editor import TerminalExit
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.session import CommandResult
from tests.tools.shell.command_session import open_command_session


def open_descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


@pytest.mark.parametrize(
    ("size", "seconds"),
    [
        pytest.param(20_000_000, 2, id="20 MB"),
        pytest.param(100_000_000, 3, id="100 MB", marks=pytest.mark.full),
    ],
)
async def test_large_output_costs_little(tmp_path: Path, size: int, seconds: float) -> None:
    log = OutputLog(20_000, 20_000)
    process = psutil.Process()
    before_bytes = process.memory_info().rss
    most_bytes = 0

    def take(chunk: bytes) -> None:
        nonlocal most_bytes
        log.write(chunk)
        most_bytes = max(most_bytes, process.memory_info().rss)

    async with open_command_session(tmp_path) as session:
        started = time.process_time()
        ended = await session.session.run(f"yes | head -c {size}", tmp_path, take, 60)
        assert time.process_time() - started < seconds
    assert ended == CommandResult(TerminalExit(code=0), timed_out=False)
    assert log.total_bytes == size
    assert f"\n[... {size - 40_000:,} bytes left out ...]\n" in log.text()
    assert most_bytes - before_bytes < 20_000_000


@pytest.mark.parametrize(
    "count", [pytest.param(15, id="15"), pytest.param(1000, id="1000", marks=pytest.mark.full)]
)
async def test_many_commands_leave_nothing_behind(tmp_path: Path, count: int) -> None:
    async with open_command_session(tmp_path) as shell:
        await shell.run("true")
        before = open_descriptors()
        children = {child.pid for child in psutil.Process().children()}
        for number in range(count):
            if number % 25 == 0:
                assert (await shell.run("sleep 60", 0.2)).ended.timed_out
            else:
                outcome = await shell.run(f"exit {number % 7}")
                assert outcome.ended.exit.code == number % 7
        assert open_descriptors() == before
        assert {child.pid for child in psutil.Process().children()} == children
