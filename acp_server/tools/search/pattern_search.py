"""Run one pattern search with ripgrep; retry it with the flags that its error message suggests.

Owns the arguments common to all content searches, and the table of error messages. Results need no
reset between attempts: a failing attempt has not written any.
"""

from collections.abc import Sequence

from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.search.globs import NamePredicate, last_part, match_glob
from acp_server.tools.search.query import Query, SearchError
from acp_server.tools.search.ripgrep import Ending, Feed, run_ripgrep
from acp_server.tools.search.search_root import Place

TIMEOUT_SECONDS = 20.0
MAX_FILE_SIZE = "100M"

_REMEDIES = (
    ("--multiline", "--multiline"),
    ("look-around", "--pcre2"),
    ("backreferences", "--pcre2"),
    ("regex parse error", "--fixed-strings"),
)
_NO_PCRE2 = (
    "look-around and backreferences are not supported here: use a plain regex, search for a "
    "part of it, and look at the context"
)


@frozen
class Attempt:
    """The final attempt: its result, the flags it needed, and a note about them."""

    ending: Ending
    flags: tuple[str, ...]
    note: str = ""

    @property
    def stopped(self) -> str:
        """Why results are missing; empty if they are complete or no more were wanted."""
        late = f"stopped after {TIMEOUT_SECONDS:.0f} s: narrow the path or the pattern"
        return late if self.ending.is_late else ""


def glob_arguments(file_glob: str | None) -> tuple[tuple[str, ...], NamePredicate]:
    """Return ripgrep arguments that narrow its walk to a glob, and the deciding predicate.

    `--glob` would also include ignored files. A file type does not, so the file-name part of the
    glob is passed as a type, and the predicate then matches each path against the whole glob.
    """
    if file_glob is None:
        return (), lambda _: True
    if file_glob.startswith("!"):
        return (f"--glob={file_glob}",), lambda _: True
    name = last_part(file_glob)
    narrowing = () if name is None else (f"--type-add=wanted:{name}", "--type=wanted")
    return narrowing, match_glob(file_glob)


async def run_pattern(
    query: Query, place: Place, arguments: Sequence[str], feed: Feed, timeout_seconds: float
) -> Attempt:
    """Search for a pattern as a regex; as literal text if it is no valid regex.

    Raises:
        SearchError: ripgrep rejects the pattern or a glob.
    """
    size = () if place.is_file else (f"--max-filesize={MAX_FILE_SIZE}",)
    fixed = (*arguments, *size, *place.rules)
    # Security: `--regexp=` and `--` keep a pattern or path with a leading dash from becoming a
    # flag; ripgrep has flags that start programs (`--pre`).
    last = (f"--regexp={query.pattern}", "--", place.argument)
    flags: tuple[str, ...] = ()
    note = ""
    while True:
        ending = await run_ripgrep((*fixed, *flags, *last), place, feed, timeout_seconds)
        if not ending.complaint:
            return Attempt(ending, flags, note)
        flag = _remedy(ending.complaint, flags)
        if flag == "--fixed-strings":
            note = f"[not a regex ({_cause(ending.complaint)}): searched as plain text]"
        flags = (*flags, flag)


def _remedy(complaint: str, flags: Sequence[str]) -> str:
    if "PCRE2 is not available" in complaint:
        raise SearchError(_NO_PCRE2)
    for words, flag in _REMEDIES:
        # Each flag at most once, so that the retry loop ends.
        if words in complaint and flag not in flags:
            return flag
    raise SearchError(f"ripgrep refused the search: {_cause(complaint)}")


def _cause(complaint: str) -> str:
    line = complaint.strip().splitlines()[-1]
    return line.removeprefix("error: ").removeprefix("rg: ")
