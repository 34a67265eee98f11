"""The search: turns a query into ripgrep runs and their output into one result.

Matches are read in path order, which ripgrep provides only with a single thread. So the same tree
gives the same bytes, pages fit together, and a common word ends the run early. With many threads
all output would have to be collected and sorted first, for a little more than half the time.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from anyio import to_thread

from acp_server.tools.search.explanations import explain_no_files, explain_no_lines
from acp_server.tools.search.formatting import (
    count_by_directory,
    format_content,
    format_counts,
    format_footer,
    format_listing,
)
from acp_server.tools.search.globs import compile_name_predicate
from acp_server.tools.search.match_page import MatchPage
from acp_server.tools.search.pattern_search import (
    TIMEOUT_SECONDS,
    SearchAttempt,
    build_glob_arguments,
    run_pattern_search,
)
from acp_server.tools.search.query import (
    MAX_HITS,
    FileSearchQuery,
    SearchError,
    SearchHit,
    SearchResult,
    check_query,
)
from acp_server.tools.search.ranking import path_rank
from acp_server.tools.search.records import COUNT_RECORD, NAME_RECORD, FileCollector, decode_name
from acp_server.tools.search.ripgrep import run_ripgrep
from acp_server.tools.search.search_root import SearchRoot, resolve_search_root

NameSymbols = Callable[[Sequence[SearchHit]], Awaitable[Mapping[SearchHit, str]]]
"""Returns the names of the symbols that lines are inside of, as far as they are known."""

_LINE_ARGUMENTS = (
    "--sort=path",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--column",
    "--crlf",
    "--no-context-separator",
)
_COUNT_ARGUMENTS = ("--sort=path", "--count", "--with-filename", "--crlf")
_NAME_ARGUMENTS = ("--sort=path", "--files-with-matches", "--crlf")


async def search(
    query: FileSearchQuery,
    workspace_root: Path,
    exclude: Sequence[str] = (),
    launcher: tuple[str, ...] = (),
    program_free_roots: tuple[Path, ...] = (),
    name_symbols: NameSymbols | None = None,
) -> SearchResult:
    """Search below a root; `exclude` are .gitignore globs of files that are never read.

    Paths are relative to the workspace. `launcher` starts ripgrep confined to the root that was
    checked. ripgrep is never taken from `program_free_roots`. `name_symbols` names what lines are
    inside of, where that is cheap. The run has ended when this returns
    or is cancelled.

    Raises:
        SearchError: The query, its root or its pattern is invalid.
    """
    check_query(query)
    unconfined_root = await to_thread.run_sync(
        resolve_search_root, query.root, workspace_root, exclude
    )
    search_root = replace(unconfined_root, launcher=launcher, program_free_roots=program_free_roots)
    if query.target == "files":
        return await _search_names(query, search_root)
    if query.output_mode == "content":
        return await _search_lines(query, search_root, name_symbols)
    return await _search_files(query, search_root)


async def _search_lines(
    query: FileSearchQuery, search_root: SearchRoot, name_symbols: NameSymbols | None
) -> SearchResult:
    glob_arguments, accepts = build_glob_arguments(query.file_glob)
    page = MatchPage(query, accepts)
    arguments = (*_LINE_ARGUMENTS, f"--context={query.context}", *glob_arguments)
    attempt = await run_pattern_search(query, search_root, arguments, page.feed, TIMEOUT_SECONDS)
    page.finish()
    total = page.match_count if attempt.result.is_complete else None
    if not page.hits:
        if page.match_count:
            text = _past_end_text(query, page.match_count)
        elif page.is_binary:
            text = f"{query.root} is binary: it matches, but has no lines to show."
        elif attempt.stop_reason:
            text = f"[{attempt.stop_reason}]"
        else:
            text = await explain_no_lines(query, search_root)
        return SearchResult(_join_parts(attempt.note, text), (), total)
    footer = format_footer(total, page.next_offset, attempt.stop_reason, page.matches_left)
    hits = tuple(
        SearchHit(search_root.resolve_name(hit.name), hit.number) for hit in page.hits[:MAX_HITS]
    )
    symbols: dict[tuple[bytes, int], str] = {}
    if name_symbols is not None and not query.context:
        named = await name_symbols(hits)
        symbols = {
            (line.name, line.number): named[hit]
            for line, hit in zip(page.hits, hits, strict=False)
            if hit in named
        }
    text = format_content(page.shown_lines, has_context=query.context > 0, symbols=symbols)
    return SearchResult(_join_parts(attempt.note, text, footer), hits, total)


async def _search_files(query: FileSearchQuery, search_root: SearchRoot) -> SearchResult:
    """List the files with a match: source first, else in path order."""
    glob_arguments, accepts = build_glob_arguments(query.file_glob)
    is_count = query.output_mode == "count"
    record_pattern, arguments = (
        (COUNT_RECORD, _COUNT_ARGUMENTS) if is_count else (NAME_RECORD, _NAME_ARGUMENTS)
    )
    collector = FileCollector(record_pattern, accepts)
    attempt = await run_pattern_search(
        query, search_root, (*arguments, *glob_arguments), collector.feed, TIMEOUT_SECONDS
    )
    if not collector.files and not attempt.stop_reason:
        text = await explain_no_lines(query, search_root)
        return SearchResult(_join_parts(attempt.note, text), (), 0)
    # Stable: path order within each rank.
    files = sorted(collector.files, key=lambda file: path_rank(decode_name(file[0])))
    return _list_files(query, search_root, files, attempt)


async def _search_names(query: FileSearchQuery, search_root: SearchRoot) -> SearchResult:
    """List the files with a matching name: the top level first, then source before the rest."""
    glob_arguments, accepts = build_glob_arguments(query.file_glob)
    matches = compile_name_predicate(query.pattern)
    collector = FileCollector(NAME_RECORD, lambda path: matches(path) and accepts(path))
    command = (
        "--files",
        *search_root.ignore_arguments,
        *glob_arguments,
        "--",
        search_root.argument,
    )
    result = await run_ripgrep(command, search_root, collector.feed, TIMEOUT_SECONDS)
    if result.error_text:
        raise SearchError(f"ripgrep refused the search: {result.error_text.strip()}")
    attempt = SearchAttempt(result)
    if not collector.files and not attempt.stop_reason:
        return SearchResult(await explain_no_files(query, search_root), (), 0)
    files = await to_thread.run_sync(partial(sorted, key=_listing_key), collector.files)
    return _list_files(query, search_root, files, attempt)


def _listing_key(file: tuple[bytes, int]) -> tuple[bool, int, str, int, str]:
    """Sort key: the top level, then directories by rank; the files of each stay together."""
    directory, slash, name = decode_name(file[0]).rpartition("/")
    return bool(slash), path_rank(f"{directory}/"), directory, path_rank(name), name


def _list_files(
    query: FileSearchQuery,
    search_root: SearchRoot,
    files: Sequence[tuple[bytes, int]],
    attempt: SearchAttempt,
) -> SearchResult:
    total = len(files) if attempt.result.is_complete else None
    page = files[query.offset : query.offset + query.limit]
    left = count_by_directory(name for name, _ in files[query.offset + len(page) :])
    footer = format_footer(total, query.offset + len(page), attempt.stop_reason, left)
    past_end = "" if page else _past_end_text(query, len(files))
    is_count = query.target == "content" and query.output_mode == "count"
    text = format_counts(page) if is_count else format_listing([name for name, _ in page])
    hits = tuple(SearchHit(search_root.resolve_name(name), 1) for name, _ in page[:MAX_HITS])
    text = _join_parts(attempt.note, past_end, text, "" if past_end else footer)
    return SearchResult(text, hits, total)


def _past_end_text(query: FileSearchQuery, count: int) -> str:
    return f"offset {query.offset} is past the last of {count}." if count else ""


def _join_parts(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
