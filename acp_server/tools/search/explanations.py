"""Explain in one sentence why nothing was found, by a few quick probes. Decides nothing else."""

import os
import re
from collections.abc import Sequence

from acp_server.tools.search.formatting import format_name
from acp_server.tools.search.globs import NamePredicate, compile_name_predicate
from acp_server.tools.search.pattern_search import build_glob_arguments, run_pattern_search
from acp_server.tools.search.query import FileSearchQuery
from acp_server.tools.search.records import NAME_RECORD, RecordParser
from acp_server.tools.search.ripgrep import run_ripgrep
from acp_server.tools.search.search_root import SearchRoot

PROBE_TIMEOUT_SECONDS = 2.0
_NO_IGNORE_FLAGS = ("--no-ignore", "--no-ignore-files")
_FILE_PATTERN = re.compile(r"\*\S*|[\w./-]*\*\.\w+")
_LOOKS_LIKE_REGEX = re.compile(r"\.\*|\\\.|\$$|^\^|\|")


class _FirstName:
    """Collects the first accepted name, then stops reading."""

    def __init__(self, accepts: NamePredicate) -> None:
        self._records = RecordParser(NAME_RECORD)
        self._accepts = accepts
        self.name: bytes | None = None

    def feed(self, chunk: bytes) -> bool:
        for record in self._records.feed(chunk):
            path = record[1].removeprefix(b"./").decode("utf-8", "surrogateescape")
            if self.name is None and self._accepts(path):
                self.name = record[1]
        return self.name is None


async def explain_no_lines(query: FileSearchQuery, place: SearchRoot) -> str:
    """Return a sentence that no line matches, with a likely reason."""
    found = f"No match in {format_name(os.fsencode(place.argument)) or 'the workspace'}."
    if _FILE_PATTERN.fullmatch(query.pattern):
        return f"{found} For file names use target='files'."
    narrowing, accepts = build_glob_arguments(query.file_glob)
    if query.file_glob and await _first_file(place, narrowing, accepts) is None:
        return f"{found} No file matches file_glob {query.file_glob!r}."
    if await _first_match(query, place, ("--ignore-case",)) is not None:
        return f"{found} With other case there is: put (?i) in front."
    ignored = None if place.is_file else await _first_match(query, place, _NO_IGNORE_FLAGS)
    if ignored is not None:
        return f"{found} Ignored files match, such as {format_name(ignored)}: give that as path."
    return found


async def explain_no_files(query: FileSearchQuery, place: SearchRoot) -> str:
    """Return a sentence that no file name matches, with a likely reason."""
    found = f"No file matches {query.pattern!r}."
    narrowing, accepts = build_glob_arguments(query.file_glob)
    matches = compile_name_predicate(query.pattern)
    ignored = await _first_file(
        place, (*narrowing, *_NO_IGNORE_FLAGS), lambda path: matches(path) and accepts(path)
    )
    if ignored is not None:
        return f"{found} An ignored one does: {format_name(ignored)}."
    if _LOOKS_LIKE_REGEX.search(query.pattern):
        return f"{found} Give a glob such as '*.py', not a regex."
    return found


async def _first_file(
    place: SearchRoot, arguments: Sequence[str], accepts: NamePredicate
) -> bytes | None:
    first = _FirstName(accepts)
    command = (
        "--files",
        "--line-buffered",
        "--sort=path",
        *place.ignore_arguments,
        *arguments,
        "--",
        place.argument,
    )
    await run_ripgrep(command, place, first.feed, PROBE_TIMEOUT_SECONDS)
    return first.name


async def _first_match(
    query: FileSearchQuery, place: SearchRoot, arguments: Sequence[str]
) -> bytes | None:
    narrowing, accepts = build_glob_arguments(query.file_glob)
    first = _FirstName(accepts)
    names = ("--files-with-matches", "--line-buffered", "--sort=path", *narrowing, *arguments)
    await run_pattern_search(query, place, names, first.feed, PROBE_TIMEOUT_SECONDS)
    return first.name
