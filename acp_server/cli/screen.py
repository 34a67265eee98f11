"""Terminal output for the commands: colours, symbols, indentation.

In a pipe, the same text is printed as plain lines without colours.
"""

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from pydantic import BaseModel, ConfigDict
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from acp_server.protocol.tool_calls import ToolKind
from acp_server.text.control_characters import UNPRINTABLE
from acp_server.text.quantities import count

MAX_COLUMNS = 100
RIGHT_MARGIN_COLUMNS = 2


class Symbols(BaseModel):
    """Symbols for statuses, prompts and tool kinds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    ok: str
    warning: str
    problem: str
    stopped: str
    open_box: str
    chosen: str
    question: str
    arrow: str
    dot: str
    bar: str
    ellipsis: str
    rule: str
    kinds: Mapping[ToolKind, str]
    """One symbol per tool kind."""


class ScreenTables(BaseModel):
    """Contents of `screen.toml`: the styles, and the symbols with and without Unicode."""

    theme: dict[str, str]
    unicode: Symbols
    ascii: Symbols


TABLES = ScreenTables.model_validate(
    tomllib.loads(Path(__file__).with_name("screen.toml").read_text(encoding="utf-8"))
)
_REPLACEMENTS = dict.fromkeys(UNPRINTABLE, "\ufffd")


class TerminalScreen(Console):
    """Rich console with this program's theme and symbols; a closed pipe ends the command."""

    def __init__(self, *, stderr: bool = False, file: TextIO | None = None) -> None:
        """Print to stdout, to stderr, or to the given file."""
        stream = file or (sys.stderr if stderr else sys.stdout)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
        super().__init__(
            file=file,
            stderr=stderr,
            theme=Theme(TABLES.theme),
            highlight=False,
            emoji=False,
            markup=False,
        )
        self.width = min(self.width, MAX_COLUMNS)
        self.symbols = TABLES.ascii if self.options.ascii_only else TABLES.unicode

    def on_broken_pipe(self) -> None:
        """Raise instead of exiting, as rich would, so that the command can clean up.

        Raises:
            BrokenPipeError: Always.
        """
        self.quiet = True
        raise BrokenPipeError(32, "the reader closed the pipe")

    def print_parts(self, *parts: str | tuple[str, str], first_prefix: Text | None = None) -> None:
        """Print parts (a text, or a text and its style) indented, or after a label."""
        body = Text.assemble(*parts)
        body.overflow = "fold"
        prefix = " " * (2 if first_prefix is None else first_prefix.cell_len)
        self.print(Indented(body, prefix, first_prefix=first_prefix), end="")

    def join(self, *pieces: str) -> str:
        """Return the non-empty pieces as one line, separated by dots."""
        return f" {self.symbols.dot} ".join(piece for piece in pieces if piece)


@dataclass(frozen=True, slots=True)
class Indented:
    """Renderable with a prefix on each line, folded to `max_lines` lines if it has more."""

    content: RenderableType
    prefix: str = "  "
    prefix_style: str = "quiet"
    first_prefix: Text | None = None
    """Prefix of the first line; it must have the same width."""
    max_lines: int | None = None
    ellipsis: str = "..."

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, options.max_width - len(self.prefix) - RIGHT_MARGIN_COLUMNS)
        lines = console.render_lines(self.content, options.update_width(width), pad=False)
        hidden = 0 if self.max_lines is None else len(lines) - self.max_lines
        if hidden > 0:
            note = Segment(
                f"{self.ellipsis} {count(hidden, 'more line')}", console.get_style("quiet")
            )
            lines[self.max_lines :] = [[note]]
        style = console.get_style(self.prefix_style)
        for number, line in enumerate(lines):
            prefix = [Segment(self.prefix, style)]
            if number == 0 and self.first_prefix is not None:
                prefix = list(self.first_prefix.render(console))
            yield from _without_trailing_blanks([*prefix, *line])
            yield Segment.line()


def printable(text: str) -> str:
    """Return the text with control, bidirectional and line-separator characters replaced.

    Untrusted text could otherwise move the cursor, change the terminal or disguise itself.
    """
    return text.replace("\r\n", "\n").translate(_REPLACEMENTS)


def one_line(text: str) -> str:
    """Return the printable text in one line."""
    return " ".join(printable(text).split())


def _without_trailing_blanks(line: list[Segment]) -> list[Segment]:
    segments = list(line)
    while segments and not segments[-1].text.strip():
        segments.pop()
    if segments:
        text, style, control = segments[-1]
        segments[-1] = Segment(text.rstrip(), style, control)
    return segments
