"""Something happens right before one of the calls to the system that a piece of work consists of.

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
"""The events of the interpreter that count."""


@dataclass(slots=True)
class Trap:
    """Springs once so many calls were made."""

    calls_left: int = 0
    spring: Callable[[], object] | None = None
    is_sprung: bool = False

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """Count what the interpreter tells of before it is done."""
        del arguments
        if self.spring is None or event not in CALLS:
            return
        self.calls_left -= 1
        if self.calls_left < 0:
            spring, self.spring, self.is_sprung = self.spring, None, True
            spring()


_trap = Trap()
sys.addaudithook(_trap.hear)  # which nobody can take away again


@contextmanager
def trapped(calls: int, spring: Callable[[], object]) -> Generator[Trap]:
    """Have this happen before the call of that number, the first is 0, if there are so many."""
    _trap.calls_left, _trap.spring, _trap.is_sprung = calls, spring, False
    try:
        yield _trap
    finally:
        _trap.spring = None
