"""Shows the calls of a sub-agent as calls of its session, with their own ids and the parent's id.

Its texts, its plan and its context usage are no part of the session's: they are shown as the
sub-agent's own, to clients that tell them apart, and noted as progress for all others. Its
summaries are internal.
"""

from dataclasses import dataclass, field, replace
from typing import assert_never

from acp_server.subagents.task import TaskProgress
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CallKind,
    CompactionChanged,
    ContextMeasured,
    Event,
    FileDiff,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    SubAgentEnded,
    SubAgentProgressed,
    SubAgentStarted,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)
from acp_server.turn.ports import TurnSink

MAX_MESSAGE_CHARACTERS = 2_000
"""How much of a message is kept to find its last line."""
COMMAND_TOOL = "terminal"
_EDITS: frozenset[CallKind] = frozenset({"edit", "delete", "move"})


@dataclass(slots=True)
class TaskCallSink:
    """Event sink for the tools of a task, whose calls have session ids already."""

    sink: TurnSink
    parent_id: str
    progress: TaskProgress
    _opened: dict[str, CallAppeared] = field(default_factory=dict[str, CallAppeared], init=False)

    async def emit(self, event: Event) -> None:
        """Show an event that belongs to a call."""
        shown = self._translate(event)
        if shown is not None:
            await self.sink.emit(shown)

    def emit_now(self, event: Event) -> None:
        """Show an event that belongs to a call, even while the turn is being cancelled."""
        shown = self._translate(event)
        if shown is not None:
            self.sink.emit_now(shown)

    def _translate(self, event: Event) -> Event | None:
        match event:
            case CallAppeared():
                event = replace(event, agent=self.progress.task.agent_name)
                self._opened[event.call_id] = event
                self.progress.note(event.title or event.name)
            case CallChanged():
                self._note(event)
            case TerminalOpened() | TerminalPrinted() | TerminalEnded():
                pass
            case PlanChanged():
                return self.own(event)
            case _:
                return None
        return replace(event, parent_id=self.parent_id)

    def own(
        self, event: MessageChunk | ThoughtChunk | PlanChanged | ContextMeasured
    ) -> SubAgentProgressed:
        """Return an event that is about the sub-agent itself."""
        return SubAgentProgressed(self.parent_id, self.progress.task.number, event)

    def _note(self, event: CallChanged) -> None:
        """Note the changes of a call once it has completed."""
        opened = self._opened.get(event.call_id)
        if event.title:
            self.progress.note(event.title)
        if opened is None:
            return
        if opened.name == COMMAND_TOOL and event.status == "in_progress":
            self.progress.commands += 1
        if opened.kind in _EDITS and event.status == "completed":
            for part in event.content or ():
                if isinstance(part, FileDiff):
                    self.progress.changed[part.path] = None


class TaskEventSink:
    """Event sink for the turn of a task, whose calls have the model's ids."""

    def __init__(self, calls: TaskCallSink, prefix: str) -> None:
        """Take the prefix that makes a model's call id unique in the session."""
        self._calls = calls
        self._prefix = prefix
        self._message_id = ""
        self._message_text = ""

    async def emit(self, event: Event) -> None:
        """Show or note one event."""
        shown = self._translate(event)
        if isinstance(shown, CallChanged):
            await self._calls.emit(shown)
        elif shown is not None:
            await self._calls.sink.emit(shown)

    def emit_now(self, event: Event) -> None:
        """Show or note one event, even while the turn is being cancelled."""
        shown = self._translate(event)
        if isinstance(shown, CallChanged):
            self._calls.emit_now(shown)
        elif shown is not None:
            self._calls.sink.emit_now(shown)

    def _translate(self, event: Event) -> Event | None:
        match event:
            case CallChanged():
                return replace(event, call_id=f"{self._prefix}{event.call_id}")
            case NoticeRaised():
                # The user must see some notices; others are only noted.
                self._calls.progress.note(event.title)
                return event if event.is_said else None
            case MessageChunk():
                if event.message_id != self._message_id:
                    self._message_id, self._message_text = event.message_id, ""
                text = f"{self._message_text}{event.text}"[-MAX_MESSAGE_CHARACTERS:]
                self._message_text = text
                self._calls.progress.note(text)
                return self._calls.own(event)
            case ThoughtChunk() | ContextMeasured() | PlanChanged():
                return self._calls.own(event)
            case CompactionChanged():
                self._calls.progress.note("summarizing its conversation")
            case (
                CallAppeared()
                | TerminalOpened()
                | TerminalPrinted()
                | TerminalEnded()
                | SummaryChunk()
                | SubAgentStarted()
                | SubAgentProgressed()
                | SubAgentEnded()
            ):
                pass
            case _:
                assert_never(event)
        return None
