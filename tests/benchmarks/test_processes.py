"""The memory of a process tree counts each page once."""

import subprocess
import sys

import pytest

from tests.benchmarks.processes import sampled_memory, tree_memory

PROGRAM = """
import subprocess, sys
held = bytes([1]) * 100_000_000
print(flush=True)
sys.stdin.readline()
for _ in range(20):
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
print(flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere children start in another way")
def test_a_child_that_is_about_to_start_is_not_counted_with_its_parents_memory() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        alone = tree_memory(process.pid).resident
        with sampled_memory(process.pid) as memory:
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
        process.stdin.write("\n")

    assert 95 < alone < memory.most + 10
    assert memory.most < 1.5 * alone
