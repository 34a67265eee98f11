"""Finds the files that an instruction file imports by `@path`.

As in Claude Code (https://docs.anthropic.com/en/docs/claude-code/memory): a path behind `@`, on a
line of its own or within a sentence, but not in code. It is relative to the file that names it. The
line stays as it is; the imported file follows as a file of its own, so that limits, the scan and
trust treat it like any other.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.mentions import TRAILING_MARKS, find_mentions
from prompt_engine.sources.file_reading import FileId
from prompt_engine.sources.instruction_files import InstructionSource
from prompt_engine.sources.paths import is_file, normalize, path_label

MAX_DEPTH = 4
MAX_IMPORTS = 20
"""Maximum number of files that one instruction file imports, directly and indirectly."""

ReadInstructions = Callable[[Path], InstructionSource | ContextFileNote | None]
"""Reads an instruction file: a note if it must not or cannot be read, None if it does not exist."""


def read_imports(
    source: InstructionSource, home: Path, read: ReadInstructions
) -> Iterator[InstructionSource | ContextFileNote]:
    """Yield the files that a file imports, each directly followed by its own imports.

    A file that imports itself through others is not repeated. A line of its own that names no
    readable file gives a note; a mention within a sentence does not.
    """
    seen: set[FileId] = {source.identity}
    pending = [(each, source, 1) for each in find_mentions(source.body)]
    count = 0
    while pending:
        imported, importer, depth = pending.pop(0)
        path = _locate(imported.path, importer.real_path.parent)
        if path is None or not (imported.is_line or is_file(path)):
            continue
        label = path_label(path, home)
        if depth > MAX_DEPTH or count == MAX_IMPORTS:
            limit = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{MAX_IMPORTS} files"
            reason = f"{importer.label} imports it, but only {limit} of imports are read"
            yield ContextFileNote(label, "unused", reason=reason)
            continue
        found = read(path)
        if found is None:
            reason = f"{importer.label} imports it, but it does not exist"
            yield ContextFileNote(label, "unreadable", reason=reason)
        elif isinstance(found, ContextFileNote):
            yield found
        elif found.identity not in seen:
            seen.add(found.identity)
            count += 1
            yield found
            pending[:0] = [(each, found, depth + 1) for each in find_mentions(found.body)]


def _locate(written: str, folder: Path) -> Path | None:
    """Return the path that a mention means; None for what cannot be one."""
    # `~` is not expanded: a repository must not name files of the user's home.
    trimmed = written.rstrip(TRAILING_MARKS)
    exact = normalize(folder / written)
    path = exact if is_file(exact) else normalize(folder / trimmed)
    return path if trimmed and "\0" not in written else None
