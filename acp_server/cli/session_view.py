"""Terminal view of a running session: answers as Markdown, tool calls with their output."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Protocol

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS, ToolCallBlock, plan_line
from acp_server.cli.live_screen import LiveScreen
from acp_server.cli.screen import Indented, TerminalScreen, duration, one_line, printable
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.headless.updates import UnknownUpdate
from acp_server.protocol.content import ContentBlock, TextContent
from acp_server.protocol.sessions import (
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectGroup,
    SessionConfigSelectOption,
)
from acp_server.protocol.tool_calls import PermissionOption, RequestPermissionRequest
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    ContentChunk,
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

FOLDED_THOUGHT_LINES = 3


class TextRenderer(Protocol):
    """Callable that renders a text while it grows and when it is complete."""

    def __call__(self, text: str, *, is_complete: bool) -> RenderableType:
        """Return the renderable for the text so far."""
        ...


class SessionView:
    """Shows a session's updates as they arrive; call `settle` before printing anything else."""

    def __init__(
        self, screen: TerminalScreen, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """Set up the view; `clock` returns seconds."""
        self._screen = screen
        self._clock = clock
        self._live_screen = LiveScreen(screen)
        self._text: GrowingTextBlock | None = None
        self._calls: dict[str, ToolCallState] = {}
        self._plan_entries: Sequence[PlanEntry] = ()
        self._has_commands = False

    def settle(self) -> None:
        """Print the final state of everything that is still changing."""
        self._text = None
        self._calls.clear()
        self._live_screen.settle()

    def print_fact(self, label: str, text: str, style: str = "quiet") -> None:
        """Print one labelled line."""
        first_prefix = Text.styled(f"    {label.ljust(LABEL_COLUMNS)}", "quiet")
        body = Text(printable(text), style, overflow="fold")
        line = Indented(body, " " * first_prefix.cell_len, first_prefix=first_prefix)
        self._end_text()
        self._live_screen.add(StaticBlock(line))
        self._live_screen.redraw()

    def show_permission_request(self, request: RequestPermissionRequest) -> None:
        """Show a permission request for a tool call, with its options."""
        self._call_state(request.tool_call.tool_call_id).set_question(request, self._clock())
        self._live_screen.redraw()

    def show_permission_answer(
        self, request: RequestPermissionRequest, answer: PermissionOption | None
    ) -> None:
        """Show the user's answer to a permission request; None means that it was withdrawn."""
        question = self._call_state(request.tool_call.tool_call_id).question
        if question is not None:
            question.is_answered, question.answer = True, answer
        self._live_screen.redraw()

    def show_written_file(self, path: PurePath) -> None:
        """Show that the agent wrote a file through this client."""
        for call in self._calls.values():
            if not call.has_ended and call.has_location(path):
                call.written_files.append(path.name)
                self._live_screen.redraw()
                return
        self.print_fact("written", f"{one_line(path.name)}, by the editor")

    def user_message(self, update: UserMessageChunk) -> None:
        """Append to the user's message."""
        self._append_chunk("prompt", update)

    def message(self, update: AgentMessageChunk) -> None:
        """Append to the agent's answer."""
        self._append_chunk("message", update)

    def thought(self, update: AgentThoughtChunk) -> None:
        """Append to the agent's reasoning."""
        self._append_chunk("thought", update)

    def tool_call(self, update: ToolCallStart) -> None:
        """Show a new tool call; the id of an ended call may be used again."""
        before = self._calls.get(update.tool_call_id)
        if before is not None and before.has_ended:
            del self._calls[update.tool_call_id]
        self._call_state(update.tool_call_id).start(update)
        self._live_screen.redraw()

    def tool_call_update(self, update: ToolCallProgress) -> None:
        """Apply an update to a tool call."""
        self._call_state(update.tool_call_id).apply(update, self._clock())
        self._live_screen.redraw()

    def plan(self, update: Plan) -> None:
        """Show the plan; if only some entries of a plan shown before changed, show only these.

        They appear below the tool call that changed them, if there is one.
        """
        before, self._plan_entries = self._plan_entries, update.entries
        is_same = [each.content for each in before] == [each.content for each in update.entries]
        changed = [each for each in update.entries if not is_same or each not in before]
        open_calls = (call for call in self._calls.values() if not call.has_ended)
        call = next((call for call in open_calls if call.kind == "think"), None)
        if call is not None:
            call.plan = changed
            self._live_screen.redraw()
            return
        for number, entry in enumerate(changed):
            self.print_fact("" if number else "plan", plan_line(self._screen, entry))

    def commands(self, update: AvailableCommandsUpdate) -> None:
        """Show the command names once; the agent sends them again whenever it reads the skills."""
        if not self._has_commands:
            self._has_commands = True
            names = [f"/{command.name}" for command in update.available_commands]
            self.print_fact("commands", "  ".join(names))

    def mode(self, update: CurrentModeUpdate) -> None:
        """Show the new mode."""
        self.print_fact("mode", update.current_mode_id)

    def options(self, update: ConfigOptionUpdate) -> None:
        """Show the config options and their values."""
        self.print_fact("options", options_line(self._screen, update.config_options))

    def session_info(self, update: SessionInfoUpdate) -> None:
        """Show the new title."""
        if isinstance(update.title, str):
            self.print_fact("title", update.title)

    def usage(self, update: UsageUpdate) -> None:
        """Show how full the context window is."""
        self.print_fact("context", f"{update.used:,} of {update.size:,} tokens")

    def compaction(self, update: CompactionUpdate) -> None:
        """Show the status of a compaction."""
        self.print_fact("compaction", update.status)

    def compaction_summary(self, update: CompactionSummaryChunk) -> None:
        """Append to the summary of a compaction."""
        self._append("thought", update.compaction_id, update.content)

    def notice(self, update: Notice) -> None:
        """Show a notice to the user."""
        style = {"warning": "warning", "error": "problem"}.get(update.severity, "none")
        self.print_fact("notice", self._screen.join(update.title, update.description or ""), style)

    def unknown(self, update: UnknownUpdate) -> None:
        """Show the kind of an update that this view does not know."""
        self.print_fact("unknown", update.kind)

    def _append_chunk(self, kind: str, chunk: ContentChunk) -> None:
        self._append(kind, chunk.message_id, chunk.content)

    def _append(self, kind: str, message_id: str | None, content: ContentBlock) -> None:
        key = (kind, message_id)
        text = self._text
        if text is None or text.key != key:
            self._end_text()
            text = self._text = GrowingTextBlock(key, self._renderer_for(kind))
            self._live_screen.add(text)
        text.add(content.text if isinstance(content, TextContent) else f"[{content.type}]")
        self._live_screen.redraw(may_wait=True)

    def _end_text(self) -> None:
        """End the current text, because something else follows below it."""
        if self._text is not None:
            self._text.is_complete = True
            self._text = None

    def _call_state(self, call_id: str) -> ToolCallState:
        """Return the state of a call; a call that is not known yet is added to the screen."""
        if call_id not in self._calls:
            self._end_text()
            self._calls[call_id] = state = ToolCallState(self._clock())
            self._live_screen.add(ToolCallBlock(self._screen, state))
        return self._calls[call_id]

    def _renderer_for(self, kind: str) -> TextRenderer:
        if kind == "thought":
            return partial(draw_thought, self._screen, time.perf_counter())
        return draw_prompt if kind == "prompt" else draw_message


class GrowingTextBlock:
    """Screen block for text that arrives in chunks."""

    def __init__(self, key: tuple[str, str | None], draw: TextRenderer) -> None:
        self.key = key
        self.is_complete = False
        self._draw = draw
        self._text = ""

    def add(self, text: str) -> None:
        """Append text."""
        self._text += printable(text)

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the renderable for the text so far."""
        return self._draw(self._text, is_complete=is_final)


class StaticBlock:
    """Screen block whose content never changes."""

    is_complete = True

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the content."""
        del is_final
        return self._content


def draw_message(text: str, *, is_complete: bool) -> RenderableType:
    """Return the renderable for an agent message."""
    del is_complete
    return Group("", Indented(Markdown(text, code_theme="ansi_dark")))


def draw_prompt(text: str, *, is_complete: bool) -> RenderableType:
    """Return the renderable for a user message."""
    del is_complete
    return Group("", Indented(Text(text, style="prompt")))


def draw_thought(
    screen: TerminalScreen,
    started_at: float,
    text: str,
    *,
    is_complete: bool,
) -> RenderableType:
    """Return the renderable for a thought: dim, below a label, folded when it is complete."""
    signs = screen.symbols
    time_taken = duration(time.perf_counter() - started_at) if is_complete else signs.ellipsis
    body = Indented(
        Text(" ".join(text.split()), style="thought"),
        prefix=f"  {signs.bar} ",
        max_lines=FOLDED_THOUGHT_LINES if is_complete else None,
        ellipsis=signs.ellipsis,
    )
    return Group("", Text.styled(f"  {screen.join('thought', time_taken)}", "quiet"), body)


def options_line(screen: TerminalScreen, options: Sequence[SessionConfigOption]) -> str:
    """Return the config options with their values in one line."""
    return screen.join(*(f"{option.name}: {_value(option)}" for option in options))


def _value(option: SessionConfigOption) -> str:
    if isinstance(option, SessionConfigBoolean):
        return "on" if option.current_value else "off"
    return next((each.name for each in _values(option) if each.value == option.current_value), "?")


def _values(option: SessionConfigSelect) -> Iterator[SessionConfigSelectOption]:
    for each in option.options:
        if isinstance(each, SessionConfigSelectGroup):
            yield from each.options
        else:
            yield each
