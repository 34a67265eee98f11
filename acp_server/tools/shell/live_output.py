"""Shows the output of a running command to the user: in chunks, or as its latest lines.

The bytes sent stay proportional to the bytes printed, however fast or slowly they come.
"""

import json
from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.session.commands.markdown import fenced_block
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.shell.output import OutputLog, render_for_model
from acp_server.turn.conversation import Text
from acp_server.turn.events import TerminalEnded, TerminalOpened, TerminalPrinted, TerminalView

TERMINAL_FLUSH_SECONDS = 0.1
MAX_STREAMED_BYTES = 1_000_000
TAIL_CHARACTERS = 4_000
OUTPUT_OMITTED = (
    "\n[… output too long to show in full; its end follows when the command has ended …]\n"
)
TEXT_FLUSH_SECONDS = 0.25
TEXT_CHARACTERS = 8_000
TEXT_ALLOWANCE_CHARACTERS = 64_000
TEXT_BUDGET = 4
"""Bytes that all text updates together may cost, as a multiple of the output's bytes.

Each text update replaces the one before, so it repeats output that was sent already.
"""


class OutputView(Protocol):
    """One way to show a command's output while it runs."""

    def write(self, chunk: bytes) -> None:
        """Take a chunk of output; it is shown with the next flush."""
        ...

    async def flush(self) -> None:
        """Show the output that was not shown yet."""
        ...


async def run_with_view(
    view: OutputView, interval_seconds: float, work: Callable[[], Awaitable[None]]
) -> None:
    """Run `work`, and flush `view` every `interval_seconds` until it is done."""

    async def flush_periodically() -> None:
        while True:
            await anyio.sleep(interval_seconds)
            await view.flush()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flush_periodically)
            await work()
            tasks.cancel_scope.cancel()
    except ExceptionGroup as group:  # unwrap: callers expect the exception that `work` raised
        failure = group.exceptions[0]
        raise failure from failure.__cause__


class TerminalOutputView:
    """Streams output in chunks, for editors that display it as a terminal."""

    def __init__(self, reporter: CallReporter, terminal_id: str) -> None:
        self._reporter = reporter
        self._id = terminal_id
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._unsent: list[str] = []
        self._bytes_left = MAX_STREAMED_BYTES
        self._tail = ""
        self._is_open = False

    async def open(self, cwd: str) -> None:
        """Open an empty terminal in the editor."""
        await self._reporter.emit(TerminalOpened(self._reporter.call_id, self._id, cwd))
        self._is_open = True

    @property
    def view(self) -> TerminalView:
        """Reference to the terminal, as content of the tool call."""
        return TerminalView(self._id)

    def write(self, chunk: bytes) -> None:
        """Take a chunk of output; of very long output, only the beginning and the end are shown."""
        self._queue(self._decoder.decode(chunk))

    async def flush(self) -> None:
        """Send the output that was not sent yet. If cancelled, it is sent with the next flush."""
        if not self._unsent:
            return
        # Taken before the await: more output may be written while this is being sent.
        data = "".join(self._unsent)
        self._unsent = []
        is_sent = False
        try:
            await self._reporter.emit(TerminalPrinted(self._reporter.call_id, self._id, data))
            is_sent = True
        finally:
            if not is_sent:
                self._unsent.insert(0, data)

    def end(self, exit_code: int | None, signal: str | None) -> None:
        """Send the remaining output and the exit status, once.

        Does not await: the turn may be in the middle of a cancellation.
        """
        if not self._is_open:
            return
        self._is_open = False
        self._queue(self._decoder.decode(b"", final=True))
        call_id = self._reporter.call_id
        remainder = "".join((*self._unsent, self._tail))
        if remainder:
            self._reporter.emit_now(TerminalPrinted(call_id, self._id, remainder))
        self._reporter.emit_now(TerminalEnded(call_id, self._id, exit_code, signal))

    def _queue(self, text: str) -> None:
        """Queue text up to the byte limit; of everything beyond it, keep only the end."""
        if text and self._bytes_left > 0:
            # Its size as a JSON string: escapes count too.
            cost = len(json.dumps(text, ensure_ascii=False).encode())
            # The limit is in bytes, the text in characters: cut in proportion, without a re-encode.
            shown = text[: max(1, len(text) * self._bytes_left // cost)]
            self._bytes_left -= cost
            self._unsent.append(shown)
            text = text[len(shown) :]
            if text:
                self._unsent.append(OUTPUT_OMITTED)
        self._tail = (self._tail + text)[-TAIL_CHARACTERS:]


class TextOutputView:
    """Shows the end of the output as text, for editors without terminal output."""

    def __init__(self, reporter: CallReporter, log: OutputLog) -> None:
        self._reporter = reporter
        self._log = log
        self._sent_characters = 0
        self._shown_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Do nothing: the log already has it."""

    async def flush(self) -> None:
        """Show the end of the output; shorter if the updates so far used up the budget."""
        total = self._log.total_bytes
        if total == self._shown_bytes:
            return
        allowance = TEXT_BUDGET * total + TEXT_ALLOWANCE_CHARACTERS - self._sent_characters
        max_characters = min(TEXT_CHARACTERS, allowance)
        if max_characters < min(total, TEXT_CHARACTERS // 8):
            return
        text = output_block(self._log.text(), max_characters)
        self._shown_bytes = total
        self._sent_characters += len(text)
        self._reporter.show_transient((Text(text),))


def output_block(output: str, max_characters: int) -> str:
    """Return the end of an output as a Markdown code block."""
    shown = render_for_model(output[-4 * max_characters :], 4 * max_characters)
    tail = shown[-max_characters:]
    ellipsis = "…" if len(tail) < len(shown) or len(output) > 4 * max_characters else ""
    return fenced_block(f"{ellipsis}{tail.strip(chr(10))}")
