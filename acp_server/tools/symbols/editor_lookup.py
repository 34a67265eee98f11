"""Answers of the editor's language features, with the text of the files that may be read.

Security: the editor answers with places in any file. Text is added here, and only of files that the
call may read; of protected files not even the place is told.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.session.ports.editor import EditorSymbol, EditorTextPlace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.errors import FileError
from acp_server.tools.symbols.grammars import GrammarError
from acp_server.tools.symbols.lookup import FileReferences, FoundDefinition
from acp_server.tools.symbols.outline import CodeSymbol, find_symbols
from acp_server.tools.symbols.source_files import SourceFile, SourceTree


@frozen_dataclass
class RenamePreview:
    """A file with the lines that a rename would give it."""

    source: SourceFile
    new_lines: Sequence[str]
    first_line: int
    count: int
    """How many places in it change."""


@frozen_dataclass
class EditorPlaces:
    """Places of an answer: those in files that may be read, and those outside the workspace."""

    by_file: Sequence[tuple[SourceFile, Sequence[EditorTextPlace]]]
    outside: Sequence[EditorTextPlace]


def to_code_symbol(symbol: EditorSymbol) -> CodeSymbol:
    """Return a symbol of the editor as those of the parser."""
    name = symbol.name, symbol.kind, symbol.containers
    return CodeSymbol(*name, symbol.line, symbol.end_line, 0, symbol.name_line)


async def read_definitions(
    tree: SourceTree, symbols: Sequence[EditorSymbol]
) -> tuple[Sequence[FoundDefinition], Sequence[EditorSymbol]]:
    """Return the definitions in files that may be read, and the symbols outside the workspace."""
    sources: dict[Path, SourceFile | None] = {}
    found: list[FoundDefinition] = []
    outside: list[EditorSymbol] = []
    for symbol in symbols:
        if symbol.path not in sources:
            sources[symbol.path] = await tree.read_any(symbol.path)
        source = sources[symbol.path]
        if source is not None:
            found.append(FoundDefinition(source, to_code_symbol(symbol)))
        elif await _is_outside(tree, symbol.path):
            outside.append(symbol)
    return found, outside


async def read_places(tree: SourceTree, places: Sequence[EditorTextPlace]) -> EditorPlaces:
    """Return places by file, in the order of the answer."""
    by_path: dict[Path, list[EditorTextPlace]] = defaultdict(list)
    for place in places:
        by_path[place.path].append(place)
    by_file: list[tuple[SourceFile, Sequence[EditorTextPlace]]] = []
    outside: list[EditorTextPlace] = []
    for path, each in by_path.items():
        source = await tree.read_any(path)
        if source is not None:
            by_file.append((source, each))
        elif await _is_outside(tree, path):
            outside += each
    return EditorPlaces(by_file, outside)


async def _is_outside(tree: SourceTree, path: Path) -> bool:
    """Return whether a file is in no directory of the workspace, and not protected either."""
    try:
        resolved = await tree.services.resolve(str(path))
    except FileError:  # an impossible path
        return False
    return not resolved.is_in_workspace and await tree.services.gate.can_preview(resolved.real)


async def to_references(places: EditorPlaces) -> Sequence[FileReferences]:
    """Return references with the symbols that they are in, if a grammar knows these."""
    return [
        FileReferences(
            source,
            sorted((place.line, place.column) for place in each),
            await to_thread.run_sync(_symbols_in, source),
        )
        for source, each in places.by_file
    ]


def _symbols_in(source: SourceFile) -> Sequence[CodeSymbol]:
    try:
        return find_symbols(source.data, source.language) if source.language else ()
    except GrammarError:
        return ()


def apply_places(source: SourceFile, places: Sequence[EditorTextPlace]) -> RenamePreview:
    """Return a file with its places replaced by their new texts."""
    lines, text = source.lines, source.text
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        index = min(max(line, 1), len(lines)) - 1
        return starts[index] + _character_offset(lines[index], column)

    # From the end, so that earlier offsets stay right.
    for place in sorted(places, key=lambda each: (each.line, each.column), reverse=True):
        start, end = offset(place.line, place.column), offset(place.end_line, place.end_column)
        text = f"{text[:start]}{place.new_text}{text[max(start, end) :]}"
    first_line = min(place.line for place in places)
    return RenamePreview(source, text.split("\n"), first_line, len(places))


def _character_offset(line: str, column: int) -> int:
    """Return the offset of a column that counts UTF-16 units.

    >>> _character_offset("a😀b", 3)
    2
    """
    units = line.encode("utf-16-le", "surrogatepass")[: 2 * column]
    return len(units.decode("utf-16-le", "ignore"))
