"""The linear regular expression engine, typed, and loaded when it is first needed.

google-re2 has no type stubs; what is used of it is written down here as protocols, and nothing
else in the package touches it. Knows nothing of threats.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

MEMORY_BYTES = 128 * 1024 * 1024
"""What one expression may use at most for its states; a hostile text makes many of them."""


class Match(Protocol):
    """A place where an expression matched."""

    def start(self) -> int:
        """Return where the match begins."""
        ...

    def end(self) -> int:
        """Return where the match ends."""
        ...


class Expression(Protocol):
    """A compiled expression over UTF-8; every search is linear in the text's length."""

    def finditer(self, text: bytes) -> Iterator[Match]:
        """Find all matches, leftmost first, none overlapping."""
        ...

    def search(self, text: bytes) -> Match | None:
        """Find the first match."""
        ...

    def match(self, text: bytes, pos: int, endpos: int) -> Match | None:
        """Find a match that begins at `pos` and ends by `endpos`, in sight of the whole text."""
        ...


class _Options(Protocol):
    max_mem: int
    log_errors: bool


class _Engine(Protocol):
    def Options(self) -> _Options: ...  # noqa: N802  # the engine's own name

    def compile(self, pattern: bytes, options: _Options) -> Expression: ...


def compiled(pattern: str) -> Expression:
    """Compile an expression in RE2's syntax, which has no look-around and no back-references."""
    engine = cast("_Engine", import_module("re2"))
    options = engine.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    return engine.compile(pattern.encode(), options)
