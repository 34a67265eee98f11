"""Merges events into entries: one record for a call's changes, one for a message's chunks.

Pure; knows no database.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

from acp_server.session.ports.archive import CallRecord, Entry, TerminalRecord
from acp_server.turn.conversation import Message, Text, ToolCall, ToolResult, UserMessage
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    Event,
    MessageChunk,
    PromptReceived,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    ThoughtChunk,
)

_CHUNK = MessageChunk | ThoughtChunk | SummaryChunk

INTERRUPTED_CALL = "The server ended before this call had finished."


def new_call_record(event: CallAppeared) -> CallRecord:
    """Return the record of a new call."""
    return CallRecord(event, CallChanged(event.call_id, parent_id=event.parent_id))


def apply_change(
    record: CallRecord, event: CallChanged | TerminalOpened | TerminalEnded
) -> CallRecord:
    """Return the record with an event applied; of a passing state only title and locations."""
    match event:
        case CallChanged():
            return replace(record, state=_merge_state(record.state, event))
        case TerminalOpened():
            return replace(record, terminal=TerminalRecord(event.terminal_id, event.cwd, ""))
        case TerminalEnded():
            terminal = record.terminal or TerminalRecord(event.terminal_id, "", "")
            ended = replace(terminal, exit_code=event.exit_code, signal=event.signal)
            return replace(record, terminal=ended)


def is_open(record: CallRecord) -> bool:
    """Whether a call has not ended."""
    return record.state.status not in {"completed", "failed"}


def fail_interrupted(record: CallRecord) -> CallRecord:
    """Return the record of a call whose process ended before the call did."""
    content = (*(record.state.content or ()), Text(INTERRUPTED_CALL))
    return replace(record, state=replace(record.state, status="failed", content=content))


def shown_events(messages: Sequence[Message]) -> Iterator[PromptReceived | Event]:
    """Yield what was shown of messages, as far as they tell: texts and calls, without diffs."""
    results = {
        part.call_id: part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    for message in messages:
        message_id = f"msg_{uuid4().hex}"
        if isinstance(message, UserMessage):
            parts = tuple(part for part in message.parts if not isinstance(part, ToolResult))
            if parts:
                yield PromptReceived(message_id, parts, message.checkpoint)
            continue
        for part in message.parts:
            if isinstance(part, Text):
                yield MessageChunk(message_id, part.text)
            elif isinstance(part, ToolCall):
                result = results.get(part.id, ToolResult(part.id, INTERRUPTED_CALL, is_error=True))
                yield CallAppeared(part.id, part.name)
                status = "failed" if result.is_error else "completed"
                yield CallChanged(part.id, status, content=(Text(result.text),))


def merge_chunks(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries with the chunks of each message merged at the position of the first."""
    found: dict[object, Entry] = {}
    chunks: dict[object, list[str]] = {}
    for number, entry in enumerate(entries):
        # By message id, not by neighbourhood: chunks of a message and a thought may alternate.
        if isinstance(entry, _CHUNK):
            is_summary = isinstance(entry, SummaryChunk)
            message_id = entry.compaction_id if is_summary else entry.message_id
            key: object = (type(entry).__name__, message_id)
            found.setdefault(key, entry)
            chunks.setdefault(key, []).append(entry.text)
        else:
            found[number] = entry
    return tuple(
        replace(entry, text="".join(chunks[key])) if isinstance(entry, _CHUNK) else entry
        for key, entry in found.items()
    )


def _merge_state(state: CallChanged, event: CallChanged) -> CallChanged:
    facts = replace(
        state,
        title=state.title if event.title is None else event.title,
        locations=state.locations if event.locations is None else event.locations,
    )
    # Passing states are replaced by the next one; their content must not become part of the record.
    if event.is_passing:
        return facts
    return replace(
        facts,
        status=event.status or state.status,
        content=state.content if event.content is None else event.content,
        raw_input=state.raw_input if event.raw_input is None else event.raw_input,
        raw_output=state.raw_output if event.raw_output is None else event.raw_output,
        instructions=event.instructions or state.instructions,
        permission=state.permission if event.permission is None else event.permission,
    )
