"""Run one pattern search with ripgrep; retry it with the flags that its error message suggests.

Owns the arguments common to all content searches, and the table of error messages. Results need no
reset between attempts: a failing attempt has not written any.
"""

from collections.abc import Sequence

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.search.globs import NamePredicate, compile_glob, file_name_glob
from acp_server.tools.search.query import FileSearchQuery, SearchError
from acp_server.tools.search.ripgrep import ChunkCallback, RipgrepResult, run_ripgrep
from acp_server.tools.search.search_root import SearchRoot

TIMEOUT_SECONDS = 20.0
MAX_FILE_SIZE = "100M"

_FALLBACK_FLAGS = (
    ("--multiline", "--multiline"),
    ("look-around", "--pcre2"),
    ("backreferences", "--pcre2"),
    ("regex parse error", "--fixed-strings"),
)
_NO_PCRE2 = (
    "look-around and backreferences are not supported here: use a plain regex, search for a "
    "part of it, and look at the context"
)


@frozen_dataclass
class SearchAttempt:
    """The final attempt: its result, and a note about the flags that it needed."""

    result: RipgrepResult
    note: str = ""

    @property
    def stop_reason(self) -> str:
        """Why results are missing; empty if they are complete or no more were wanted."""
        message = f"stopped after {TIMEOUT_SECONDS:.0f} s: narrow the path or the pattern"
        return message if self.result.has_timed_out else ""


def build_glob_arguments(file_glob: str | None) -> tuple[tuple[str, ...], NamePredicate]:
    """Return ripgrep arguments that narrow its walk to a glob, and the deciding predicate.

    `--glob` would also include ignored files. A file type does not, so the file-name part of the
    glob is passed as a type, and the predicate then matches each path against the whole glob.
    """
    if file_glob is None:
        return (), lambda _: True
    if file_glob.startswith("!"):
        return (f"--glob={file_glob}",), lambda _: True
    name = file_name_glob(file_glob)
    glob_arguments = () if name is None else (f"--type-add=wanted:{name}", "--type=wanted")
    return glob_arguments, compile_glob(file_glob)


async def run_pattern_search(
    query: FileSearchQuery,
    search_root: SearchRoot,
    arguments: Sequence[str],
    feed: ChunkCallback,
    timeout_seconds: float,
) -> SearchAttempt:
    """Search for a pattern as a regex; as literal text if it is no valid regex.

    Raises:
        SearchError: ripgrep rejects the pattern or a glob.
    """
    size_arguments = () if search_root.is_file else (f"--max-filesize={MAX_FILE_SIZE}",)
    base_arguments = (*arguments, *size_arguments, *search_root.ignore_arguments)
    # Security: `--regexp=` and `--` keep a pattern or path with a leading dash from becoming a
    # flag; ripgrep has flags that start programs (`--pre`).
    pattern_arguments = (f"--regexp={query.pattern}", "--", search_root.argument)
    flags: tuple[str, ...] = ()
    note = ""
    while True:
        result = await run_ripgrep(
            (*base_arguments, *flags, *pattern_arguments), search_root, feed, timeout_seconds
        )
        if not result.error_text:
            return SearchAttempt(result, note)
        flag = _fallback_flag(result.error_text, flags)
        if flag == "--fixed-strings":
            note = f"[not a regex ({_error_line(result.error_text)}): searched as plain text]"
        flags = (*flags, flag)


def _fallback_flag(error_text: str, flags: Sequence[str]) -> str:
    if "PCRE2 is not available" in error_text:
        raise SearchError(_NO_PCRE2)
    for words, flag in _FALLBACK_FLAGS:
        # Each flag at most once, so that the retry loop ends.
        if words in error_text and flag not in flags:
            return flag
    raise SearchError(f"ripgrep refused the search: {_error_line(error_text)}")


def _error_line(error_text: str) -> str:
    line = error_text.strip().splitlines()[-1]
    return line.removeprefix("error: ").removeprefix("rg: ")
