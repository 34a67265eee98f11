"""Blocks of terminal output that change until they are complete.

In a terminal, incomplete blocks are redrawn in place. In a pipe, a block is printed when it and all
blocks before it are complete.
"""

import time
from itertools import takewhile
from typing import Protocol

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment

from acp_server.cli.screen import TerminalScreen

REDRAW_SECONDS = 1 / 30


class ScreenBlock(Protocol):
    """A piece of output that changes until it is complete."""

    @property
    def is_complete(self) -> bool:
        """Whether the block is complete."""
        ...

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the current or final renderable; it must end with a newline."""
        ...


class LiveScreen:
    """Ordered list of the blocks that are not printed finally yet."""

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
