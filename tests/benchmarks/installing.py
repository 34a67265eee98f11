"""Installs the agents to compare with, each in its own directory outside the repository.

A Python agent gets its own virtual environment, a Node agent its own npm directory. If an install
fails, the agent is skipped and the reason is shown.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.benchmarks.peers import PeerAgent, node_directory

TIMEOUT_SECONDS = 900


def install(peer: PeerAgent) -> str | None:
    """Install an agent; return the error message if that failed."""
    if peer.source == "here":
        return None
    peer.folder.mkdir(parents=True, exist_ok=True)
    commands = _pypi(peer) if peer.source == "pypi" else _npm(peer)
    for command in commands:
        try:
            done = subprocess.run(
                command,
                cwd=peer.folder,
                env=_environment(),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            return (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
    return None if peer.is_installed else f"{peer.program} is not there"


def _environment() -> dict[str, str]:
    path = f"{node_directory()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path}


def _pypi(peer: PeerAgent) -> list[Sequence[str]]:
    python = peer.folder / "venv" / "bin" / "python"
    make = ["uv", "venv", "--allow-existing", "--python", sys.executable, "venv"]
    return [make, ["uv", "pip", "install", "--python", str(python), *peer.packages]]


def _npm(peer: PeerAgent) -> list[Sequence[str]]:
    (peer.folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    npm = node_directory().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    node = str(node_directory() / "node")
    return [[node, str(npm), "install", "--prefix", str(peer.folder), *peer.packages]]
