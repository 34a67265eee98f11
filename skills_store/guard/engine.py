"""The linear expression engine, typed, and loaded when it is first needed. Knows no rules.

google-re2 has no type stubs; what is used of it is written down here as protocols.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

MEMORY_BYTES = 64 * 1024 * 1024
"""What one expression may use at most for its states; a hostile text makes many of them."""


class Match(Protocol):
    """A place where an expression matched."""

    @property
    def lastindex(self) -> int | None:
        """The number of the group that matched last."""
        ...

    def start(self, group: int = 0) -> int:
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


class _Options(Protocol):
    max_mem: int
    log_errors: bool
    case_sensitive: bool


class _Engine(Protocol):
    def Options(self) -> _Options: ...  # noqa: N802  # the engine's own name

    def compile(self, pattern: bytes, options: _Options) -> Expression: ...


def compiled(pattern: str) -> Expression:
    """Compile an expression in RE2's syntax; its letters match in either case."""
    engine = cast("_Engine", import_module("re2"))
    options = engine.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    options.case_sensitive = False
    return engine.compile(pattern.encode(), options)
