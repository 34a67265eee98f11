"""What a person sees of a run while it goes on."""

from acp_server.headless.run.feeds import ProgressFeed
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.protocol.tool_calls import ToolCallStatus, ToolKind
from acp_server.protocol.updates import ToolCallProgress, ToolCallStart


def begun(call_id: str, title: str, kind: ToolKind) -> ToolCallStart:
    return ToolCallStart(tool_call_id=call_id, title=title, kind=kind, status="pending")


def now(call_id: str, status: ToolCallStatus) -> ToolCallProgress:
    return ToolCallProgress(tool_call_id=call_id, status=status)


async def test_long_running_calls_are_also_reported_when_they_start() -> None:
    lines: list[str] = []
    feed = ProgressFeed(lambda line, _: lines.append(line), OutputSanitizer(()))
    for update in (
        begun("a", "Read a.py", "read"),
        begun("b", "`make\x1b[2J test`", "execute"),
        now("a", "in_progress"),
        now("b", "in_progress"),
        now("b", "in_progress"),
        now("a", "completed"),
        now("b", "failed"),
    ):
        await feed.show(update)
    assert lines == [
        "execute: `make test`: started",
        "read: Read a.py: done",
        "execute: `make test`: failed",
    ]
