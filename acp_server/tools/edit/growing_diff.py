"""Shows a diff while the model is still writing it, within a byte budget.

ACP has no partial updates of a diff: each state is sent in full. Therefore a state is shown at most
ten times a second, only after the text has grown by an eighth, and only while all states together
stay within a few times the size of the text.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.call_reporter import CallReporter
from acp_server.turn.events import FileDiff

MIN_INTERVAL_SECONDS = 0.1
MIN_GROWTH_CHARACTERS = 200
GROWTH_DIVISOR = 8
BUDGET_NEW_FILE = 7
BUDGET_CHANGED_FILE = 5.8
"""Bytes that all states together may cost, as a multiple of the new text's bytes.

The exact diff is sent twice on top of that: with the permission request and with the result.
"""
MAX_OLD_CHARACTERS = 200
"""How much of the old text a growing diff shows.

The full old text would double each state. The final, exact diff has it.
"""


@frozen_dataclass
class TextPreview:
    """A file whose new text is being streamed: its path and its old text, None if it is new."""

    path: Path
    old_text: str | None

    def diff(self, new_text: str) -> tuple[FileDiff, ...]:
        """Return the diff with the part of the new text that was received."""
        old_text = None if self.old_text is None else matching_head(self.old_text, new_text)
        return (FileDiff(str(self.path), old_text, new_text),)


class GrowingDiff:
    """Sends states of a growing diff, as often as the budget allows."""

    def __init__(
        self, reporter: CallReporter, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        """Create it; `clock` returns seconds."""
        self._reporter = reporter
        self._clock = clock
        self._shown_at = float("-inf")
        self._shown_characters = 0
        self._sent_bytes = 0
        self._has_loaded = False
        self._preview: TextPreview | None = None

    async def show_text(
        self, new_text: str, load: Callable[[], Awaitable[TextPreview | None]]
    ) -> None:
        """Show a text as far as it was received; `load` finds the text that it replaces."""
        # Once, even if it fails: else every fragment would read the file again.
        if not self._has_loaded:
            self._has_loaded = True
            self._preview = await load()
        if self._preview is not None and new_text:
            self.show_if_due(len(new_text), partial(self._preview.diff, new_text))

    def show_if_due(self, new_characters: int, diff: Callable[[], tuple[FileDiff, ...]]) -> None:
        """Show the current state, if it is due and within the budget.

        `diff` is called only if the new text has grown enough, for it may be expensive.
        """
        now = self._clock()
        growth = new_characters - self._shown_characters
        min_growth = max(MIN_GROWTH_CHARACTERS, self._shown_characters // GROWTH_DIVISOR)
        if growth < min_growth or now - self._shown_at < MIN_INTERVAL_SECONDS:
            return
        blocks = diff()
        new_bytes = sum(_size_bytes(block.new_text) for block in blocks)
        cost_bytes = new_bytes + sum(_size_bytes(block.old_text or "") for block in blocks)
        is_new = all(block.old_text is None for block in blocks)
        budget = BUDGET_NEW_FILE if is_new else BUDGET_CHANGED_FILE
        if not blocks or self._sent_bytes + cost_bytes > budget * new_bytes:
            return
        self._shown_at, self._shown_characters = now, new_characters
        self._sent_bytes += cost_bytes
        self._reporter.show_transient(blocks)


def _size_bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def matching_head(old_text: str, new_text: str) -> str:
    """Return the first lines of the old text: as many as the new text has, but only a few."""
    end = 0
    for _ in range(new_text.count("\n") + 1):
        next_end = old_text.find("\n", end) + 1 or len(old_text)
        if next_end > MAX_OLD_CHARACTERS:
            break
        end = next_end
    return old_text[: end or MAX_OLD_CHARACTERS]
