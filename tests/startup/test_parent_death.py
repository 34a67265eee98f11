"""A process that ends with its parent, even if neither can handle a signal."""

import signal
import subprocess
import sys

import psutil
import pytest

from tests.support.timeouts import HANG_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="an option of Linux's kernel")
CHILD = """
import ctypes, os, sys
from acp_server.startup.parent_death import end_with_parent
end_with_parent(os.getppid())
print(os.getpid(), flush=True)
ctypes.PyDLL(None).sleep(1000)  # in C code, with the interpreter's lock
"""
PARENT = "import subprocess, sys; subprocess.run((sys.executable, '-c', sys.argv[1]))"


def test_a_process_in_c_code_dies_with_a_parent_that_was_killed() -> None:
    with subprocess.Popen((sys.executable, "-c", PARENT, CHILD), stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        child.wait(HANG_TIMEOUT_SECONDS)


def test_a_run_whose_parent_has_died_before_it_began_does_nothing() -> None:
    command = (sys.executable, "-m", "acp_server", "run", "work", "--parent", str(2**30))
    done = subprocess.run(command, capture_output=True, timeout=HANG_TIMEOUT_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
