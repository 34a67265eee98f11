"""Replays a stored session, and repairs its conversation if the process ended mid-turn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acp_server.session.commands.markdown import fenced_block
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    HistoryPage,
    Journal,
    RemovedMessages,
    SeenFile,
    SessionState,
    StoredSession,
    TaskMessage,
    TerminalRecord,
    UnshownRecord,
)
from acp_server.session.replayed_ranges import Rewind, replayed_ranges, target_of
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


class Replay:
    """Turns the pages of a session's history back into the events that were shown.

    Terminal output is replayed as a terminal if the client renders terminals, otherwise as text.
    """

    def __init__(
        self,
        messages: Iterable[Message],
        *,
        shows_terminals: bool,
        shows_sub_agents: bool = False,
    ) -> None:
        """Start; `messages` is the conversation, from which some calls get their results."""
        self._messages = messages
        self._results: Mapping[str, str] | None = None
        self._shows_terminals = shows_terminals
        self._sub_agents = ReplayedSubAgents() if shows_sub_agents else None

    def events(self, page: HistoryPage) -> Iterator[ReplayedEvent]:
        """Yield the shown events of the next page, in their original order."""
        if self._sub_agents is not None:
            self._sub_agents.add(page.task_messages)
        for entry in page.entries:
            if self._sub_agents is not None:
                yield from self._sub_agents.before(entry)
            if isinstance(entry, CallRecord):
                yield from self._call_events(entry)
            elif isinstance(entry, SummaryChunk):
                is_ended = entry.compaction_id not in page.cut_summaries
                yield from _summary_events(entry, is_ended=is_ended)
            elif not isinstance(entry, UnshownRecord):
                yield entry

    def ends(self) -> Iterator[ReplayedEvent]:
        """Yield the events behind the last page."""
        if self._sub_agents is not None:
            yield from self._sub_agents.ends()

    def _call_events(self, record: CallRecord) -> Iterator[Event]:
        terminal, content = record.terminal, record.state.content
        yield record.appeared
        if terminal is not None and self._shows_terminals:
            yield from _terminal_events(record.appeared, terminal)
            yield record.state
        elif content is None or not any(isinstance(part, TerminalView) for part in content):
            yield record.state
        else:
            output = self._result_of(record) if terminal is None else terminal.data
            yield replace(record.state, content=_without_terminals(content, output))

    def _result_of(self, record: CallRecord) -> str:
        # At the first use: only calls in a client's own terminal need the conversation.
        if self._results is None:
            parts = (part for message in self._messages for part in message.parts)
            results = (part for part in parts if isinstance(part, ToolResult))
            self._results = {result.call_id: result.text for result in results}
        # A call that was cut off has no result message, at most the output shown so far.
        return self._results.get(record.appeared.call_id) or _raw_text(record.state)


def replay_events(stored: StoredSession, *, shows_terminals: bool) -> Iterator[ReplayedEvent]:
    """Yield the shown events of a whole session, without sub-agents and removed messages."""
    replay = Replay(stored.messages, shows_terminals=shows_terminals)
    yield from replay.events(whole_history(stored))


def whole_history(stored: StoredSession) -> HistoryPage:
    """Return the history of a session as one page."""
    entries = _remaining_entries(stored.entries)
    tasks: dict[str, list[TaskMessage]] = {}
    for entry in entries:
        if isinstance(entry, TaskMessage):
            tasks.setdefault(entry.call_id, []).append(entry)
    ended = {each.compaction_id for each in stored.entries if isinstance(each, CompactionChanged)}
    summaries = {each.compaction_id for each in entries if isinstance(each, SummaryChunk)}
    return HistoryPage(entries, tasks, frozenset(summaries - ended))


def _remaining_entries(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries of the conversation as it is: rewinds remove some and bring them back."""
    rewinds = [
        Rewind(number, entry.checkpoint, target_of(entry))
        for number, entry in enumerate(entries)
        if isinstance(entry, RemovedMessages)
    ]
    if not rewinds:
        return entries
    prompts = [
        (number, entry.checkpoint)
        for number, entry in enumerate(entries)
        if isinstance(entry, PromptReceived)
    ]
    ranges = replayed_ranges(prompts, rewinds, len(entries) - 1)
    return [entry for first, last in ranges for entry in entries[first : last + 1]]


