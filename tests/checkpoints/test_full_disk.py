"""What becomes of turns, and of what was kept, when there is no room for more."""

import os
import shutil
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path

import pytest

from tests.checkpoints.full_disk import main

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


def run_in_fork(folder: Path) -> tuple[int, str]:
    """Play in a fork, whose files may not grow; return its exit code and what it told."""
    (folder / "own").mkdir()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(write, 1)
            os.dup2(write, 2)
            main(folder, "limit")
            code = 0
        except BaseException:  # noqa: BLE001  the parent must not go on twice
            os.write(write, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as output:
        told = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told


def test_on_a_full_disk_turns_continue_and_saved_checkpoints_survive(tmp_path: Path) -> None:
    assert run_in_fork(tmp_path) == (0, "")


@pytest.mark.full
@pytest.mark.skipif(not may_mount(), reason="only a user who may mount can have a disk of its own")
def test_on_a_real_full_disk_turns_continue_and_saved_checkpoints_survive(tmp_path: Path) -> None:
    assert run_in_process(tmp_path) == (0, "")
