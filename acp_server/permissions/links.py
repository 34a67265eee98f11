"""Where a path leads once its links are followed, also while somebody is changing them.

Knows names and links only; what a place means is not for it to say.
"""

import os
from pathlib import Path

MOST_LOOKS = 20


def followed(path: Path) -> Path:
    """Return where an absolute path leads; what does not exist leads to itself. It blocks.

    Raises:
        OSError: it does not hold still: a link at one moment, none at the next.
    """
    for _ in range(MOST_LOOKS - 1):
        try:
            return Path(os.path.realpath(path))
        except OSError:  # what was a link is something else by the time it is read
            continue
    return Path(os.path.realpath(path))
