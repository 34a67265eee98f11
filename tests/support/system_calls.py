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

AUDIT_EVENTS = frozenset(
    {
        *("open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "os.rmdir"),
        *("os.symlink", "os.chmod", "os.truncate", "shutil.move"),
    }
)
"""Audit events of the interpreter that are counted."""


@dataclass(slots=True)
class AuditTrap:
    """Audit hook that runs an action once before a chosen event."""

    events_left: int = 0
    action: Callable[[], object] | None = None
    has_fired: bool = False

    def audit_hook(self, event: str, arguments: tuple[object, ...]) -> None:
        """Count an audit event, raised before its call, and run the action when due."""
        del arguments
        if self.action is None or event not in AUDIT_EVENTS:
            return
        self.events_left -= 1
        if self.events_left < 0:
            # disarm first: the action itself may make calls that are counted
            spring, self.action, self.has_fired = self.action, None, True
            spring()


_trap = AuditTrap()
sys.addaudithook(_trap.audit_hook)  # an audit hook cannot be removed, so all tests share one


@contextmanager
def run_before_call(call_number: int, action: Callable[[], object]) -> Generator[AuditTrap]:
    """Run an action before the call with this number, counted from 0.

    `has_fired` stays false if the work made fewer calls.
    """
    _trap.events_left, _trap.action, _trap.has_fired = call_number, action, False
    try:
        yield _trap
    finally:
        _trap.action = None
