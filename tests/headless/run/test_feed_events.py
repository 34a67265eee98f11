"""The feed of a run receives the denials and messages of its result, however the run ends."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from typing_extensions import override

from acp_server.config import settings
from acp_server.headless.run.denials import Denial
from acp_server.headless.run.feeds import RunFeed
from acp_server.headless.run.lines import OutputLines
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.runner import HeadlessRun
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.headless.run.stream import StreamFeed
from acp_server.headless.updates import Update
from acp_server.protocol.content import TextContent
from acp_server.protocol.updates import AgentMessageChunk
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


class ObservedStreamFeed(StreamFeed):
    """`stream-json` output on a pipe, with an event for the first chunk of a message."""

    def __init__(self, writer: int) -> None:
        super().__init__(OutputLines(writer), OutputSanitizer(()))
        self.message_started = anyio.Event()

    @override
    async def show(self, update: Update) -> None:
        await super().show(update)
        if isinstance(update, AgentMessageChunk):
            self.message_started.set()


def make_run(folder: Path, feed: RunFeed, script: str) -> HeadlessRun:
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


def written_lines(reader: int, writer: int) -> list[str]:
    """Close both ends of a pipe and return the lines that were written to it."""
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        return stream.read().splitlines()


async def test_a_message_that_a_cancel_overtakes_is_written() -> None:
    reader, writer = os.pipe()
    feed = StreamFeed(OutputLines(writer), OutputSanitizer(()))
    with anyio.CancelScope() as scope:
        await feed.show(AgentMessageChunk(content=TextContent(text="I look."), message_id="1"))
        scope.cancel()
        await feed.show(AgentMessageChunk(content=TextContent(text="Done."), message_id="2"))
        await feed.end()
    assert written_lines(reader, writer) == [
        '{"type": "message", "text": "I look."}',
        '{"type": "message", "text": "Done."}',
    ]


async def test_a_cancelled_run_writes_the_message_that_was_being_streamed(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    feed = ObservedStreamFeed(writer)
    run = make_run(tmp_path, feed, "prompt: *\nsay: Looking\npause: 60s\nsay: never\n")
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.execute)
            await feed.message_started.wait()
            tasks.cancel_scope.cancel()
    assert written_lines(reader, writer)[-1] == '{"type": "message", "text": "Looking"}'
