"""Keeps the workspace's files out of our own interpreter.

`python -m` puts the working directory first on `sys.path`, and PYTHONPATH may name it too. A
repository with a `json.py` could then run code inside this program, which has API keys. So every
Python process that we start is started through `isolated_python`, and the running one drops such
entries before it imports anything else.

Not preventable from here: if the first process is started with PYTHONPATH=., Python has imported
the directory's `sitecustomize.py` before our first line runs.
"""

import os
import site
import sys
from collections.abc import Sequence

_PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def isolated_python(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs this interpreter, isolated from the working directory."""
    return (sys.executable, *_isolation_flags(), *arguments)


def isolated_server(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs `acp-server` with these arguments in this interpreter."""
    return isolated_python("-m", "acp_server", *arguments)


def drop_workspace_entries(path: list[str]) -> None:
    """Remove the working directory, and PYTHONPATH entries inside it, from an import path.

    The directory from which this program was loaded is kept. If that came from PYTHONPATH, its
    dependencies may too, so then only relative PYTHONPATH entries are removed.
    """
    try:
        workspace = os.path.realpath(os.getcwd())
    except OSError:  # the working directory was deleted: nothing can be imported from it
        return
    entries = _pythonpath_entries()
    are_dependencies_kept = _PACKAGE_ROOT in entries.values()
    suspects = {workspace}
    for entry, resolved in entries.items():
        if not os.path.isabs(entry) or not are_dependencies_kept:
            suspects.add(resolved)
    path[:] = [
        entry
        for entry in path
        if (resolved := os.path.realpath(entry)) == _PACKAGE_ROOT
        or resolved not in suspects
        or not _is_below(resolved, workspace)
    ]


def _isolation_flags() -> Sequence[str]:
    """Return the strictest flags under which the interpreter still finds this package.

    `-I` ignores the PYTHON* variables and the user's site directory. A package that was installed
    there, or that only PYTHONPATH leads to, would not be found; `-P` alone keeps the working
    directory out.
    """
    if _PACKAGE_ROOT in _pythonpath_entries().values():
        return ("-P",)
    if site.ENABLE_USER_SITE and os.path.realpath(site.getusersitepackages()) == _PACKAGE_ROOT:
        return ("-P", "-E")
    return ("-I",)


def _pythonpath_entries() -> dict[str, str]:
    """Return the entries of PYTHONPATH as they are written, each with its resolved path."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {entry: os.path.realpath(entry) for entry in entries if entry}


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
