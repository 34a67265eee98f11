"""What a person sees of a run while it goes on."""

from acp_server.headless.run.denials import Denial, EffectTarget
from acp_server.headless.run.feeds import ProgressFeed
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import Content, ToolCallStatus, ToolKind
from acp_server.protocol.updates import ToolCallProgress, ToolCallStart


def call_started(call_id: str, title: str, kind: ToolKind) -> ToolCallStart:
    return ToolCallStart(tool_call_id=call_id, title=title, kind=kind, status="pending")


def call_progress(call_id: str, status: ToolCallStatus, text: str = "") -> ToolCallProgress:
    content = (Content(content=TextContent(text=text)),) if text else None
    return ToolCallProgress(tool_call_id=call_id, status=status, content=content)


def feed_into(lines: list[str]) -> ProgressFeed:
    return ProgressFeed(lambda line, _: lines.append(line), OutputSanitizer(()))


async def test_long_running_calls_are_also_reported_when_they_start() -> None:
    lines: list[str] = []
    feed = feed_into(lines)
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


async def test_a_failed_call_is_shown_with_its_reason() -> None:
    lines: list[str] = []
    feed = feed_into(lines)
    output = "```\nrunning\nmake: *** [test] Error 1\n```\n[exit code 2]"
    for update in (
        call_started("a", "Read a.py", "read"),
        call_started("b", "`make test`", "execute"),
        call_progress("a", "failed", "a.py does not exist\nuse search_files"),
        call_progress("b", "failed", output),
    ):
        await feed.show(update)
    assert lines == [
        "read: Read a.py: failed: a.py does not exist",
        "execute: `make test`: failed: make: *** [test] Error 1 [exit code 2]",
    ]


async def test_a_denied_call_is_shown_once() -> None:
    lines: list[str] = []
    feed = feed_into(lines)
    await feed.show(call_started("a", "`make`", "execute"))
    target = EffectTarget("run", "make")
    await feed.deny(Denial("a", "terminal", (target,), "not allowed; go on", "terminal(make)"))
    await feed.show(call_progress("a", "failed", "not allowed; go on"))
    assert lines == ["denied: run make: not allowed; allow it with --allow 'terminal(make)'"]


async def test_the_calls_of_mcp_servers_are_labelled_so() -> None:
    lines: list[str] = []
    feed = feed_into(lines)
    start = call_started("a", "library: find", "other").model_copy(update={"name": "library__find"})
    for update in (
        start,
        call_progress("a", "completed"),
        call_started("b", "Wait", "other"),
        call_progress("b", "completed"),
    ):
        await feed.show(update)
    assert lines == ["mcp: library: find: done", "other: Wait: done"]
