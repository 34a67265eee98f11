"""Explain in one sentence why nothing was found, by a few quick probes. Decides nothing else."""

import os
import re
from collections.abc import Sequence

from acp_server.tools.search.formatting import name_text
from acp_server.tools.search.globs import NamePredicate, match_names
from acp_server.tools.search.pattern_search import glob_arguments, run_pattern
from acp_server.tools.search.query import Query
from acp_server.tools.search.records import NAME, Records
from acp_server.tools.search.ripgrep import run_ripgrep
from acp_server.tools.search.search_root import Place

LOOK_SECONDS = 2.0
_UNIGNORED = ("--no-ignore", "--no-ignore-files")
_FILE_PATTERN = re.compile(r"\*\S*|[\w./-]*\*\.\w+")
_REGEX_SIGNS = re.compile(r"\.\*|\\\.|\$$|^\^|\|")


class _First:
    """Collects the first accepted name, then stops reading."""

    def __init__(self, accepts: NamePredicate) -> None:
        self._records = Records(NAME)
        self._accepts = accepts
        self.name: bytes | None = None

    def feed(self, chunk: bytes) -> bool:
        for record in self._records.feed(chunk):
            path = record[1].removeprefix(b"./").decode("utf-8", "surrogateescape")
            if self.name is None and self._accepts(path):
                self.name = record[1]
        return self.name is None


async def explain_no_lines(query: Query, place: Place) -> str:
    """Return a sentence that no line matches, with a likely reason."""
    found = f"No match in {name_text(os.fsencode(place.argument)) or 'the workspace'}."
    if _FILE_PATTERN.fullmatch(query.pattern):
        return f"{found} For file names use target='files'."
    narrowing, accepts = glob_arguments(query.file_glob)
    if query.file_glob and await _first_file(place, narrowing, accepts) is None:
        return f"{found} No file matches file_glob {query.file_glob!r}."
    if await _first_match(query, place, ("--ignore-case",)) is not None:
        return f"{found} With other case there is: put (?i) in front."
    ignored = None if place.is_file else await _first_match(query, place, _UNIGNORED)
    if ignored is not None:
        return f"{found} Ignored files match, such as {name_text(ignored)}: give that as path."
    return found


async def explain_no_files(query: Query, place: Place) -> str:
    """Return a sentence that no file name matches, with a likely reason."""
    found = f"No file matches {query.pattern!r}."
    narrowing, accepts = glob_arguments(query.file_glob)
    matches = match_names(query.pattern)
    ignored = await _first_file(
        place, (*narrowing, *_UNIGNORED), lambda path: matches(path) and accepts(path)
    )
    if ignored is not None:
        return f"{found} An ignored one does: {name_text(ignored)}."
    if _REGEX_SIGNS.search(query.pattern):
        return f"{found} Give a glob such as '*.py', not a regex."
    return found


async def _first_file(
    place: Place, arguments: Sequence[str], accepts: NamePredicate
) -> bytes | None:
    first = _First(accepts)
    command = (
        "--files",
        "--line-buffered",
        "--sort=path",
        *place.rules,
        *arguments,
        "--",
        place.argument,
    )
    await run_ripgrep(command, place, first.feed, LOOK_SECONDS)
    return first.name


async def _first_match(query: Query, place: Place, arguments: Sequence[str]) -> bytes | None:
    narrowing, accepts = glob_arguments(query.file_glob)
    first = _First(accepts)
    names = ("--files-with-matches", "--line-buffered", "--sort=path", *narrowing, *arguments)
    await run_pattern(query, place, names, first.feed, LOOK_SECONDS)
    return first.name
