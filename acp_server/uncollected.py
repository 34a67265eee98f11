"""A rest for the garbage collector while much is imported; knows nothing of what that is.

What is imported stays, and looking through it again and again takes a tenth of the time. The
collector is one for the process: it rests until the last of those who import is done.
"""

import gc
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

_lock = Lock()
_under_way = [0]
"""How many imports rely on the collector's rest."""


def uncollected(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """Make a function that imports one during which nothing is collected, the first time.

    What is there at its end is not looked through again, until the process ends; that counts for
    what happens to be garbage then, so it must not be done again with every session.
    """
    has_imported = False

    @wraps(work)
    def rested(*arguments: Given.args, **options: Given.kwargs) -> Made:
        nonlocal has_imported
        if has_imported:
            return work(*arguments, **options)
        with _lock:
            _under_way[0] += 1
            gc.disable()
        try:
            made = work(*arguments, **options)
            has_imported = True
            return made
        finally:
            with _lock:
                _under_way[0] -= 1
                if not _under_way[0]:
                    gc.freeze()
                    gc.enable()

    return rested
