"""Replays a stored session, and repairs its conversation if the process ended mid-turn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acp_server.session.commands.markdown import fenced_block
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    RemovedMessages,
    SeenFile,
    StoredSession,
    TerminalRecord,
    UnshownRecord,
)
from acp_server.session.replayed_sub_agents import ReplayedSubAgents
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CallContent,
    CompactionChanged,
    Event,
    MessageChunk,
    PromptReceived,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    TerminalView,
)

ReplayedEvent = Event | PromptReceived

INTERRUPTED = "The server ended before this had finished"
NO_ANSWER = f"(There was no answer: {INTERRUPTED[0].lower()}{INTERRUPTED[1:]})"


def replay_events(
    stored: StoredSession, *, shows_terminals: bool, shows_sub_agents: bool = False
) -> Iterator[ReplayedEvent]:
    """Yield the shown events in their original order, without those that a rewind removed.

    Terminal output is replayed as a terminal if the client renders terminals, otherwise as text.
    """
    entries = _remaining_entries(stored.entries)
    sub_agents = ReplayedSubAgents(entries if shows_sub_agents else ())
    results = _result_texts(stored.messages)
    ended = {each.compaction_id for each in stored.entries if isinstance(each, CompactionChanged)}
    for entry in entries:
        yield from sub_agents.before(entry)
        if isinstance(entry, CallRecord):
            yield from _call_events(entry, results, shows_terminals=shows_terminals)
        elif isinstance(entry, SummaryChunk):
            yield from _summary_events(entry, is_ended=entry.compaction_id in ended)
        elif not isinstance(entry, UnshownRecord):
            yield entry
    yield from sub_agents.ends()


def _remaining_entries(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries of the conversation as it is: rewinds remove some and bring them back."""
    remaining: list[Entry] = []
    removed: dict[str, Sequence[Entry]] = {}
    for entry in entries:
        if not isinstance(entry, RemovedMessages):
            remaining.append(entry)
            continue
        remaining += removed.pop(entry.checkpoint, ())
        start = _find_prompt(remaining, _target_of(entry))
        if start is not None:
            removed[entry.checkpoint] = remaining[start:]
            del remaining[start:]
    return remaining


def _target_of(record: RemovedMessages) -> str:
    """Return the checkpoint of the first removed prompt, which earlier versions did not record."""
    if record.target or not record.messages:
        return record.target
    first = record.messages[0]
    return first.checkpoint if isinstance(first, UserMessage) else ""


def _find_prompt(entries: Sequence[Entry], checkpoint: str) -> int | None:
    """Return the index of the prompt with a checkpoint; prompts of old versions name none."""
    for index, entry in enumerate(entries):
        if isinstance(entry, PromptReceived) and checkpoint and entry.checkpoint == checkpoint:
            return index
    return None


def seen_files_of(stored: StoredSession) -> Sequence[SeenFile]:
    """Return what the model has seen of files, the latest record of each."""
    latest = {each.path: each for each in stored.entries if isinstance(each, SeenFile)}
    return tuple(latest.values())


def removed_messages_of(stored: StoredSession) -> Mapping[str, tuple[Message, ...]]:
    """Return the messages that rewinds removed and that are not back, by checkpoint."""
    latest = {
        each.checkpoint: each.messages
        for each in stored.entries
        if isinstance(each, RemovedMessages)
    }
    return {checkpoint: messages for checkpoint, messages in latest.items() if messages}


def checkpoints_of(stored: StoredSession) -> Sequence[str]:
    """Return the checkpoints of prompts and of rewinds."""
    named = (each for each in stored.entries if isinstance(each, PromptReceived | RemovedMessages))
    return [each.checkpoint for each in named if each.checkpoint]


def close_open_calls(stored: StoredSession) -> StoredSession:
    """Return the session with all open calls marked as failed."""
    return replace(stored, entries=tuple(_close_call(entry) for entry in stored.entries))


def _close_call(entry: Entry) -> Entry:
    if not isinstance(entry, CallRecord) or entry.state.status in {"completed", "failed"}:
        return entry
    return replace(entry, state=replace(entry.state, status="failed"))


def repair_messages(stored: StoredSession) -> tuple[Message, ...]:
    """Return the conversation in a form that a provider accepts, wherever it was interrupted.

    Calls without results get failed ones. A partial reply is kept; if there is none, a line says
    so.
    """
    messages = stored.messages
    if not messages:
        return ()
    open_calls = _tool_calls(messages[-1])
    if open_calls:
        # Not run again: it is unknown whether the calls took effect before the process died.
        results = tuple(ToolResult(call.id, INTERRUPTED, is_error=True) for call in open_calls)
        return (*messages, UserMessage(results))
    if stored.is_turn_open:
        text = "".join(each.text for each in stored.unfinished if isinstance(each, MessageChunk))
        return (*messages, *_partial_reply(messages[-1], text))
    return messages


def _partial_reply(last: Message, text: str) -> tuple[Message, ...]:
    """Return the partial reply to a user message."""
    # Two assistant messages in a row are invalid for a provider.
    if isinstance(last, AssistantMessage):
        return ()
    return (AssistantMessage((Text(text if text.strip() else NO_ANSWER),)),)


def _tool_calls(message: Message) -> tuple[ToolCall, ...]:
    if isinstance(message, UserMessage):
        return ()
    return tuple(part for part in message.parts if isinstance(part, ToolCall))


def _result_texts(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return the result texts of calls, by call id."""
    parts = (part for message in messages for part in message.parts)
    return {part.call_id: part.text for part in parts if isinstance(part, ToolResult)}


def _summary_events(summary: SummaryChunk, *, is_ended: bool) -> Iterator[Event]:
    """Yield a summary as it was shown; one that did not complete was never used."""
    yield CompactionChanged(summary.compaction_id, "in_progress")
    yield summary
    # The stored end event follows as its own entry, if the compaction reached its end.
    if not is_ended:
        yield CompactionChanged(summary.compaction_id, "cancelled")


def _call_events(
    record: CallRecord, results: Mapping[str, str], *, shows_terminals: bool
) -> Iterator[Event]:
    terminal = record.terminal
    yield record.appeared
    if terminal is not None and shows_terminals:
        yield from _terminal_events(record.appeared, terminal)
        yield record.state
        return
    # A call that was cut off has no result message, at most the output shown so far.
    text = results.get(record.appeared.call_id) or _raw_text(record.state)
    output = terminal.data if terminal is not None else text
    yield replace(record.state, content=_without_terminals(record.state, output))


def _terminal_events(call: CallAppeared, terminal: TerminalRecord) -> Iterator[Event]:
    ids, parent_id = (call.call_id, terminal.terminal_id), call.parent_id
    yield TerminalOpened(*ids, terminal.cwd, parent_id)
    yield TerminalPrinted(*ids, terminal.data, parent_id)
    yield TerminalEnded(*ids, terminal.exit_code, terminal.signal, parent_id)


def _raw_text(state: CallChanged) -> str:
    text = (state.raw_output or {}).get("text")
    return text if isinstance(text, str) else ""


def _without_terminals(state: CallChanged, output: str) -> tuple[CallContent, ...] | None:
    """Return a call's content with terminals, which no longer exist, replaced by text."""
    if state.content is None:
        return None
    # A terminal id from a previous connection means nothing to the client.
    parts = (_as_text(part, output) for part in state.content)
    return tuple(part for part in parts if part is not None)


def _as_text(part: CallContent, output: str) -> CallContent | None:
    if not isinstance(part, TerminalView):
        return part
    return Text(fenced_block(output.rstrip())) if output.strip() else None
