"""Names of the symbols that lines found by a search are inside of, in small files only.

What is parsed is bounded by bytes, not by time, so that the same tree gives the same result.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.files import disk
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.search.query import SearchHit
from acp_server.tools.symbols.grammars import GrammarError, language_of
from acp_server.tools.symbols.outline import CodeSymbol, enclosing_symbol, find_symbols
from acp_server.tools.symbols.source_files import SourceTree

MAX_FILES = 6
MAX_FILE_BYTES = 48 * 1024
MAX_TOTAL_BYTES = 128 * 1024


@frozen_dataclass
class _ParsedFile:
    size: int
    symbols: Sequence[CodeSymbol]


async def name_enclosing_symbols(
    services: EditServices, root: ResolvedPath, hits: Sequence[SearchHit]
) -> Mapping[SearchHit, str]:
    """Return the qualified names of what lines are inside of, in the first small source files.

    Files are read from the disk, as the search has read them.
    """
    paths = [path for path in dict.fromkeys(hit.path for hit in hits) if language_of(path.name)]
    if not paths:
        return {}
    tree = await SourceTree.below(services, None, root)
    left = MAX_TOTAL_BYTES
    names: dict[SearchHit, str] = {}
    for path in paths[:MAX_FILES]:
        parsed = await _parse(tree, path, min(left, MAX_FILE_BYTES))
        left -= parsed.size
        for hit in hits:
            symbol = enclosing_symbol(parsed.symbols, hit.line) if hit.path == path else None
            if symbol is not None:
                names[hit] = symbol.qualified_name
    return names


async def _parse(tree: SourceTree, path: Path, max_bytes: int) -> _ParsedFile:
    """Return the symbols of a file; none if it is too large, or may not be read."""
    try:
        resolved = await tree.services.resolve(str(path))
        if not await tree.may_read(resolved):
            return _ParsedFile(0, ())
        return await to_thread.run_sync(_parse_file, resolved, max_bytes)
    except (FileError, GrammarError):
        return _ParsedFile(0, ())


def _parse_file(resolved: ResolvedPath, max_bytes: int) -> _ParsedFile:
    status = disk.stat_file(resolved)
    language = language_of(resolved.path.name)
    if status is None or language is None or status.st_size > max_bytes:
        return _ParsedFile(0, ())
    file = disk.read_text_file(resolved)
    if file is None or len(file.text) > max_bytes:
        return _ParsedFile(0, ())
    source = file.text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    return _ParsedFile(len(source), find_symbols(source, language))
