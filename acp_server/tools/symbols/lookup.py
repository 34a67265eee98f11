"""Definitions and references of a name in the files of a tree, by their syntax.

A name is compared as it is written: which of several symbols of one name is meant, no syntax tells.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.symbols.grammars import GrammarError
from acp_server.tools.symbols.outline import (
    CodeSymbol,
    SymbolName,
    find_mentions_of,
    find_symbols,
)
from acp_server.tools.symbols.source_files import SourceFile, SourceTree

MAX_PARSED_FILES = 200
MAX_PARSED_BYTES = 8 * 1024 * 1024
"""How much source one call parses at most."""


@frozen_dataclass
class FoundDefinition:
    """A definition, and the file that has it."""

    source: SourceFile
    symbol: CodeSymbol


@frozen_dataclass
class FileReferences:
    """The places in one file where a name is an identifier."""

    source: SourceFile
    places: Sequence[tuple[int, int]]
    """Lines from 1, columns in bytes from 0."""
    symbols: Sequence[CodeSymbol]


@frozen_dataclass
class LookupCoverage:
    """How much a lookup has looked at."""

    files: int
    skipped: int = 0
    """Files with the word that were not parsed, because these were too many."""
    missing: frozenset[str] = frozenset()
    """Reasons why files could not be parsed."""


async def find_definitions(
    tree: SourceTree, name: SymbolName, paths: Sequence[Path]
) -> tuple[Sequence[FoundDefinition], LookupCoverage]:
    """Return the definitions of a name in these files."""

    def find(source: SourceFile) -> Sequence[FoundDefinition]:
        symbols = find_symbols(source.data, source.language)
        return [
            FoundDefinition(source, each)
            for each in symbols
            if each.kind != "impl" and name.matches(each)
        ]

    found: list[FoundDefinition] = []
    reader = _BoundedReader(tree, paths)
    while (source := await reader.read_next()) is not None:
        try:
            found += await to_thread.run_sync(find, source)
        except GrammarError as error:
            reader.reasons.add(error.reason)
    return found, reader.coverage


async def find_references(
    tree: SourceTree, name: str, paths: Sequence[Path]
) -> tuple[Sequence[FileReferences], LookupCoverage]:
    """Return the places in these files where a name is an identifier."""

    def find(source: SourceFile) -> FileReferences:
        places = find_mentions_of(source.data, source.language, name)
        symbols = find_symbols(source.data, source.language) if places else ()
        return FileReferences(source, places, symbols)

    found: list[FileReferences] = []
    reader = _BoundedReader(tree, paths)
    while (source := await reader.read_next()) is not None:
        try:
            references = await to_thread.run_sync(partial(find, source))
        except GrammarError as error:
            reader.reasons.add(error.reason)
            continue
        if references.places:
            found.append(references)
    return found, reader.coverage


class _BoundedReader:
    """Reads files one after the other, until they are too many."""

    def __init__(self, tree: SourceTree, paths: Sequence[Path]) -> None:
        self._tree = tree
        self._paths = paths
        self._next = 0
        self._read_files = 0
        self._read_bytes = 0
        self.reasons: set[str] = set()

    async def read_next(self) -> SourceFile | None:
        """Return the next file; None after the last one, and if the limit is reached."""
        while self._next < len(self._paths):
            if self._read_files >= MAX_PARSED_FILES or self._read_bytes >= MAX_PARSED_BYTES:
                return None
            source = await self._tree.read(self._paths[self._next])
            self._next += 1
            if source is not None:
                self._read_files += 1
                self._read_bytes += len(source.text)
                return source
        return None

    @property
    def coverage(self) -> LookupCoverage:
        """What was read so far."""
        return LookupCoverage(
            self._read_files, len(self._paths) - self._next, frozenset(self.reasons)
        )
