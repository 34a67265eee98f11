"""Disables garbage collection during heavy imports.

Imported modules are never garbage, and scanning them repeatedly takes a tenth of the import time.
The collector is process-wide, so it stays disabled until the last concurrent import is done.
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
"""Number of imports in progress that need the collector disabled (a cell, guarded by `_lock`)."""


def uncollected(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """Decorate a function that imports: its first call runs with the collector disabled.

    Afterwards all objects are frozen: the collector never scans them again. That includes any
    garbage that exists at that moment, so it must happen once and not with every session.
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
