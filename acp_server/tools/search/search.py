"""The search: turns a query into ripgrep runs and their output into one result.

Results are in path order, which ripgrep provides only with a single thread. So the same tree gives
the same bytes, pages fit together, and a common word ends the run early. With many threads all
output would have to be collected and sorted first, for a little more than half the time.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.search.explanations import explain_no_files, explain_no_lines
from acp_server.tools.search.formatting import (
    closing_text,
    content_text,
    count_text,
    listing_text,
)
from acp_server.tools.search.globs import NamePredicate, match_names
from acp_server.tools.search.match_page import Page
from acp_server.tools.search.pattern_search import (
    TIMEOUT_SECONDS,
    Attempt,
    glob_arguments,
    run_pattern,
)
from acp_server.tools.search.query import MAX_HITS, Found, Hit, Query, SearchError, check_query
from acp_server.tools.search.records import COUNT, NAME, Records
from acp_server.tools.search.ripgrep import run_ripgrep
from acp_server.tools.search.search_root import Place, place_of

_LINES = (
    "--sort=path",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--column",
    "--crlf",
    "--no-context-separator",
)
_COUNTS = ("--sort=path", "--count", "--with-filename", "--crlf")
_NAMES = ("--sort=path", "--files-with-matches", "--crlf")


@frozen
class _Listed:
    """Listed files in order, with the number of matching lines if counts were requested."""

    files: Sequence[tuple[bytes, int]]
    attempt: Attempt


async def search(
    query: Query,
    workspace_root: Path,
    exclude: Sequence[str] = (),
    launcher: tuple[str, ...] = (),
) -> Found:
    """Search below a root; `exclude` are .gitignore globs of files that are never read.

    Paths are relative to the workspace. `launcher` starts ripgrep confined to the root that was
    checked. The run has ended when this returns or is cancelled.

    Raises:
        SearchError: The query, its root or its pattern is invalid.
    """
    check_query(query)
    found = await to_thread.run_sync(place_of, query.root, workspace_root, exclude)
    place = replace(found, launcher=launcher)
    if query.target == "files":
        return await _search_names(query, place)
    if query.output_mode == "content":
        return await _search_lines(query, place)
    return await _search_files(query, place)


async def _search_lines(query: Query, place: Place) -> Found:
    narrowing, accepts = glob_arguments(query.file_glob)
    page = Page(query, accepts)
    arguments = (*_LINES, f"--context={query.context}", *narrowing)
    attempt = await run_pattern(query, place, arguments, page.feed, TIMEOUT_SECONDS)
    total = page.counted if attempt.ending.is_whole else None
    if not page.hits:
        text = _past_the_end(query, page.counted) or await _no_lines(query, place, page, attempt)
        return Found(_joined(attempt.note, text), (), total, is_truncated=total is None)
    closing = closing_text(total, page.next_offset, attempt.stopped)
    text = content_text(page.shown, has_context=query.context > 0)
    hits = tuple(Hit(place.path_of(hit.name), hit.number) for hit in page.hits[:MAX_HITS])
    return Found(_joined(attempt.note, text, closing), hits, total, bool(closing))


async def _no_lines(query: Query, place: Place, page: Page, attempt: Attempt) -> str:
    if page.is_binary:
        return f"{query.root} is binary: it matches, but has no lines to show."
    if attempt.stopped:
        return f"[{attempt.stopped}]"
    return await explain_no_lines(query, place)


async def _search_files(query: Query, place: Place) -> Found:
    """List the files with a match, in path order."""
    narrowing, accepts = glob_arguments(query.file_glob)
    wants_counts = query.output_mode == "count"
    shape, arguments = (COUNT, _COUNTS) if wants_counts else (NAME, _NAMES)
    files: list[tuple[bytes, int]] = []
    feed = _collector(Records(shape), files, accepts)
    attempt = await run_pattern(query, place, (*arguments, *narrowing), feed, TIMEOUT_SECONDS)
    if not files and not attempt.stopped:
        text = await explain_no_lines(query, place)
        return Found(_joined(attempt.note, text), (), 0, is_truncated=False)
    return _list_files(query, place, _Listed(files, attempt))


async def _search_names(query: Query, place: Place) -> Found:
    """List the files with a matching name, newest first."""
    narrowing, accepts = glob_arguments(query.file_glob)
    matches = match_names(query.pattern)
    files: list[tuple[bytes, int]] = []
    feed = _collector(Records(NAME), files, lambda path: matches(path) and accepts(path))
    command = ("--files", *place.rules, *narrowing, "--", place.argument)
    ending = await run_ripgrep(command, place, feed, TIMEOUT_SECONDS)
    if ending.complaint:
        raise SearchError(f"ripgrep refused the search: {ending.complaint.strip()}")
    attempt = Attempt(ending, ())
    if not files and not attempt.stopped:
        return Found(await explain_no_files(query, place), (), 0, is_truncated=False)
    newest = await to_thread.run_sync(_newest_first, files, place.cwd)
    return _list_files(query, place, _Listed(newest, attempt))


def _collector(
    records: Records, files: list[tuple[bytes, int]], accepts: NamePredicate
) -> Callable[[bytes], bool]:
    def feed(chunk: bytes) -> bool:
        for record in records.feed(chunk):
            path = record[1].removeprefix(b"./").decode("utf-8", "surrogateescape")
            if accepts(path):
                count = int(record[2]) if record.re is COUNT else 0
                files.append((record[1], count))
        return True

    return feed


def _newest_first(files: Sequence[tuple[bytes, int]], cwd: Path) -> list[tuple[bytes, int]]:
    return sorted(files, key=lambda file: (-_modified(cwd / os.fsdecode(file[0])), file[0]))


def _modified(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:  # removed since it was listed
        return 0


def _list_files(query: Query, place: Place, listed: _Listed) -> Found:
    total = len(listed.files) if listed.attempt.ending.is_whole else None
    page = listed.files[query.offset : query.offset + query.limit]
    closing = closing_text(total, query.offset + len(page), listed.attempt.stopped)
    past = "" if page else _past_the_end(query, len(listed.files))
    is_count = query.target == "content" and query.output_mode == "count"
    text = count_text(page) if is_count else listing_text([name for name, _ in page])
    hits = tuple(Hit(place.path_of(name), 1) for name, _ in page[:MAX_HITS])
    text = _joined(listed.attempt.note, past, text, "" if past else closing)
    return Found(text, hits, total, is_truncated=bool(closing) and not past)


def _past_the_end(query: Query, count: int) -> str:
    return f"offset {query.offset} is past the last of {count}." if count else ""


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
