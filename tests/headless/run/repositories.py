"""Repositories for runs, with one commit."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

OWNER = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str, given: bytes = b"") -> str:
    """Run git and return what it prints."""
    command = ("git", *OWNER, *arguments)
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=True)
    return done.stdout.decode()


def repository(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Make a repository of these files and return its folder."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "begin")
    return folder
