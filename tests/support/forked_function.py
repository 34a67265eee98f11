"""Functions in a process of their own, which need no new interpreter: a fork of the test's."""

import os
import traceback
from collections.abc import Callable


def run_in_fork(work: Callable[[], str]) -> tuple[int, str]:
    """Run a function in a fork; return the exit code and its result, or its traceback.

    What it does to its process, such as limits and audit hooks, ends with the fork. What it prints
    belongs to the result.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            os.dup2(write, 1)
            os.dup2(write, 2)
            _write_all(write, work())
            code = 0
        except BaseException:  # noqa: BLE001  the parent must not go on twice
            _write_all(write, traceback.format_exc())
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as output:
        printed = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed


def _write_all(descriptor: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(descriptor, data) :]
