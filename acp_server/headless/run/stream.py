"""`stream-json`: what happens in a run, an object a line, the result last.

The types and their fields are documented in docs; what is not known there may be passed over.
"""

from collections.abc import Iterator, Mapping

import anyio
from pydantic import JsonValue

from acp_server.headless.call_state import CallState, RunningCalls
from acp_server.headless.run.cleaning import Cleaner
from acp_server.headless.run.denials import Denial
from acp_server.headless.run.lines import Lines, json_line
from acp_server.headless.run.report import Report
from acp_server.headless.run.result import VERSION, target_as_json
from acp_server.headless.updates import Update
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import Content, Diff
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    CompactionUpdate,
    ContentChunk,
    CurrentModeUpdate,
    Notice,
    Plan,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)

Json = dict[str, JsonValue]
MOST_OUTPUT_CHARACTERS = 20_000


class StreamFeed:
    """Writes events as they come; a message is written whole, once it has ended."""

    def __init__(self, lines: Lines, cleaner: Cleaner) -> None:
        self._lines = lines
        self._cleaner = cleaner
        self._said = _Saying()
        self._calls = RunningCalls()
        self._begun: set[str] = set()

    async def begin(self, report: Report) -> None:
        """Write that a session is open."""
        await self._write({"type": "run", "version": VERSION, "session_id": report.session_id})

    async def show(self, update: Update) -> None:
        """Write what an update tells, if that is for a machine."""
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            for event in self._said.take(update):
                await self._write(event)
            return
        await self._end_saying()
        for event in self._events(update):
            await self._write(event)

    async def deny(self, denial: Denial) -> None:
        """Write that something was not let through."""
        await self._end_saying()
        await self._write(
            {
                "type": "denied",
                "id": denial.call_id,
                "tool": denial.tool,
                "targets": [target_as_json(each) for each in denial.targets],
                "reason": denial.reason,
            }
        )

    async def end(self) -> None:
        """Write what is still held back."""
        await self._end_saying()

    async def _end_saying(self) -> None:
        for event in self._said.end():
            await self._write(event)

    async def _write(self, event: Json) -> None:
        await self._lines.write(json_line(self._cleaner.json(event)))

    def _events(self, update: Update) -> Iterator[Json]:
        match update:
            case ToolCallStart() | ToolCallProgress():
                state = self._calls.take(update, anyio.current_time())
                yield from self._call_events(update.tool_call_id, state, update)
            case Plan():
                entries: list[JsonValue] = [
                    {"content": each.content, "status": each.status} for each in update.entries
                ]
                yield {"type": "plan", "entries": entries}
            case Notice():
                yield {"type": "notice", "severity": update.severity, "title": update.title}
            case CurrentModeUpdate():
                yield {"type": "mode", "mode": update.current_mode_id}
            case CompactionUpdate():
                yield {"type": "compaction", "status": update.status}
            case UsageUpdate():
                cost = None if update.cost is None else update.cost.amount
                yield {
                    "type": "usage",
                    "context_tokens": update.used,
                    "window_tokens": update.size,
                    "cost_usd": cost,
                }
            case _:
                return

    def _call_events(
        self, call_id: str, state: CallState, update: ToolCallStart | ToolCallProgress
    ) -> Iterator[Json]:
        """Yield that a call runs, and that it has ended: how it grew is for people."""
        if call_id not in self._begun and state.status != "pending":
            self._begun.add(call_id)
            yield {
                "type": "tool_call",
                "id": call_id,
                "title": state.title,
                "kind": state.kind,
                "paths": [each.path for each in state.locations],
            }
        if state.is_over:
            output = update.raw_output if isinstance(update.raw_output, Mapping) else {}
            yield {
                "type": "tool_result",
                "id": call_id,
                "status": state.status,
                "files": [each.path for each in state.content if isinstance(each, Diff)],
                "text": _text(state)[:MOST_OUTPUT_CHARACTERS],
                "output": dict(output),
            }


class _Saying:
    """A message, or a thought, that is not complete yet."""

    def __init__(self) -> None:
        self._type = ""
        self._id: str | None = None
        self._parts: list[str] = []

    def take(self, chunk: ContentChunk) -> Iterator[Json]:
        """Add a piece; yield what was complete before it."""
        type_ = "message" if isinstance(chunk, AgentMessageChunk) else "thought"
        if (type_, chunk.message_id) != (self._type, self._id):
            yield from self.end()
        self._type, self._id = type_, chunk.message_id
        if isinstance(chunk.content, TextContent):
            self._parts.append(chunk.content.text)

    def end(self) -> Iterator[Json]:
        """Yield what there is, if anything, and begin anew."""
        text = "".join(self._parts)
        self._parts.clear()
        if text:
            yield {"type": self._type, "text": text}


def _text(state: CallState) -> str:
    texts = [each.content for each in state.content if isinstance(each, Content)]
    return "\n".join(text.text for text in texts if isinstance(text, TextContent))