class StateEntries:
    """Collects the state of a session from its entries, in their order."""

    def __init__(self) -> None:
        self.seen_files: dict[str, SeenFile] = {}
        """The latest record of each seen file, by path."""
        self.checkpoints: list[str] = []
        """The checkpoints of prompts and of rewinds."""
        self.removed_messages: dict[str, tuple[Message, ...]] = {}
        """The messages that rewinds removed and that are not back, by checkpoint."""

    def add(self, entry: object) -> None:
        """Take the next entry."""
        if isinstance(entry, SeenFile):
            self.seen_files[entry.path] = entry
        elif isinstance(entry, PromptReceived | RemovedMessages):
            if entry.checkpoint:
                self.checkpoints.append(entry.checkpoint)
            if isinstance(entry, RemovedMessages):
                self.removed_messages.pop(entry.checkpoint, None)
                if entry.messages:
                    self.removed_messages[entry.checkpoint] = entry.messages


def session_state(stored: StoredSession) -> SessionState:
    """Return the state of a session of which everything was read."""
    texts = (each.text for each in stored.unfinished if isinstance(each, MessageChunk))
    collected = StateEntries()
    for entry in stored.entries:
        collected.add(entry)
    return SessionState(
        facts=stored.facts,
        messages=stored.messages,
        is_turn_open=stored.is_turn_open,
        partial_reply="".join(texts),
        seen_files=tuple(collected.seen_files.values()),
        checkpoints=collected.checkpoints,
        removed_messages=collected.removed_messages,
        last_entry=len(stored.entries) - 1,
    )


def record_copy(stored: StoredSession, journal: Journal) -> None:
    """Record a whole session once more, without messages of sub-agents and removed ones."""
    # With terminals: each replay of the copy decides whether its client can show them.
    for event in replay_events(_close_open_calls(stored), shows_terminals=True):
        journal.show(event)
    for message in stored.messages:
        journal.append(message)
    # The copy's conversation is the same, so its model has seen the same files.
    for seen_file in session_state(stored).seen_files:
        journal.show(seen_file)


def _close_open_calls(stored: StoredSession) -> StoredSession:
    entries = (
        close_call(entry) if isinstance(entry, CallRecord) else entry for entry in stored.entries
    )
    return replace(stored, entries=tuple(entries))


def close_call(record: CallRecord) -> CallRecord:
    """Return a call as it is in a copy of its session, where it does not run."""
    if record.state.status in {"completed", "failed"}:
        return record
    return replace(record, state=replace(record.state, status="failed"))


def missing_messages(state: SessionState) -> tuple[Message, ...]:
    """Return the messages without which a provider rejects an interrupted conversation.

    Calls without results get failed ones. A partial reply is kept; if there is none, a line says
    so.
    """
    if not state.messages:
        return ()
    last = state.messages[-1]
    open_calls = _tool_calls(last)
    if open_calls:
        # Not run again: it is unknown whether the calls took effect before the process died.
        results = tuple(ToolResult(call.id, INTERRUPTED, is_error=True) for call in open_calls)
        return (UserMessage(results),)
    return _partial_reply(last, state.partial_reply) if state.is_turn_open else ()


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


def _summary_events(summary: SummaryChunk, *, is_ended: bool) -> Iterator[Event]:
    """Yield a summary as it was shown; one that did not complete was never used."""
    yield CompactionChanged(summary.compaction_id, "in_progress")
    yield summary
    # The stored end event follows as its own entry, if the compaction reached its end.
    if not is_ended:
        yield CompactionChanged(summary.compaction_id, "cancelled")


def _terminal_events(call: CallAppeared, terminal: TerminalRecord) -> Iterator[Event]:
    ids, parent_id = (call.call_id, terminal.terminal_id), call.parent_id
    yield TerminalOpened(*ids, terminal.cwd, parent_id)
    yield TerminalPrinted(*ids, terminal.data, parent_id)
    yield TerminalEnded(*ids, terminal.exit_code, terminal.signal, parent_id)


def _raw_text(state: CallChanged) -> str:
    text = (state.raw_output or {}).get("text")
    return text if isinstance(text, str) else ""


def _without_terminals(content: Sequence[CallContent], output: str) -> tuple[CallContent, ...]:
    """Return a call's content with terminals, which no longer exist, replaced by text."""
    # A terminal id from a previous connection means nothing to the client.
    parts = (_as_text(part, output) for part in content)
    return tuple(part for part in parts if part is not None)


def _as_text(part: CallContent, output: str) -> CallContent | None:
    if not isinstance(part, TerminalView):
        return part
    return Text(fenced_block(output.rstrip())) if output.strip() else None
