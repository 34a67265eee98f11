"""Several processes at one file: three of ours and one of Hermes lose nothing of each other's."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.memory import hermes
from tests.memory.stores import add_entries, read_entries

ROOT = Path(__file__).parents[2]
LONG_SECONDS = 30
OURS = """
import sys
from pathlib import Path
from tests.memory.stores import add_entries
for number in range(int(sys.argv[3])):
    answer = add_entries(Path(sys.argv[1]), f"{sys.argv[2]} {number}")
    assert answer.is_success, answer.text
"""


def write_together(home: Path, names: Sequence[str], count: int) -> None:
    """Have four processes add so many entries each."""
    path = home / "memories" / "MEMORY.md"
    programs = [[sys.executable, "-c", OURS, str(home)] for _ in range(3)]
    programs += [[sys.executable, "-m", "tests.memory.hermes", str(path)]]
    running = [
        subprocess.Popen([*program, name, str(count)], cwd=ROOT)
        for program, name in zip(programs, names, strict=True)
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0, 0]


def expected(names: Sequence[str], count: int) -> set[str]:
    return {f"{name} {number}" for name in names for number in range(count)}


def test_four_concurrent_processes_lose_nothing(tmp_path: Path) -> None:
    add_entries(tmp_path, "first")
    names = ("a", "b", "c", "hermes")
    write_together(tmp_path, names, 8)
    assert set(read_entries(tmp_path)) == expected(names, 8) | {"first"}


@pytest.mark.full
def test_four_concurrent_processes_lose_nothing_for_half_a_minute(tmp_path: Path) -> None:
    add_entries(tmp_path, "first")
    end_seconds = time.monotonic() + LONG_SECONDS
    all_entries, batch = {"first"}, 0
    while time.monotonic() < end_seconds:
        names = [f"{who} {batch}" for who in ("a", "b", "c", "hermes")]
        write_together(tmp_path, names, 50)
        all_entries |= expected(names, 50)
        batch += 1
        assert set(read_entries(tmp_path)) == all_entries
    assert set(hermes.read_entries(tmp_path / "memories" / "MEMORY.md")) == all_entries
