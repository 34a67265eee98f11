"""Explain in one sentence why nothing was found, by a few quick probes. Decides nothing else."""

import os
import re
from collections.abc import Sequence

from acp_server.tools.search.formatting import format_name
from acp_server.tools.search.globs import NamePredicate, compile_name_predicate
from acp_server.tools.search.pattern_search import build_glob_arguments, run_pattern_search
from acp_server.tools.search.query import FileSearchQuery
from acp_server.tools.search.records import NAME_RECORD, FileCollector
from acp_server.tools.search.ripgrep import run_ripgrep
from acp_server.tools.search.search_root import SearchRoot

PROBE_TIMEOUT_SECONDS = 2.0
_NO_IGNORE_FLAGS = ("--no-ignore", "--no-ignore-files")
_FILE_PATTERN = re.compile(r"\*\S*|[\w./-]*\*\.\w+")
_LOOKS_LIKE_REGEX = re.compile(r"\.\*|\\\.|\$$|^\^|\|")


async def explain_no_lines(query: FileSearchQuery, search_root: SearchRoot) -> str:
    """Return a sentence that no line matches, with a likely reason."""
    place = format_name(os.fsencode(search_root.argument))
    sentence = f"No match in {place}." if place else "No match."
    if _FILE_PATTERN.fullmatch(query.pattern):
        return f"{sentence} To find files by name, use target='files'."
    glob_arguments, accepts = build_glob_arguments(query.file_glob)
    if query.file_glob and await _first_file(search_root, glob_arguments, accepts) is None:
        return f"{sentence} No file matches file_glob {query.file_glob!r}."
    if await _first_match(query, search_root, ("--ignore-case",)) is not None:
        return f"{sentence} It matches if case is ignored: put (?i) in front."
    ignored = (
        None if search_root.is_file else await _first_match(query, search_root, _NO_IGNORE_FLAGS)
    )
    if ignored is not None:
        name = format_name(ignored)
        return f"{sentence} Ignored files match, such as {name}: to search it, give it as path."
    return sentence


async def explain_no_files(query: FileSearchQuery, search_root: SearchRoot) -> str:
    """Return a sentence that no file name matches, with a likely reason."""
    sentence = f"No file matches {query.pattern!r}."
    glob_arguments, accepts = build_glob_arguments(query.file_glob)
    matches = compile_name_predicate(query.pattern)
    ignored = await _first_file(
        search_root,
        (*glob_arguments, *_NO_IGNORE_FLAGS),
        lambda path: matches(path) and accepts(path),
    )
    if ignored is not None:
        return f"{sentence} An ignored file does: {format_name(ignored)}."
    if _LOOKS_LIKE_REGEX.search(query.pattern):
        return f"{sentence} Give a glob such as '*.py', not a regex."
    return sentence


async def _first_file(
    search_root: SearchRoot, arguments: Sequence[str], accepts: NamePredicate
) -> bytes | None:
    collector = FileCollector(NAME_RECORD, accepts, max_files=1)
    command = (
        "--files",
        "--line-buffered",
        "--sort=path",
        *search_root.ignore_arguments,
        *arguments,
        "--",
        search_root.argument,
    )
    await run_ripgrep(command, search_root, collector.feed, PROBE_TIMEOUT_SECONDS)
    return collector.files[0][0] if collector.files else None


async def _first_match(
    query: FileSearchQuery, search_root: SearchRoot, arguments: Sequence[str]
) -> bytes | None:
    glob_arguments, accepts = build_glob_arguments(query.file_glob)
    collector = FileCollector(NAME_RECORD, accepts, max_files=1)
    names = ("--files-with-matches", "--line-buffered", "--sort=path", *glob_arguments, *arguments)
    await run_pattern_search(query, search_root, names, collector.feed, PROBE_TIMEOUT_SECONDS)
    return collector.files[0][0] if collector.files else None
