"""Terminal view of a transcript: answers as Markdown, tool calls with their output.

In a terminal, entries that still change are redrawn in place. In a pipe, an entry is printed when
it and all entries before it are complete.
"""

import time
from collections.abc import Callable
from itertools import takewhile
from typing import assert_never

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from acp_server.cli.call_view import LABEL_COLUMNS, ToolCallView, plan_line
from acp_server.cli.screen import Indented, TerminalScreen, printable
from acp_server.cli.transcript import (
    FactEntry,
    PlanChange,
    TextEntry,
    Transcript,
    TranscriptEntry,
    is_complete,
)
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.headless.updates import Update
from acp_server.protocol.updates import AgentMessageChunk, AgentThoughtChunk, UserMessageChunk
from acp_server.text.quantities import duration

FOLDED_THOUGHT_LINES = 3
REDRAW_SECONDS = 1 / 30


class SessionView:
    """Shows a transcript as it grows; call `settle` before printing anything else.

    Call `redraw` after changing the transcript itself.
    """

    def __init__(
        self,
        screen: TerminalScreen,
        clock: Callable[[], float] = time.perf_counter,
        transcript: Transcript | None = None,
    ) -> None:
        """Set up the view of a transcript, by default of a new one, timed by `clock`."""
        self.transcript = transcript or Transcript(clock)
        self._screen = screen
        self._printed = 0
        """How many entries are printed finally."""
        self._live: Live | None = None
        self._drawn_at = float("-inf")

    def show(self, update: Update) -> None:
        """Show an update."""
        self.transcript.add(update)
        is_chunk = isinstance(update, UserMessageChunk | AgentMessageChunk | AgentThoughtChunk)
        self.redraw(may_wait=is_chunk)

    def settle(self) -> None:
        """Print the final state of everything, complete or not."""
        self.transcript.settle()
        self._print_until(len(self.transcript.entries))

    def redraw(self, *, may_wait: bool = False) -> None:
        """Show the current state; with `may_wait`, at most once per `REDRAW_SECONDS`."""
        # Only the leading complete entries: lines printed finally cannot be moved, so the order
        # would be lost if a later one were printed first.
        complete = len(list(takewhile(is_complete, self.transcript.entries[self._printed :])))
        now = time.perf_counter()
        if may_wait and not complete and now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        self._print_until(self._printed + complete)

    def _print_until(self, end: int) -> None:
        """Print entries finally, above the remaining ones."""
        entries = self.transcript.entries
        has_new = end > self._printed
        final = Group(*(self._draw(each, is_final=True) for each in entries[self._printed : end]))
        self._printed = end
        if not self._screen.is_interactive:
            self._screen.print(final, end="")
        elif end < len(entries):
            self._show_live(final if has_new else None)
        elif self._live is not None:
            live, self._live = self._live, None
            live.update(final)
            live.stop()
        else:
            self._screen.print(final, end="")

    def _show_live(self, above: RenderableType | None) -> None:
        entries = self.transcript.entries[self._printed :]
        live_part = _LastLines(Group(*(self._draw(each, is_final=False) for each in entries)))
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

    def _draw(self, entry: TranscriptEntry, *, is_final: bool) -> RenderableType:
        """Return the renderable for an entry; drawn, it ends with a newline."""
        match entry:
            case TextEntry():
                return self._draw_text(entry, is_final=is_final)
            case ToolCallState():
                return ToolCallView(self._screen, entry).draw(is_final=is_final)
            case FactEntry():
                return self._draw_fact(entry)
            case PlanChange():
                lines = enumerate(plan_line(self._screen, each) for each in entry.entries)
                facts = (FactEntry("" if number else "plan", (line,)) for number, line in lines)
                return Group(*map(self._draw_fact, facts))
            case _:
                assert_never(entry)

    def _draw_fact(self, fact: FactEntry) -> RenderableType:
        label = Text.styled(f"    {fact.label.ljust(LABEL_COLUMNS)}", "quiet")
        text = printable(self._screen.join(*fact.parts))
        body = Text(text, fact.style, overflow="fold")
        return Indented(body, " " * label.cell_len, first_prefix=label)

    def _draw_text(self, entry: TextEntry, *, is_final: bool) -> RenderableType:
        text = printable(entry.text)
        if entry.kind == "message":
            return Group("", Indented(Markdown(text, code_theme="ansi_dark")))
        if entry.kind == "prompt":
            return Group("", Indented(Text(text, style="prompt")))
        # A thought is dim, below a label, and folded when it is complete.
        signs = self._screen.symbols
        seconds = (entry.ended or time.perf_counter()) - entry.started
        label = self._screen.join("thought", duration(seconds) if is_final else signs.ellipsis)
        body = Indented(
            Text(" ".join(text.split()), style="thought"),
            prefix=f"  {signs.bar} ",
            max_lines=FOLDED_THOUGHT_LINES if is_final else None,
            ellipsis=signs.ellipsis,
        )
        return Group("", Text.styled(f"  {label}", "quiet"), body)


class _LastLines:
    """The last lines of a renderable that fit the terminal; the changing lines are at the end."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options, pad=False)
        for line in lines[-max(1, options.size.height - 1) :]:
            yield from line
            yield Segment.line()
