"""What a task does, shown as calls of its session: under ids of their own, with the parent's id.

Only its calls are shown. What it says is noted as its progress, its plan and its summaries of its
own conversation are nobody's business, and how full its window is would be taken for the session's.
"""

from dataclasses import dataclass, field, replace
from typing import assert_never

from acp_server.delegation.task import Progress
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
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)
from acp_server.turn.ports import Sink

MOST_SAID_CHARACTERS = 2_000
"""How much of a message is looked at for its last line."""
COMMAND_TOOL = "terminal"
_EDITS: frozenset[CallKind] = frozenset({"edit", "delete", "move"})


@dataclass(slots=True)
class CallScreen:
    """Where the tools of a task tell what they do; their calls have ids of their own already."""

    sink: Sink
    parent_id: str
    progress: Progress
    _opened: dict[str, CallAppeared] = field(default_factory=dict[str, CallAppeared], init=False)

    async def emit(self, event: Event) -> None:
        """Show what belongs to a call."""
        shown = self._shown(event)
        if shown is not None:
            await self.sink.emit(shown)

    def emit_now(self, event: Event) -> None:
        """Show what belongs to a call, also while the turn is being cancelled."""
        shown = self._shown(event)
        if shown is not None:
            self.sink.emit_now(shown)

    def _shown(self, event: Event) -> Event | None:
        match event:
            case CallAppeared():
                self._opened[event.call_id] = event
                self.progress.note(event.title or event.name)
            case CallChanged():
                self._note(event)
            case TerminalOpened() | TerminalPrinted() | TerminalEnded():
                pass
            case _:
                return None
        return replace(event, parent_id=self.parent_id)

    def _note(self, event: CallChanged) -> None:
        """Note what a call has changed, once it has."""
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


class TaskScreen:
    """Where the turn of a task tells what happens; its calls have the model's ids."""

    def __init__(self, calls: CallScreen, prefix: str) -> None:
        """Take what stands before the model's ids to make them the session's."""
        self._calls = calls
        self._prefix = prefix
        self._message_id = ""
        self._said = ""

    async def emit(self, event: Event) -> None:
        """Show one event, or note it."""
        shown = self._shown(event)
        if isinstance(shown, NoticeRaised):
            await self._calls.sink.emit(shown)
        elif shown is not None:
            await self._calls.emit(shown)

    def emit_now(self, event: Event) -> None:
        """Show one event, or note it, also while the turn is being cancelled."""
        shown = self._shown(event)
        if isinstance(shown, NoticeRaised):
            self._calls.sink.emit_now(shown)
        elif shown is not None:
            self._calls.emit_now(shown)

    def _shown(self, event: Event) -> Event | None:
        match event:
            case CallChanged():
                return replace(event, call_id=f"{self._prefix}{event.call_id}")
            case NoticeRaised():
                return self._notice(event)
            case MessageChunk():
                self._hear(event)
            case CompactionChanged():
                self._calls.progress.note("summing up its conversation")
            case (
                CallAppeared()
                | TerminalOpened()
                | TerminalPrinted()
                | TerminalEnded()
                | ThoughtChunk()
                | PlanChanged()
                | SummaryChunk()
                | ContextMeasured()
            ):
                pass
            case _:
                assert_never(event)
        return None

    def _notice(self, notice: NoticeRaised) -> NoticeRaised | None:
        """Return what the user must not miss; the rest is noted."""
        self._calls.progress.note(notice.title)
        return notice if notice.is_said else None

    def _hear(self, chunk: MessageChunk) -> None:
        if chunk.message_id != self._message_id:
            self._message_id, self._said = chunk.message_id, ""
        self._said = f"{self._said}{chunk.text}"[-MOST_SAID_CHARACTERS:]
        self._calls.progress.note(self._said)
