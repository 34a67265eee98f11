"""Runs an action right before the nth system call of some work, to test races.

for calls in count():
    with trapped(calls, swap) as trap:
        work()
    if not trap.is_sprung:
        break
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

CALLS = frozenset(
    {
        *("open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "os.rmdir"),
        *("os.symlink", "os.chmod", "os.truncate", "shutil.move"),
    }
)
"""Audit events of the interpreter that are counted."""


@dataclass(slots=True)
class Trap:
    """Audit hook that runs an action once before a chosen event."""

    calls_left: int = 0
    spring: Callable[[], object] | None = None
    is_sprung: bool = False

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """Count an audit event, raised before its call, and run the action when due."""
        del arguments
        if self.spring is None or event not in CALLS:
            return
        self.calls_left -= 1
        if self.calls_left < 0:
            # disarm first: the action itself may make calls that are counted
            spring, self.spring, self.is_sprung = self.spring, None, True
            spring()


_trap = Trap()
sys.addaudithook(_trap.hear)  # an audit hook cannot be removed, so all tests share one


@contextmanager
def trapped(calls: int, spring: Callable[[], object]) -> Generator[Trap]:
    """Run an action before the call with this number, counted from 0.

    `has_fired` stays false if the work made fewer calls.
    """
    _trap.calls_left, _trap.spring, _trap.is_sprung = calls, spring, False
    try:
        yield _trap
    finally:
        _trap.spring = None
