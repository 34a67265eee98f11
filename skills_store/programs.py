"""Find installed programs, ignoring those that a workspace provides."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def find_program(name: str, search_path: str | None, *, outside: Iterable[Path] = ()) -> str | None:
    """Return a program's absolute path; None if it is not found.

    Without `search_path` the PATH of this process is used. Relative and empty entries are skipped:
    they mean the working directory, often an untrusted repository. Entries inside the directories
    `outside` are skipped too.
    """
    directories = [Path(directory).resolve() for directory in outside]
    entries = os.get_exec_path() if search_path is None else search_path.split(os.pathsep)
    for entry in entries:
        if not Path(entry).is_absolute():
            continue
        found = shutil.which(name, path=entry)
        # On Windows `which` searches the working directory first, whatever the path is.
        if found is None or not Path(found).is_absolute():
            continue
        resolved = Path(found).parent.resolve()
        if not any(resolved.is_relative_to(directory) for directory in directories):
            return found
    return None
