"""What is asked of a search and what it answers. Owns the limits; knows no ripgrep."""

from pathlib import Path
from typing import Literal

from acp_server.frozen import frozen

Target = Literal["content", "files"]
OutputMode = Literal["content", "files_only", "count"]

MAX_LIMIT = 500
MAX_CONTEXT = 20
MAX_PATTERN_CHARS = 4000
MAX_HITS = 50


class SearchError(Exception):
    """A search that cannot be made. `reason` says in a sentence what to do instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@frozen
class Query:
    """One search below `root`, a folder or a file. `limit` and `offset` count what is listed."""

    pattern: str
    root: Path
    target: Target = "content"
    file_glob: str | None = None
    limit: int = 50
    offset: int = 0
    output_mode: OutputMode = "content"
    context: int = 0


@frozen
class Hit:
    """A place to open. A file that was found as a whole is opened at line 1."""

    path: Path
    line: int


@frozen
class Found:
    """The answer: text for the model, the first hits, and how many there are if that is known."""

    text: str
    hits: tuple[Hit, ...]
    total: int | None
    is_truncated: bool


def check_query(query: Query) -> None:
    """Refuse a query that no search could answer.

    Raises:
        SearchError: a value is empty or out of its range.
    """
    if not query.pattern:
        raise SearchError("the pattern is empty: give a regex, or target='files' with '*'")
    if len(query.pattern) > MAX_PATTERN_CHARS or "\0" in query.pattern:
        raise SearchError(f"give a pattern of at most {MAX_PATTERN_CHARS} characters, without NUL")
    if query.file_glob is not None and (not query.file_glob or "\0" in query.file_glob):
        raise SearchError("file_glob is empty: leave it out, or give '*.py'")
    _check_range("limit", query.limit, 1, MAX_LIMIT)
    _check_range("offset", query.offset, 0, 10**9)
    _check_range("context", query.context, 0, MAX_CONTEXT)


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise SearchError(f"{name} is {value}: give a number from {least} to {most}")
