"""What this server keeps in HERMES_HOME/acp: whether each file can be used. Changes nothing."""

import json
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from acp_server.cli.findings import Finding

DOCUMENTS = {
    "trust.json": "what you trust is asked again",
    "context_trust.json": "files that you allowed are blocked again",
    "permissions.json": "what you allowed is asked again",
    "credentials.json": "the key in it is not used: run `acp-server setup`",
    "installed.json": "where skills came from is not known",
    "memory_index.json": "entries that you wrote by hand may be read as one",
    "models.json": "the endpoint is asked for its models anew",
}
"""The JSON objects, and what follows when one cannot be read."""
CREDENTIALS = "credentials.json"
DATABASE = "sessions.db"
PATIENCE_SECONDS = 5.0
_STEPS_BETWEEN_LOOKS = 10_000
_BYTES_PER_MEGABYTE = 1_000_000


def kept_state(home: Path) -> Sequence[Finding]:
    """Return how the documents and the database are. Blocks, for seconds if there is much."""
    return [*_documents(home / "acp"), database(home / "acp" / DATABASE)]


def _documents(folder: Path) -> Iterator[Finding]:
    readable: list[str] = []
    for name, consequence in DOCUMENTS.items():
        file = folder / name
        try:
            document: object = json.loads(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
            yield _broken(file, reason or "it cannot be read", consequence)
            continue
        if not isinstance(document, dict):
            yield _broken(file, "it is no JSON object", consequence)
        elif name == CREDENTIALS and _is_open_to_others(file):
            advice = f"chmod 600 {file}"
            yield Finding("state", "warning", f"others can read {file}", advice)
        else:
            readable.append(name)
    if readable:
        yield Finding("state", "ok", f"{', '.join(readable)} can be read")


def _broken(file: Path, reason: str, consequence: str) -> Finding:
    advice = f"mend it or move it away; until then {consequence}"
    return Finding("state", "problem", f"{file} cannot be used: {reason}", advice)


def _is_open_to_others(file: Path) -> bool:
    return sys.platform != "win32" and bool(file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def database(file: Path) -> Finding:
    """Say how large the database of sessions is, and whether it is whole."""
    if not file.is_file():
        return Finding("database", "ok", f"{file}: none yet")
    try:
        size = f"{file.stat().st_size / _BYTES_PER_MEGABYTE:.1f} MB"
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            return _examined(opened, f"{file}, {size}")
    except sqlite3.OperationalError as error:
        advice = "another program may keep it to itself; try again"
        return Finding("database", "warning", f"{file} could not be checked: {error}", advice)
    except (sqlite3.DatabaseError, OSError) as error:
        return _damaged(file, str(error))


def _examined(opened: sqlite3.Connection, fact: str) -> Finding:
    """Return what SQLite's own check says, as far as it comes in time."""
    version: int = opened.execute("PRAGMA user_version").fetchone()[0]
    fact = f"{fact}, version {version}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    opened.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
    try:
        verdict: str = opened.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        if time.monotonic() <= deadline:
            raise
        return Finding("database", "ok", f"{fact}, too large to be checked to its end here")
    if verdict != "ok":
        return Finding("database", "problem", f"{fact}, is damaged: {verdict}", _ADVICE)
    return Finding("database", "ok", f"{fact}, whole")


def _damaged(file: Path, reason: str) -> Finding:
    return Finding("database", "problem", f"{file} is damaged: {reason}", _ADVICE)


_ADVICE = "the server moves it aside at its next start and begins another; keep a copy first"
