"""Disables garbage collection during heavy imports.

Imported modules are never garbage, and scanning them repeatedly takes a tenth of the import time.
The collector is process-wide, so it stays disabled until the last concurrent import is done.
"""

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from acp_server.startup.fallback import fast_or_plain

Params = ParamSpec("Params")
Result = TypeVar("Result")

_lock = Lock()
_active_imports = [0]
"""Number of imports in progress that need the collector disabled (a cell, guarded by `_lock`)."""


@contextmanager
def pause_gc() -> Generator[None]:
    """Disable the collector within the context.

    Afterwards all objects are frozen: the collector never scans them again. That includes any
    garbage that exists at that moment, so it must happen seldom and not with every session.
    """
    if not _CAN_PAUSE:
        yield
        return
    with _lock:
        _active_imports[0] += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _active_imports[0] -= 1
            if not _active_imports[0]:
                gc.freeze()
                gc.enable()


def pause_gc_on_first_call(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorate a function that imports: its first call runs with the collector disabled."""
    has_imported = False

    @wraps(function)
    def wrapper(*arguments: Params.args, **options: Params.kwargs) -> Result:
        nonlocal has_imported
        if has_imported:
            return function(*arguments, **options)
        with pause_gc():
            result = function(*arguments, **options)
        has_imported = True
        return result

    return wrapper


def _try_pause() -> bool:
    """Use all that a pause uses; other implementations of Python have another collector."""
    try:
        gc.disable()
        gc.freeze()
        gc.unfreeze()
    finally:
        gc.enable()
    return True


_CAN_PAUSE = fast_or_plain("the pause of garbage collection", _try_pause, lambda: False)
