"""Output of a running command on its way to the user: in pieces, or as the text so far.

What is sent stays in proportion to what was printed, however fast or slowly that comes.
"""

from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.tools.report import Report
from acp_server.tools.shell.output import OutputLog, for_model
from acp_server.turn.conversation import Text
from acp_server.turn.events import TerminalEnded, TerminalOpened, TerminalPrinted, TerminalView

PIECES_SECONDS = 0.1
MOST_STREAMED_CHARACTERS = 1_000_000
TAIL_CHARACTERS = 4_000
TEXT_SECONDS = 0.25
TEXT_CHARACTERS = 8_000
TEXT_ALLOWANCE_CHARACTERS = 64_000
TEXT_BUDGET = 4
"""How many times its length an output may cost as text that is shown anew each time."""


class Showing(Protocol):
    """One way to show a command's output while it runs."""

    def write(self, chunk: bytes) -> None:
        """Take more output."""
        ...

    async def flush(self) -> None:
        """Show what is there and was not shown."""
        ...


async def show_while(
    showing: Showing, interval_seconds: float, work: Callable[[], Awaitable[None]]
) -> None:
    """Do some work, and show what comes of it ten times a second or so until it is done."""

    async def keep_showing() -> None:
        while True:
            await anyio.sleep(interval_seconds)
            await showing.flush()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_showing)
        await work()
        tasks.cancel_scope.cancel()


class TerminalShow:
    """Output in pieces, for editors that show it as a terminal."""

    def __init__(self, report: Report, terminal_id: str) -> None:
        self._report = report
        self._id = terminal_id
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._unsent: list[str] = []
        self._streamed_characters = 0
        self._tail = ""

    async def open(self, cwd: str) -> None:
        """Show an empty terminal."""
        await self._report.tell(TerminalOpened(self._report.call_id, self._id, cwd))

    @property
    def view(self) -> TerminalView:
        """The terminal, as content of the call."""
        return TerminalView(self._id)

    def write(self, chunk: bytes) -> None:
        """Take more output; of a flood, only the beginning and the end are shown."""
        text = self._decoder.decode(chunk)
        if self._streamed_characters < MOST_STREAMED_CHARACTERS:
            self._unsent.append(text)
            self._streamed_characters += len(text)
        else:
            self._tail = (self._tail + text)[-TAIL_CHARACTERS:]

    async def flush(self) -> None:
        """Send what was not sent."""
        if self._unsent:
            data = "".join(self._unsent)
            self._unsent.clear()
            await self._report.tell(TerminalPrinted(self._report.call_id, self._id, data))

    def end(self, exit_code: int | None, signal: str | None) -> None:
        """Send the rest and how it ended, at once: the turn may be on its way out."""
        call_id = self._report.call_id
        rest = "".join(self._unsent) + self._decoder.decode(b"", final=True)
        self._unsent.clear()
        if self._tail:
            rest += f"\n[… the output went on; its last part: …]\n{self._tail}"
        if rest:
            self._report.tell_now(TerminalPrinted(call_id, self._id, rest))
        self._report.tell_now(TerminalEnded(call_id, self._id, exit_code, signal))


class TextShow:
    """The end of the output as text, for editors that show nothing better."""

    def __init__(self, report: Report, log: OutputLog) -> None:
        self._report = report
        self._log = log
        self._sent_characters = 0
        self._shown_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Do nothing: the log has it."""

    async def flush(self) -> None:
        """Show the end of what was printed, shorter when much was sent for little output."""
        total = self._log.total_bytes
        if total == self._shown_bytes:
            return
        allowance = TEXT_BUDGET * total + TEXT_ALLOWANCE_CHARACTERS - self._sent_characters
        most = min(TEXT_CHARACTERS, allowance)
        if most < min(total, TEXT_CHARACTERS // 8):
            return
        text = fenced(self._log.text(), most)
        self._shown_bytes = total
        self._sent_characters += len(text)
        self._report.show_passing((Text(text),))


def fenced(output: str, most_characters: int) -> str:
    """Return the end of an output as a block of Markdown."""
    shown = for_model(output[-4 * most_characters :], 4 * most_characters)
    cut = shown[-most_characters:]
    fence = "`" * 3
    while fence in cut:
        fence += "`"
    mark = "…" if len(cut) < len(shown) or len(output) > 4 * most_characters else ""
    return f"{fence}\n{mark}{cut.strip(chr(10))}\n{fence}"
