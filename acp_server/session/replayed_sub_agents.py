"""Replays what sub-agents wrote, from the messages that are stored of their conversations."""

from collections.abc import Iterator, Mapping, Sequence

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
    """The sub-agents of a stored session: their starts, texts and ends, in the shown order.

    Keeps the messages of a task only until all of them were replayed.
    """

    def __init__(self) -> None:
        self._messages: dict[TaskKey, list[TaskMessage]] = {}
        self._callers: dict[str, tuple[TaskKey, int]] = {}
        """The message that makes a call, by the call's id in the session: its task and index."""
        self._states: dict[TaskKey, JsonValue] = {}
        self._passed: dict[TaskKey, int] = {}
        """How many of a task's messages were passed as entries."""
        self._shown: dict[TaskKey, int] = {}
        """How many messages of a task were replayed."""

    def add(self, messages: Mapping[str, Sequence[TaskMessage]]) -> None:
        """Take all messages of tasks that the next entries belong to, by the delegating call."""
        for message in (each for of_call in messages.values() for each in of_call):
            key = message.call_id, message.number
            of_task = self._messages.setdefault(key, [])
            if isinstance(message.message, AssistantMessage):
                prefix = sub_agent_call_prefix(*key)
                calls = (part for part in message.message.parts if isinstance(part, ToolCall))
                place = key, len(of_task)
                self._callers.update({f"{prefix}{call.id}": place for call in calls})
            of_task.append(message)

    def before(self, entry: Entry) -> Iterator[SubAgentEvent]:
        """Yield what was shown before an entry: the texts up to the message that it belongs to."""
        if isinstance(entry, CallRecord):
            self._add_states(entry)
            call_id, parent_id = entry.appeared.call_id, entry.appeared.parent_id
            if parent_id:  # a fork has the calls without the messages
                yield from self._start((parent_id, sub_agent_number(call_id, parent_id)))
            # A call is stored when it appears, and the message that makes it only afterwards.
            caller = self._callers.pop(call_id, None)
            if caller is not None:
                yield from self._show(*caller)
        elif isinstance(entry, TaskMessage):
            key = entry.call_id, entry.number
            index = self._passed.get(key, 0)
            self._passed[key] = index + 1
            yield from self._show(key, index)
            if self._passed[key] == len(self._messages[key]):
                del self._messages[key]

    def _add_states(self, record: CallRecord) -> None:
        tasks = (record.state.raw_output or {}).get("tasks")
        for each in tasks if isinstance(tasks, list) else ():
            if isinstance(each, dict) and isinstance(number := each.get("task"), int):
                self._states[record.appeared.call_id, number] = each.get("state")

    def _show(self, key: TaskKey, last: int) -> Iterator[SubAgentEvent]:
        """Yield the texts of a task that were not replayed yet, up to a message."""
        yield from self._start(key)
        first = self._shown[key]
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
