"""Terminal view of a running session: answers as Markdown, tool calls with their output."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Literal, TypeAlias, assert_never

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS, ToolCallBlock, plan_line
from acp_server.cli.screen import Indented, TerminalScreen, duration, one_line, printable
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

FOLDED_THOUGHT_LINES = 3
REDRAW_SECONDS = 1 / 30


TextKind = Literal["prompt", "message", "thought"]
TEXT_KINDS: Mapping[str, TextKind] = {
    "user_message_chunk": "prompt",
    "agent_message_chunk": "message",
    "agent_thought_chunk": "thought",
}
FactUpdate: TypeAlias = (
    CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | CompactionUpdate
    | Notice
    | UnknownUpdate
)


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

    def show(self, update: Update) -> None:
        """Show an update; a kind that is not handled here fails type checking."""
        match update:
            case UserMessageChunk() | AgentMessageChunk() | AgentThoughtChunk():
                kind = TEXT_KINDS[update.session_update]
                self._append(kind, update.message_id, update.content)
            case CompactionSummaryChunk():
                self._append("thought", update.compaction_id, update.content)
            case ToolCallStart():
                before = self._calls.get(update.tool_call_id)
                if before is not None and before.has_ended:  # the id is used again
                    del self._calls[update.tool_call_id]
                self._call_state(update.tool_call_id).start(update)
                self._live_screen.redraw()
            case ToolCallProgress():
                self._call_state(update.tool_call_id).apply(update, self._clock())
                self._live_screen.redraw()
            case Plan():
                self._show_plan(update)
            case AvailableCommandsUpdate():
                # Once: the agent sends them again whenever it reads the skills.
                if not self._has_commands:
                    self._has_commands = True
                    names = [f"/{command.name}" for command in update.available_commands]
                    self.print_fact("commands", "  ".join(names))
            case _:
                self._show_fact(update)

    def _show_fact(self, update: FactUpdate) -> None:
        """Show an update as labelled lines."""
        match update:
            case CurrentModeUpdate():
                self.print_fact("mode", update.current_mode_id)
            case ConfigOptionUpdate():
                self.print_fact("options", options_line(self._screen, update.config_options))
            case SessionInfoUpdate(title=str(title)):
                self.print_fact("title", title)
            case SessionInfoUpdate():
                pass
            case UsageUpdate():
                self.print_fact("context", f"{update.used:,} of {update.size:,} tokens")
            case CompactionUpdate():
                self.print_fact("compaction", update.status)
            case Notice():
                styles = {"warning": "warning", "error": "problem"}
                text = self._screen.join(update.title, update.description or "")
                self.print_fact("notice", text, styles.get(update.severity, "none"))
            case UnknownUpdate():
                self.print_fact("unknown", update.kind)
            case _:
                assert_never(update)

    def _show_plan(self, update: Plan) -> None:
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

    def _append(self, kind: TextKind, message_id: str | None, content: ContentBlock) -> None:
        text = self._text
        if text is None or (text.kind, text.message_id) != (kind, message_id):
            self._end_text()
            text = self._text = GrowingTextBlock(self._screen, kind, message_id)
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


class GrowingTextBlock:
    """Screen block for text that arrives in chunks: an answer, a prompt or a thought."""

    def __init__(self, screen: TerminalScreen, kind: TextKind, message_id: str | None) -> None:
        self.kind = kind
        self.message_id = message_id
        self.is_complete = False
        self._screen = screen
        self._started_at = time.perf_counter()
        self._text = ""

    def add(self, text: str) -> None:
        """Append text."""
        self._text += printable(text)

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the renderable for the text so far."""
        if self.kind == "message":
            return Group("", Indented(Markdown(self._text, code_theme="ansi_dark")))
        if self.kind == "prompt":
            return Group("", Indented(Text(self._text, style="prompt")))
        # A thought is dim, below a label, and folded when it is complete.
        signs = self._screen.symbols
        seconds = time.perf_counter() - self._started_at
        label = self._screen.join("thought", duration(seconds) if is_final else signs.ellipsis)
        body = Indented(
            Text(" ".join(self._text.split()), style="thought"),
            prefix=f"  {signs.bar} ",
            max_lines=FOLDED_THOUGHT_LINES if is_final else None,
            ellipsis=signs.ellipsis,
        )
        return Group("", Text.styled(f"  {label}", "quiet"), body)


class StaticBlock:
    """Screen block whose content never changes."""

    is_complete = True

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the content."""
        del is_final
        return self._content


ScreenBlock: TypeAlias = GrowingTextBlock | ToolCallBlock | StaticBlock
"""A piece of output that changes until it is complete; drawn, it ends with a newline."""


class LiveScreen:
    """Ordered list of the blocks that are not printed finally yet.

    In a terminal, incomplete blocks are redrawn in place. In a pipe, a block is printed when it and
    all blocks before it are complete.
    """

    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen
        self._blocks: list[ScreenBlock] = []
        self._live: Live | None = None
        self._drawn_at = float("-inf")

    def add(self, block: ScreenBlock) -> None:
        """Add a block below the others; `redraw` shows it."""
        self._blocks.append(block)

    def redraw(self, *, may_wait: bool = False) -> None:
        """Show the current state; with `may_wait`, at most once per `REDRAW_SECONDS`."""
        # Only the leading complete blocks: lines printed finally cannot be moved, so the order of
        # the blocks would be lost if a later one were printed first.
        complete = list(takewhile(lambda block: block.is_complete, self._blocks))
        now = time.perf_counter()
        if may_wait and not complete and now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        del self._blocks[: len(complete)]
        self._print_complete(complete)

    def settle(self) -> None:
        """Print all blocks finally, complete or not."""
        blocks = self._blocks.copy()
        self._blocks.clear()
        self._print_complete(blocks)

    def _print_complete(self, complete: list[ScreenBlock]) -> None:
        """Print blocks finally, above the remaining ones."""
        final = Group(*(block.draw(is_final=True) for block in complete))
        if not self._screen.is_interactive:
            self._screen.print(final, end="")
        elif self._blocks:
            self._show_live(final if complete else None)
        elif self._live is not None:
            live, self._live = self._live, None
            live.update(final)
            live.stop()
        else:
            self._screen.print(final, end="")

    def _show_live(self, above: RenderableType | None) -> None:
        live_part = _LastLines(Group(*(block.draw(is_final=False) for block in self._blocks)))
        if self._live is None:
            self._live = Live(
                console=self._screen,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(live_part, refresh=above is None)
        if above is not None:
            # Rich redraws the live part in the same write, so nothing flickers.
            self._screen.print(above, end="")


class _LastLines:
    """The last lines of a renderable that fit the terminal; the changing lines are at the end."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options, pad=False)
        for line in lines[-max(1, options.size.height - 1) :]:
            yield from line
            yield Segment.line()


def options_line(screen: TerminalScreen, options: Sequence[SessionConfigOption]) -> str:
    """Return the config options with their values in one line."""
    return screen.join(*(f"{option.name}: {_value(option)}" for option in options))


def _value(option: SessionConfigOption) -> str:
    """Return the name of an option's current value."""
    if isinstance(option, SessionConfigBoolean):
        return "on" if option.current_value else "off"
    for each in option.options:
        values = each.options if isinstance(each, SessionConfigSelectGroup) else [each]
        for value in values:
            if value.value == option.current_value:
                return value.name
    return "?"
