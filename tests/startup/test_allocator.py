"""Memory that a burst of work has used goes back to the system."""

import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import os, threading
from acp_server.startup.allocator import return_free_memory, use_one_heap
from tests.benchmarks.processes import tree_memory

def work():
    kept.append([bytearray(1_000) for _ in range(30_000)])
    del kept[-1][1::2], kept[-1][1::3]

{prepare}
kept = []
for _ in range(4):
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
del kept[:-1]
{end}
print(tree_memory(os.getpid()).resident)
"""


def measure(prepare: str = "", end: str = "") -> float:
    """Return the memory in MiB of a process after its threads have worked."""
    program = WORK.format(prepare=prepare, end=end)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has these options")
def test_free_memory_is_returned() -> None:
    kept, returned = measure(), measure("use_one_heap()", "return_free_memory()")

    assert returned < kept - 5
