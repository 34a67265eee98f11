"""What becomes of turns, and of what was kept, when there is no room for more."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.checkpoints.full_disk import main
from tests.support.forked_function import run_in_fork

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
MOUNT = "mount -t tmpfs -o size=256k,nr_inodes=200 none"


@cache
def may_mount() -> bool:
    """Whether this user can have a disk that nobody else sees."""
    command = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def run_in_process(folder: Path) -> tuple[int, str]:
    """Play on a small disk, in a process of its own; return its exit code and what it told."""
    store = folder / "own"
    store.mkdir()
    command = [sys.executable, "-m", "tests.checkpoints.full_disk", str(folder), "disk"]
    command = ["unshare", "-m", "sh", "-c", f'{MOUNT} "$0" && exec "$@"', str(store), *command]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_on_a_full_disk_turns_continue_and_saved_checkpoints_survive(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()

    def play() -> str:
        main(tmp_path, "limit")
        return ""

    assert run_in_fork(play) == (0, "")


@pytest.mark.full
def test_on_a_real_full_disk_turns_continue_and_saved_checkpoints_survive(tmp_path: Path) -> None:
    if not may_mount():
        pytest.skip("only a user who may mount can have a disk of its own")
    assert run_in_process(tmp_path) == (0, "")
