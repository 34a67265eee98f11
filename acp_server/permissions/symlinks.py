"""Resolves symlinks in paths, also while another process is changing them.

Knows names and symlinks only; judging the resolved path is up to the caller.
"""

import os
from pathlib import Path

MAX_ATTEMPTS = 20


def resolve_links(path: Path) -> Path:
    """Return an absolute path with symlinks resolved; missing parts stay as they are. Blocks.

    Raises:
        OSError: the path keeps changing between a symlink and something else.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return Path(os.path.realpath(path))
        except OSError:  # a link was replaced between lstat and readlink
            continue
    return Path(os.path.realpath(path))
