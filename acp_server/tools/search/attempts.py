"""A pattern on its way to ripgrep: tried as it is, then as ripgrep's complaint suggests.

Owns the arguments that every content search has in common and the table of complaints. Keeps no
results: an attempt that fails has written none.
"""

from collections.abc import Sequence

from acp_server.frozen import frozen
from acp_server.tools.search.globs import NamePredicate, last_part, match_glob
from acp_server.tools.search.place import Place
from acp_server.tools.search.query import Query, SearchError
from acp_server.tools.search.ripgrep import Ending, Feed, run_ripgrep

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
    """How the last attempt ended, the flags it took, and what to say about them."""

    ending: Ending
    flags: tuple[str, ...]
    note: str = ""

    @property
    def stopped(self) -> str:
        """Why the results are not all there are; empty if they are, or were not all wanted."""
        late = f"stopped after {TIMEOUT_SECONDS:.0f} s: narrow the path or the pattern"
        return late if self.ending.is_late else ""


def glob_arguments(file_glob: str | None) -> tuple[tuple[str, ...], NamePredicate]:
    """Return how ripgrep narrows its walk to a glob, and the predicate that decides.

    A `--glob` would also bring back files that are ignored, so the name's part is given as a
    file type, which does not, and paths are held against the whole glob afterwards.
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
    """Search for a pattern, as a regex if it is one, else as the text it is.

    Raises:
        SearchError: ripgrep does not understand the pattern or a glob.
    """
    size = () if place.is_file else (f"--max-filesize={MAX_FILE_SIZE}",)
    fixed = (*arguments, *size, *place.rules)
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
        if words in complaint and flag not in flags:
            return flag
    raise SearchError(f"ripgrep refused the search: {_cause(complaint)}")


def _cause(complaint: str) -> str:
    line = complaint.strip().splitlines()[-1]
    return line.removeprefix("error: ").removeprefix("rg: ")
