"""Typed access to google-re2 for the guard. Loaded on first use; independent of the rules.

google-re2 has no type stubs; the part that is used is declared here as protocols.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

MEMORY_BYTES = 64 * 1024 * 1024
"""Maximum memory of one expression for its states; a hostile text creates many states."""


class GuardMatch(Protocol):
    """Match of an expression; offsets are in bytes."""

    @property
    def lastindex(self) -> int | None:
        """Number of the last matched group."""
        ...

    def start(self, group: int = 0) -> int:
        """Return the offset of the first byte of the match or group."""
        ...

    def end(self) -> int:
        """Return the offset after the last matched byte."""
        ...


class GuardExpression(Protocol):
    """Compiled expression over UTF-8; every search is linear in the length of the text."""

    def finditer(self, text: bytes) -> Iterator[GuardMatch]:
        """Yield all matches, leftmost first and non-overlapping."""
        ...

    def search(self, text: bytes) -> GuardMatch | None:
        """Return the first match."""
        ...


class _GuardRe2Options(Protocol):
    max_mem: int
    log_errors: bool
    case_sensitive: bool


class _GuardRe2Module(Protocol):
    def Options(self) -> _GuardRe2Options: ...  # noqa: N802  # the engine's own name

    def compile(self, pattern: bytes, options: _GuardRe2Options) -> GuardExpression: ...


def compile_expression(pattern: str) -> GuardExpression:
    """Compile an expression in RE2 syntax, case-insensitively."""
    engine = cast("_GuardRe2Module", import_module("re2"))
    options = engine.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    options.case_sensitive = False
    return engine.compile(pattern.encode(), options)
