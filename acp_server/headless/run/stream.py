"""`stream-json` format: the events of a run, one JSON object per line, the result last.

The event types are documented in docs/headless.md; readers must ignore unknown types.
"""

from collections.abc import Iterator, Mapping

import anyio
from pydantic import JsonValue

from acp_server.headless.run.denials import Denial
from acp_server.headless.run.feeds import RunFeed
from acp_server.headless.run.lines import OutputLines, json_line
from acp_server.headless.run.report import RESULT_VERSION, RunReport, target_as_json
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.headless.tool_call_state import RunningToolCalls, ToolCallState
from acp_server.headless.updates import Update
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import Diff
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    CompactionUpdate,
    CurrentModeUpdate,
    Notice,
    Plan,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)
from acp_server.text.json_values import map_strings

Json = dict[str, JsonValue]
MAX_TEXT_CHARACTERS = 20_000


def cut_texts(value: JsonValue) -> JsonValue:
    """Return a JSON value with long texts cut, such as the content of a file that is written."""
    return map_strings(value, lambda text: text[:MAX_TEXT_CHARACTERS])


class StreamFeed(RunFeed):
    """Feed that writes events as JSON lines; a message is written when it is complete."""

    def __init__(self, lines: OutputLines, cleaner: OutputSanitizer) -> None:
        self._lines = lines
        self._cleaner = cleaner
        self._message: tuple[str, str | None] = ("", None)
        """Type and id of the message or thought that is being streamed."""
        self._parts: list[str] = []
        """Its text so far."""
        self._calls = RunningToolCalls()

    async def begin(self, report: RunReport) -> None:
        """Write the `run` event."""
        await self._write(
            {
                "type": "run",
                "version": RESULT_VERSION,
                "session_id": report.saved_session_id or None,
            }
        )

    async def show(self, update: Update) -> None:
        """Write the events of an update, if it has any."""
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            type_ = "message" if isinstance(update, AgentMessageChunk) else "thought"
            if (type_, update.message_id) != self._message:
                await self.end()
                self._message = type_, update.message_id
            if isinstance(update.content, TextContent):
                self._parts.append(update.content.text)
            return
        await self.end()
        for event in self._events(update):
            await self._write(event)

    async def deny(self, denial: Denial) -> None:
        """Write a `denied` event."""
        await self.end()
        await self._write(
            {
                "type": "denied",
                "id": denial.call_id,
                "tool": denial.tool,
                "targets": [target_as_json(each) for each in denial.targets],
                "reason": denial.reason,
                "allow": denial.allow_rule or None,
            }
        )

    async def end(self) -> None:
        """Write the pending message."""
        text = "".join(self._parts)
        self._parts.clear()
        if text:
            await self._write({"type": self._message[0], "text": text})

    async def _write(self, event: Json) -> None:
        # Shielded: the event is in no buffer any more, so a cancelled write would lose it.
        with anyio.CancelScope(shield=True):
            await self._lines.write(json_line(self._cleaner.json(event)))

    def _events(self, update: Update) -> Iterator[Json]:
        match update:
            case ToolCallStart() | ToolCallProgress():
                state = self._calls.apply(update, anyio.current_time())
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
        self, call_id: str, state: ToolCallState, update: ToolCallStart | ToolCallProgress
    ) -> Iterator[Json]:
        """Yield events for the start and end of a call; intermediate updates are not written."""
        if not state.is_start_shown and state.status != "pending":
            state.is_start_shown = True
            yield {
                "type": "tool_call",
                "id": call_id,
                "title": state.title,
                "kind": state.kind,
                "paths": [each.path for each in state.locations],
                "input": cut_texts(state.raw_input),
            }
        if state.has_ended:
            output = update.raw_output if isinstance(update.raw_output, Mapping) else {}
            yield {
                "type": "tool_result",
                "id": call_id,
                "status": state.status,
                "files": [each.path for each in state.content if isinstance(each, Diff)],
                "text": state.text[:MAX_TEXT_CHARACTERS],
                "output": dict(output),
            }
