"""The terminal as the commands use it: colours, signs, indentation, and text that grows.

Colours and redrawing only where a person looks; in a pipe the same words, as plain lines.
"""

import sys
import time
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

REDRAW_SECONDS = 1 / 30
MILLISECONDS_PER_SECOND = 1000
WIDEST_COLUMNS = 100
RIGHT_MARGIN_COLUMNS = 2
THEME = Theme(
    {
        "title": "bold cyan",
        "accent": "cyan",
        "quiet": "dim",
        "thought": "dim italic",
        "prompt": "bold",
        "ok": "green",
        "warning": "yellow",
        "problem": "red",
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.item.bullet": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.block_quote": "dim",
    }
)


class Draw(Protocol):
    """How a text looks, while it grows and once it is complete."""

    def __call__(self, text: str, *, is_complete: bool) -> RenderableType:
        """Return what to print."""
        ...


@dataclass(frozen=True, slots=True)
class Signs:
    """The few characters that are not letters."""

    prompt: str = "\u276f"
    ok: str = "✓"
    warning: str = "!"
    problem: str = "✗"
    stopped: str = "■"
    tool: str = "⚙"
    open_box: str = "○"
    arrow: str = "→"
    dot: str = "·"
    bar: str = "│"
    ellipsis: str = "…"
    rule: str = "─"


ASCII_SIGNS = Signs(
    prompt=">",
    ok="+",
    problem="x",
    stopped="#",
    tool="*",
    open_box="o",
    arrow="->",
    dot="-",
    bar="|",
    ellipsis="...",
    rule="-",
)
_CONTROL_CHARACTERS = {
    code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


class Screen(Console):
    """Where the commands print; a reader that goes away ends the command."""

    def __init__(self, *, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
        super().__init__(stderr=stderr, theme=THEME, highlight=False, emoji=False, markup=False)
        self.width = min(self.width, WIDEST_COLUMNS)
        self.signs = ASCII_SIGNS if self.options.ascii_only else Signs()

    def on_broken_pipe(self) -> None:
        """Let the error through: it ends what runs in good order."""
        self.quiet = True
        raise BrokenPipeError(32, "nobody reads any more")

    def say(self, *parts: str | tuple[str, str], first_prefix: Text | None = None) -> None:
        """Print pieces, each a text or a text and its style, indented, or behind a label."""
        body = Text.assemble(*parts)
        body.overflow = "fold"
        prefix = " " * (2 if first_prefix is None else first_prefix.cell_len)
        self.print(Indented(body, prefix, first_prefix=first_prefix), end="")

    def join(self, *pieces: str) -> str:
        """Return the pieces as one line with dots between them."""
        return f" {self.signs.dot} ".join(piece for piece in pieces if piece)


@dataclass(frozen=True, slots=True)
class Indented:
    """A renderable behind a prefix on each line, folded to so many lines if there are more."""

    content: RenderableType
    prefix: str = "  "
    prefix_style: str = "quiet"
    first_prefix: Text | None = None
    """On the first line instead, of the same width."""
    most_lines: int | None = None
    ellipsis: str = "..."

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, options.max_width - len(self.prefix) - RIGHT_MARGIN_COLUMNS)
        lines = console.render_lines(self.content, options.update_width(width), pad=False)
        hidden = 0 if self.most_lines is None else len(lines) - self.most_lines
        if hidden > 0:
            note = Segment(
                f"{self.ellipsis} {count(hidden, 'more line')}", console.get_style("quiet")
            )
            lines[self.most_lines :] = [[note]]
        style = console.get_style(self.prefix_style)
        for number, line in enumerate(lines):
            prefix = [Segment(self.prefix, style)]
            if number == 0 and self.first_prefix is not None:
                prefix = list(self.first_prefix.render(console))
            yield from _without_trailing_blanks([*prefix, *line])
            yield Segment.line()


class GrowingText:
    """Text that arrives in pieces: redrawn as it grows on a terminal, printed once in a pipe."""

    def __init__(self, screen: Screen, draw: Draw) -> None:
        self._screen = screen
        self._draw = draw
        self._text = ""
        self._drawn = 0.0
        self._live: Live | None = None
        if screen.is_interactive:
            self._live = Live(
                console=screen, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()

    def add(self, text: str) -> None:
        """Let it grow."""
        self._text += printable(text)
        if self._live is not None and time.perf_counter() - self._drawn >= REDRAW_SECONDS:
            self._live.update(self._draw(self._text, is_complete=False), refresh=True)
            self._drawn = time.perf_counter()

    def finish(self) -> None:
        """Leave it on the screen for good."""
        final = self._draw(self._text, is_complete=True)
        if self._live is None:
            self._screen.print(final, end="")
        else:
            self._live.update(final)
            self._live.stop()


def printable(text: str) -> str:
    """Return a text that cannot move the cursor or change the terminal."""
    return text.replace("\r\n", "\n").translate(_CONTROL_CHARACTERS)


def duration(seconds: float) -> str:
    """Return a time as a person reads it."""
    milliseconds = round(seconds * 1000)
    return f"{milliseconds} ms" if milliseconds < MILLISECONDS_PER_SECOND else f"{seconds:.1f} s"


def count(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _without_trailing_blanks(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        text, style, control = kept[-1]
        kept[-1] = Segment(text.rstrip(), style, control)
    return kept
