"""Reasoning that a model writes into its text, between `<think>` and `</think>` at the beginning.

So do local servers that were not told how their model marks it.
"""

from collections.abc import Iterator
from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

Kind = Literal["text", "thinking"]


class ThinkTags:
    """Splits a text as it arrives; only what begins with the tag is looked at."""

    def __init__(self) -> None:
        self._state: Literal["beginning", "thinking", "behind", "text"] = "beginning"
        self._held = ""

    @property
    def is_plain(self) -> bool:
        """Whether the rest of the text is passed on as it is."""
        return self._state == "text"

    def split(self, text: str) -> Iterator[tuple[Kind, str]]:
        """Yield what a piece of text holds of reasoning and of text."""
        text, self._held = self._held + text, ""
        if self._state == "beginning":
            text = self._begun(text)
        if self._state == "thinking":
            thought, text = self._thought(text)
            if thought:
                yield "thinking", thought
        if self._state == "behind":
            text = text.lstrip()
            self._state = "text" if text else "behind"
        if self._state == "text" and text:
            yield "text", text

    def rest(self) -> Iterator[tuple[Kind, str]]:
        """Yield what was held back, at the end."""
        held, self._held = self._held, ""
        if held:
            yield ("thinking" if self._state == "thinking" else "text"), held

    def _begun(self, text: str) -> str:
        """Find out whether the text begins with the tag; hold it back while that is open."""
        start = text.lstrip()
        if start.startswith(OPENING):
            self._state = "thinking"
            return start.removeprefix(OPENING)
        if OPENING.startswith(start):
            self._held = text
            return ""
        self._state = "text"
        return text

    def _thought(self, text: str) -> tuple[str, str]:
        """Return the reasoning in a text, and what stands behind its end."""
        thought, closing, behind = text.partition(CLOSING)
        if closing:
            self._state = "behind"
            return thought, behind
        kept = next(size for size in range(len(CLOSING), -1, -1) if text.endswith(CLOSING[:size]))
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept], ""
