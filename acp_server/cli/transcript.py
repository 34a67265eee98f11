"""Transcript of a session: the entries that every output renders, built from session updates.

`session_view` draws them in a terminal, while they change or at the end; `stored_transcript`
builds those of a stored session and renders them as plain text, Markdown and JSON.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, TypeAlias, assert_never

from acp_server.headless.tool_call_state import ToolCallState
from acp_server.headless.updates import UnknownUpdate, Update
from acp_server.protocol.content import ContentBlock, TextContent
from acp_server.protocol.sessions import (
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigSelectGroup,
)
from acp_server.protocol.tool_calls import PermissionOption, RequestPermissionRequest
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Notice,
    Plan,
    PlanEntry,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

TextKind = Literal["prompt", "message", "thought"]
TEXT_KINDS: Mapping[str, TextKind] = {
    "user_message_chunk": "prompt",
    "agent_message_chunk": "message",
    "agent_thought_chunk": "thought",
}
NOTICE_STYLES = {"warning": "warning", "error": "problem"}


@dataclass(slots=True)
class TextEntry:
    """Text that arrives in chunks: a prompt, an answer or a thought."""

    kind: TextKind
    text: str = ""
    message_id: str | None = None
    chunks: int = 0
    started: float = field(default_factory=time.perf_counter)
    ended: float | None = None


@dataclass(slots=True)
class FactEntry:
    """One labelled line, such as a notice or the mode."""

    label: str
    parts: tuple[str, ...]
    """Texts that are shown side by side."""
    style: str = "quiet"


@dataclass(slots=True)
class PlanChange:
    """The entries of the plan that changed; all of them, if it is a new plan."""

    entries: Sequence[PlanEntry]


TranscriptEntry: TypeAlias = TextEntry | ToolCallState | FactEntry | PlanChange


class Transcript:
    """The entries of one session, in the order in which they appeared."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Start empty; `clock` returns the seconds by which tool calls are timed."""
        self.entries: list[TranscriptEntry] = []
        self._clock = clock
        self._text: TextEntry | None = None
        self._calls: dict[str, ToolCallState] = {}
        self._plan_entries: Sequence[PlanEntry] = ()
        self._has_commands = False

    def settle(self) -> None:
        """End the current text; later updates of the current calls count as new calls."""
        self._end_text()
        self._calls.clear()

    def add_fact(self, label: str, *parts: str, style: str = "quiet") -> None:
        """Add a labelled line."""
        self._append(FactEntry(label, parts, style))

    def ask(self, request: RequestPermissionRequest) -> None:
        """Add a permission request to its tool call."""
        self._call(request.tool_call.tool_call_id).set_question(request, self._clock())

    def answer(self, request: RequestPermissionRequest, answer: PermissionOption | None) -> None:
        """Add the user's answer to a permission request; None means that it was withdrawn."""
        question = self._call(request.tool_call.tool_call_id).question
        if question is not None:
            question.is_answered, question.answer = True, answer

    def add_written_file(self, path: PurePath) -> None:
        """Add a file that the agent wrote through this client to its tool call."""
        for call in self._calls.values():
            if not call.has_ended and call.has_location(path):
                call.written_files.append(path.name)
                return
        self.add_fact("written", f"{path.name}, by the editor")

    def add(self, update: Update) -> None:  # noqa: C901, PLR0912, PLR0915  a case for each kind
        """Add an update; a kind that is not handled here fails type checking."""
        match update:
            case UserMessageChunk() | AgentMessageChunk() | AgentThoughtChunk():
                kind = TEXT_KINDS[update.session_update]
                self._add_chunk(kind, update.message_id, update.content)
            case CompactionSummaryChunk():
                self._add_chunk("thought", update.compaction_id, update.content)
            case ToolCallStart():
                before = self._calls.get(update.tool_call_id)
                if before is not None and before.has_ended:  # the id is used again
                    del self._calls[update.tool_call_id]
                self._call(update.tool_call_id).start(update)
            case ToolCallProgress():
                self._call(update.tool_call_id).apply(update, self._clock())
            case Plan():
                self._add_plan(update)
            case AvailableCommandsUpdate():
                # Once: the agent sends them again whenever it reads the skills.
                if not self._has_commands:
                    self._has_commands = True
                    names = [f"/{command.name}" for command in update.available_commands]
                    self.add_fact("commands", "  ".join(names))
            case CurrentModeUpdate():
                self.add_fact("mode", update.current_mode_id)
            case ConfigOptionUpdate():
                self.add_fact("options", *option_texts(update.config_options))
            case SessionInfoUpdate():
                if isinstance(update.title, str):
                    self.add_fact("title", update.title)
            case UsageUpdate():
                self.add_fact("context", f"{update.used:,} of {update.size:,} tokens")
            case CompactionUpdate():
                self.add_fact("compaction", update.status)
            case Notice():
                style = NOTICE_STYLES.get(update.severity, "none")
                self.add_fact("notice", update.title, update.description or "", style=style)
            case UnknownUpdate():
                self.add_fact("unknown", update.kind)
            case _:
                assert_never(update)

    def _add_chunk(self, kind: TextKind, message_id: str | None, content: ContentBlock) -> None:
        text = self._text
        if text is None or (text.kind, text.message_id) != (kind, message_id):
            text = TextEntry(kind, message_id=message_id)
            self._append(text)
            self._text = text
        text.text += content.text if isinstance(content, TextContent) else f"[{content.type}]"
        text.chunks += 1

    def _add_plan(self, update: Plan) -> None:
        """Add the plan; if only some entries of a plan shown before changed, add only these.

        They belong to the tool call that changed them, if there is one.
        """
        before, self._plan_entries = self._plan_entries, update.entries
        is_same = [each.content for each in before] == [each.content for each in update.entries]
        changed = [each for each in update.entries if not is_same or each not in before]
        open_calls = (call for call in self._calls.values() if not call.has_ended)
        call = next((call for call in open_calls if call.kind == "think"), None)
        if call is not None:
            call.plan = changed
        elif changed:
            self._append(PlanChange(changed))

    def _append(self, entry: TranscriptEntry) -> None:
        self._end_text()  # because something else follows below it
        self.entries.append(entry)

    def _end_text(self) -> None:
        if self._text is not None:
            self._text.ended = time.perf_counter()
            self._text = None

    def _call(self, call_id: str) -> ToolCallState:
        """Return the state of a call; a call that is not known yet is added."""
        if call_id not in self._calls:
            self._calls[call_id] = state = ToolCallState(self._clock())
            self._append(state)
        return self._calls[call_id]


def is_complete(entry: TranscriptEntry) -> bool:
    """Return whether an entry can change no more."""
    match entry:
        case TextEntry():
            return entry.ended is not None
        case ToolCallState():
            return entry.has_ended
        case _:
            return True


def option_texts(options: Sequence[SessionConfigOption]) -> Iterator[str]:
    """Yield the name and the value of each config option."""
    for option in options:
        if isinstance(option, SessionConfigBoolean):
            yield f"{option.name}: {'on' if option.current_value else 'off'}"
            continue
        groups = (
            each.options if isinstance(each, SessionConfigSelectGroup) else [each]
            for each in option.options
        )
        names = {value.value: value.name for group in groups for value in group}
        yield f"{option.name}: {names.get(option.current_value, '?')}"
