"""Child process that finds the names which files define, for `definition_index`.

It reads paths from stdin, separated by NUL, and writes one line of JSON for each that it has read:
the number of the path, its modification time (ns) and size, and the names. A process of its own,
because parsing holds the interpreter's lock, and because the memory for it is returned at its end.
"""

import json
import os
import sys

from acp_server.tools.symbols.grammars import GrammarError, language_of
from acp_server.tools.symbols.outline import MAX_SOURCE_BYTES, find_symbols
from skills_store.reading import NO_FOLLOW, read_regular, stamp_of

MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_TOTAL_NAMES = 500_000
"""How much source is read, and how many names are found, in one run."""
NICENESS = 10


def main() -> None:
    """Read the paths, and write the names that each file defines."""
    os.nice(NICENESS)
    total_bytes = total_names = 0
    for number, path in enumerate(sys.stdin.buffer.read().split(b"\0")):
        found = _names_in(os.fsdecode(path)) if path else None
        if found is None:
            continue
        modified_at, size, names = found
        total_bytes += size
        total_names += len(names)
        if total_bytes > MAX_TOTAL_BYTES or total_names > MAX_TOTAL_NAMES:
            return
        sys.stdout.write(f"{json.dumps([number, modified_at, size, names])}\n")
        sys.stdout.flush()


def _names_in(path: str) -> tuple[int, int, list[str]] | None:
    """Return the stamp of a file and the names that it defines; None if it cannot be read."""
    language = language_of(os.path.basename(path))  # noqa: PTH119  the path may be no valid text
    if language is None:
        return None
    try:
        content = read_regular(path, MAX_SOURCE_BYTES, NO_FOLLOW)
    except OSError:
        # Known as a file without names, so that it is not tried again until it changes.
        return (*stamp_of(os.lstat(path)), []) if os.path.lexists(path) else None
    modified_at, size = stamp_of(content.status)
    if not content.is_complete:
        return modified_at, size, []
    try:
        symbols = find_symbols(content.data, language)
    except GrammarError:
        return modified_at, size, []
    return modified_at, size, list(dict.fromkeys(each.name for each in symbols))


if __name__ == "__main__":
    main()
