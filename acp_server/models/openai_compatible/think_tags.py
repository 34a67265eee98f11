"""Separates reasoning between `<think>` and `</think>` at the start of a text from the text.

Local servers send reasoning this way if no reasoning parser is configured for the model.
"""

from collections.abc import Iterator
from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

TextKind = Literal["text", "thinking"]


class ThinkTags:
    """Incremental splitter; recognises the tag only at the start of the text."""

    def __init__(self) -> None:
        self._state: Literal["beginning", "thinking", "behind", "text"] = "beginning"
        self._buffer = ""

    @property
    def is_plain(self) -> bool:
        """Whether the rest of the text is passed on unchanged."""
        return self._state == "text"

    def split(self, text: str) -> Iterator[tuple[TextKind, str]]:
        """Split a fragment into reasoning and text."""
        text, self._buffer = self._buffer + text, ""
        if self._state == "beginning":
            text = self._detect_opening(text)
        if self._state == "thinking":
            thought, text = self._split_at_closing(text)
            if thought:
                yield "thinking", thought
        if self._state == "behind":
            text = text.lstrip()
            self._state = "text" if text else "behind"
        if self._state == "text" and text:
            yield "text", text

    def flush(self) -> Iterator[tuple[TextKind, str]]:
        """Yield the buffered remainder at the end of the text."""
        buffered, self._buffer = self._buffer, ""
        if buffered:
            yield ("thinking" if self._state == "thinking" else "text"), buffered

    def _detect_opening(self, text: str) -> str:
        """Detect the opening tag; buffer the text while it may still become one."""
        start = text.lstrip()
        if start.startswith(OPENING):
            self._state = "thinking"
            return start.removeprefix(OPENING)
        if OPENING.startswith(start):
            self._buffer = text
            return ""
        self._state = "text"
        return text

    def _split_at_closing(self, text: str) -> tuple[str, str]:
        """Return the reasoning in a text, and the text after the closing tag.

        The end of the text is buffered while it may be the start of the closing tag.
        """
        thought, closing, remainder = text.partition(CLOSING)
        if closing:
            self._state = "behind"
            return thought, remainder
        length = next(size for size in range(len(CLOSING), -1, -1) if text.endswith(CLOSING[:size]))
        self._buffer = text[len(text) - length :]
        return text[: len(text) - length], ""
