"""Typed access to google-re2, a regular expression engine with linear-time matching.

Loaded on first use. google-re2 has no type stubs; the part that is used is declared here as
protocols, and no other module of the package imports it. Independent of threats.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

MEMORY_BYTES = 128 * 1024 * 1024
"""Maximum memory of one expression for its states; a hostile text creates many states."""


class Re2Match(Protocol):
    """Match of an expression; offsets are in bytes."""

    def start(self) -> int:
        """Return the offset of the first matched byte."""
        ...

    def end(self) -> int:
        """Return the offset after the last matched byte."""
        ...


class Re2Expression(Protocol):
    """Compiled expression over UTF-8; every search is linear in the length of the text."""

    def finditer(self, text: bytes) -> Iterator[Re2Match]:
        """Yield all matches, leftmost first and non-overlapping."""
        ...

    def search(self, text: bytes) -> Re2Match | None:
        """Return the first match."""
        ...

    def match(self, text: bytes, pos: int, endpos: int) -> Re2Match | None:
        """Return a match that starts at `pos` and ends by `endpos`; assertions see all the text."""
        ...


class _Re2Options(Protocol):
    max_mem: int
    log_errors: bool
    case_sensitive: bool


class _Re2Module(Protocol):
    def Options(self) -> _Re2Options: ...  # noqa: N802  # the engine's own name

    def compile(self, pattern: bytes, options: _Re2Options) -> Re2Expression: ...


def compile_expression(pattern: str, *, ignores_case: bool = False) -> Re2Expression:
    """Compile an expression in RE2 syntax, which has no look-around and no back-references."""
    engine = cast("_Re2Module", import_module("re2"))
    options = engine.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    options.case_sensitive = not ignores_case
    return engine.compile(pattern.encode(), options)
