"""Replays what sub-agents wrote, from the messages that are stored of their conversations."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from acp_server.session.ports.archive import CallRecord, Entry, TaskMessage
from acp_server.turn.conversation import AssistantMessage, Text, Thinking, ToolCall
from acp_server.turn.events import (
    MessageChunk,
    SubAgentEnded,
    SubAgentEvent,
    SubAgentProgressed,
    SubAgentStarted,
    ThoughtChunk,
    sub_agent_call_prefix,
    sub_agent_number,
)

TaskKey = tuple[str, int]
"""The delegating call, and the 1-based number of the task."""


class ReplayedSubAgents:
    """The sub-agents of a stored session: their starts, texts and ends, in the shown order."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._messages: dict[TaskKey, list[TaskMessage]] = {}
        self._states: dict[TaskKey, JsonValue] = {}
        self._callers: dict[str, TaskMessage] = {}
        """The message that makes a call, by the call's id in the session."""
        self._shown: dict[TaskKey, int] = {}
        """How many messages of a task were replayed."""
        self._is_shown = bool(entries)
        for entry in entries:
            if isinstance(entry, TaskMessage):
                self._add(entry)
            elif isinstance(entry, CallRecord):
                self._add_states(entry)

    def _add(self, entry: TaskMessage) -> None:
        key = entry.call_id, entry.number
        self._messages.setdefault(key, []).append(entry)
        if isinstance(entry.message, AssistantMessage):
            prefix = sub_agent_call_prefix(*key)
            calls = (part for part in entry.message.parts if isinstance(part, ToolCall))
            self._callers.update({f"{prefix}{call.id}": entry for call in calls})

    def _add_states(self, record: CallRecord) -> None:
        tasks = (record.state.raw_output or {}).get("tasks")
        for each in tasks if isinstance(tasks, list) else ():
            if isinstance(each, dict) and isinstance(number := each.get("task"), int):
                self._states[record.appeared.call_id, number] = each.get("state")

    def before(self, entry: Entry) -> Iterator[SubAgentEvent]:
        """Yield what was shown before an entry: the texts up to the message that it belongs to."""
        if not self._is_shown:
            return
        # A call is stored when it appears, and the message that makes it only afterwards.
        if isinstance(entry, CallRecord):
            call_id, parent_id = entry.appeared.call_id, entry.appeared.parent_id
            if parent_id:  # a fork has the calls without the messages
                yield from self._start((parent_id, sub_agent_number(call_id, parent_id)))
            entry = self._callers.get(call_id, entry)
        if isinstance(entry, TaskMessage):
            key = entry.call_id, entry.number
            yield from self._start(key)
            first, last = self._shown[key], self._messages[key].index(entry)
            for index in range(first, last + 1):
                yield from _texts(key, index, self._messages[key][index])
            self._shown[key] = max(first, last + 1)

    def _start(self, key: TaskKey) -> Iterator[SubAgentEvent]:
        if key not in self._shown:
            self._shown[key] = 0
            messages = self._messages.get(key, ())
            parts = messages[0].message.parts if messages else ()
            prompt = "".join(part.text for part in parts if isinstance(part, Text))
            first_line = prompt.strip().partition("\n")[0]
            yield SubAgentStarted(*key, f"task {key[1]}: {first_line}".rstrip(": "), prompt)

    def ends(self) -> Iterator[SubAgentEvent]:
        """Yield the end of each sub-agent; one that was cut off counts as cancelled."""
        for key in self._shown:
            match self._states.get(key):
                case ("done" | "stopped" | "failed") as state:
                    yield SubAgentEnded(*key, state)
                case _:
                    yield SubAgentEnded(*key, "cancelled")


def _texts(key: TaskKey, index: int, entry: TaskMessage) -> Iterator[SubAgentEvent]:
    """Yield a message's texts and thoughts; what a sub-agent receives is not shown."""
    if not isinstance(entry.message, AssistantMessage):
        return
    for number, part in enumerate(entry.message.parts):
        message_id = f"{sub_agent_call_prefix(*key)}{index}.{number}"
        if isinstance(part, Text):
            yield SubAgentProgressed(*key, MessageChunk(message_id, part.text))
        elif isinstance(part, Thinking) and part.text:
            yield SubAgentProgressed(*key, ThoughtChunk(message_id, part.text))
