"""Git repositories with one commit, for runs."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

GIT_IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git and return its output."""
    command = ("git", *GIT_IDENTITY, *arguments)
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=True)
    return done.stdout.decode()


def create_repository(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Create a repository with these files and return its directory."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "begin")
    return folder
