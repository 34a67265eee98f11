"""Checks the files in HERMES_HOME/acp for `acp-server doctor`; changes nothing."""

import json
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from acp_server.cli.check_result import CheckResult

DOCUMENTS = {
    "trust.json": "you are asked again which workspaces to trust",
    "context_trust.json": "instruction files that you trusted are blocked again",
    "permissions.json": "you are asked again about actions that you always allowed",
    "credentials.json": "its API key is not used; run `acp-server setup` to store it again",
    "installed.json": "the sources of installed skills are unknown",
    "memory_index.json": "memory entries that you wrote by hand may be read as one entry",
    "models.json": "the model list is requested from the endpoint again",
}
"""JSON documents, each with the consequence of not being readable."""
CREDENTIALS = "credentials.json"
DATABASE = "sessions.db"
CHECK_TIMEOUT_SECONDS = 5.0
_DAMAGED_ADVICE = "make a copy; at its next start the server moves it aside and creates a new one"
_PROGRESS_STEPS = 10_000
_BYTES_PER_MEGABYTE = 1_000_000


def check_state(home: Path) -> Sequence[CheckResult]:
    """Check the documents and the database. Blocks, at most `CHECK_TIMEOUT_SECONDS` there."""
    return [*_check_documents(home / "acp"), check_database(home / "acp" / DATABASE)]


def _check_documents(folder: Path) -> Iterator[CheckResult]:
    readable: list[str] = []
    for name, consequence in DOCUMENTS.items():
        file = folder / name
        try:
            document: object = json.loads(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not valid JSON"
            yield _unusable_result(file, reason or "it cannot be read", consequence)
            continue
        if not isinstance(document, dict):
            yield _unusable_result(file, "it is not a JSON object", consequence)
        elif name == CREDENTIALS and _is_readable_by_others(file):
            advice = f"chmod 600 {file}"
            yield CheckResult("state", "warning", f"other users can read {file}", advice)
        else:
            readable.append(name)
    if readable:
        yield CheckResult("state", "ok", f"{', '.join(readable)} can be read")


def _unusable_result(file: Path, reason: str, consequence: str) -> CheckResult:
    advice = f"repair it or move it away; until then, {consequence}"
    return CheckResult("state", "problem", f"{file} cannot be used: {reason}", advice)


def _is_readable_by_others(file: Path) -> bool:
    return sys.platform != "win32" and bool(file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def check_database(file: Path) -> CheckResult:
    """Check the sessions database; return its size and whether it is intact."""
    if not file.is_file():
        return CheckResult("database", "ok", f"{file}: not created yet")
    try:
        size = f"{file.stat().st_size / _BYTES_PER_MEGABYTE:.1f} MB"
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return _quick_check(database, f"{file}, {size}")
    except sqlite3.OperationalError as error:
        advice = "another program may have locked it; try again"
        return CheckResult("database", "warning", f"{file} could not be checked: {error}", advice)
    except (sqlite3.DatabaseError, OSError) as error:
        fact = f"{file} is damaged: {error}"
        return CheckResult("database", "problem", fact, _DAMAGED_ADVICE)


def _quick_check(database: sqlite3.Connection, fact: str) -> CheckResult:
    """Return the result of SQLite's quick_check, which is aborted after `CHECK_TIMEOUT_SECONDS`."""
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    fact = f"{fact}, version {version}"
    deadline = time.monotonic() + CHECK_TIMEOUT_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
    try:
        verdict: str = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        if time.monotonic() <= deadline:
            raise
        return CheckResult("database", "ok", f"{fact}, too large to check completely")
    if verdict != "ok":
        return CheckResult("database", "problem", f"{fact}, is damaged: {verdict}", _DAMAGED_ADVICE)
    return CheckResult("database", "ok", f"{fact}, intact")
