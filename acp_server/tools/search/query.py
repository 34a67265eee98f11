"""Search request and result, and their limits. Independent of ripgrep."""

from pathlib import Path
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.errors import ToolError

SearchTarget = Literal["content", "files"]
OutputMode = Literal["content", "files_only", "count"]

MAX_PATTERN_CHARS = 4000
MAX_HITS = 50


class SearchError(ToolError):
    """A search that cannot be run. `reason` is a sentence that says what to do instead."""


@frozen_dataclass
class FileSearchQuery:
    """One search below `root`, a directory or file. `limit` and `offset` count listed items."""

    pattern: str
    root: Path
    target: SearchTarget = "content"
    file_glob: str | None = None
    limit: int = 50
    offset: int = 0
    output_mode: OutputMode = "content"
    context: int = 0


@frozen_dataclass
class SearchHit:
    """A location to open. A file listed as a whole opens at line 1."""

    path: Path
    line: int


@frozen_dataclass
class SearchResult:
    """Result: text for the model, the first hits, and the total number if it is known."""

    text: str
    hits: tuple[SearchHit, ...]
    total: int | None


def check_query(query: FileSearchQuery) -> None:
    """Validate a query.

    Raises:
        SearchError: The pattern or the glob is empty, or cannot be passed to ripgrep.
    """
    if not query.pattern:
        raise SearchError("the pattern is empty: give a regex, or target='files' with '*'")
    if len(query.pattern) > MAX_PATTERN_CHARS or "\0" in query.pattern:
        raise SearchError(f"give a pattern of at most {MAX_PATTERN_CHARS} characters, without NUL")
    if query.file_glob is not None and (not query.file_glob or "\0" in query.file_glob):
        raise SearchError("file_glob is empty: leave it out, or give '*.py'")
