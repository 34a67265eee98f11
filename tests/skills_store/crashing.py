"""Child process that is killed right before its n-th disk write."""

import os
import sys
from collections.abc import Callable

CRASHED, DONE = 9, 0
_WRITING: int = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_EVENTS = frozenset(
    {
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.rmdir",
        "os.chmod",
        "os.chown",
        "os.symlink",
        "os.link",
        "os.utime",
        "os.truncate",
    }
)


def crashes_before_write(work: Callable[[], object], number: int) -> bool:
    """Run some work in a child process that dies before its n-th write, counted from 1.

    Return False if the work ended before that write.
    """
    child = os.fork()
    if child == 0:
        writes_left = number

        def step() -> None:
            nonlocal writes_left
            writes_left -= 1
            if writes_left == 0:
                os._exit(CRASHED)  # skips `finally` and atexit, as a crash does

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            if event in _EVENTS or (event == "open" and _is_for_writing(arguments)):
                step()

        def sync(_: int) -> None:
            step()

        os.fsync = sync  # it raises no audit event
        sys.addaudithook(watch)
        try:
            work()
        except BaseException:  # noqa: BLE001 - the parent must not go on twice
            os._exit(1)
        os._exit(DONE)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {CRASHED, DONE}
    return code == CRASHED


def _is_for_writing(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & _WRITING)
