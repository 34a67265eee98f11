"""The feed of a run receives each denial of its result, however the run ends."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
from typing_extensions import override

from acp_server.config import settings
from acp_server.headless.run.denials import Denial
from acp_server.headless.run.feeds import RunFeed
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.runner import HeadlessRun
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

CALL_SCRIPT = """\
prompt: *
call: terminal
  command: make deploy
step:
"""


@dataclass
class SlowFeed(RunFeed):
    """Feed that takes a while for a denial, as with a slow reader."""

    denial_started: anyio.Event = field(default_factory=anyio.Event)
    denied_tools: list[str] = field(default_factory=list[str])

    @override
    async def deny(self, denial: Denial) -> None:
        self.denial_started.set()
        await anyio.sleep(0.2)
        self.denied_tools.append(denial.tool)


def make_run(folder: Path, feed: SlowFeed, script: str) -> HeadlessRun:
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir()
    workspace.mkdir()
    file = folder / "test.script"
    file.write_text(script, encoding="utf-8")
    configuration = settings.load({"--model": f"scripted:{file}"}, {"HERMES_HOME": str(home)})
    return HeadlessRun(RunRequest("Deploy", workspace.resolve(), configuration), feed)


async def test_a_turn_that_ends_while_a_denial_is_reported_does_not_lose_it(
    tmp_path: Path,
) -> None:
    feed = SlowFeed()
    report = await make_run(tmp_path, feed, f"{CALL_SCRIPT}say: I cannot.\n").execute()
    assert [each.tool for each in report.denials] == feed.denied_tools == ["terminal"]


async def test_a_run_that_is_cancelled_while_a_denial_is_reported_does_not_lose_it(
    tmp_path: Path,
) -> None:
    feed = SlowFeed()
    run = make_run(tmp_path, feed, f"{CALL_SCRIPT}pause: 60s\nsay: I cannot.\n")
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.execute)
            await feed.denial_started.wait()
            tasks.cancel_scope.cancel()
    assert [each.tool for each in run.report.denials] == feed.denied_tools == ["terminal"]
