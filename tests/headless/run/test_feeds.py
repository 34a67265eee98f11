"""What a person sees of a run while it goes on."""

from acp_server.headless.run.feeds import ProgressFeed
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.protocol.tool_calls import ToolCallStatus, ToolKind
from acp_server.protocol.updates import ToolCallProgress, ToolCallStart


def call_started(call_id: str, title: str, kind: ToolKind) -> ToolCallStart:
    return ToolCallStart(tool_call_id=call_id, title=title, kind=kind, status="pending")


def call_progress(call_id: str, status: ToolCallStatus) -> ToolCallProgress:
    return ToolCallProgress(tool_call_id=call_id, status=status)


async def test_long_running_calls_are_also_reported_when_they_start() -> None:
    lines: list[str] = []
    feed = ProgressFeed(lambda line, _: lines.append(line), OutputSanitizer(()))
    for update in (
        call_started("a", "Read a.py", "read"),
        call_started("b", "`make\x1b[2J test`", "execute"),
        call_progress("a", "in_progress"),
        call_progress("b", "in_progress"),
        call_progress("b", "in_progress"),
        call_progress("a", "completed"),
        call_progress("b", "failed"),
    ):
        await feed.show(update)
    assert lines == [
        "execute: `make test`: started",
        "read: Read a.py: done",
        "execute: `make test`: failed",
    ]
