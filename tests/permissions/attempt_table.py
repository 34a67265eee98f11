"""Table of the attempts, through the real process in every mode, with and without the sandbox.

    python -m tests.permissions.attempt_table [FOLDER_OF_ANOTHER_CHECKOUT]

Prints Markdown. The server of another checkout shows what the attempts did there.
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from acp_server.permissions.modes import Mode
from tests.permissions.hostile_repositories import (
    FOREIGN_ATTEMPTS,
    PROGRAM_ATTEMPTS,
    SECRET_ATTEMPTS,
    HostileRepository,
    create_hostile_repository,
    resolve_command,
)
from tests.permissions.live_attempts import (
    MODES,
    LiveAttempt,
    LiveAttempts,
    SandboxMode,
    start_attempts,
)
from tests.permissions.secret_workspace import MARKER
from tests.permissions.workspace_attempts import build_attempts as build_workspace_attempts
from tests.permissions.workspace_attempts import create_hostile_workspace

GROUPS = {
    "runs a program": PROGRAM_ATTEMPTS,
    "shows a secret": SECRET_ATTEMPTS,
    "reads other files": FOREIGN_ATTEMPTS,
}
SANDBOXES: tuple[SandboxMode, ...] = ("off", "workspace")


@dataclass(frozen=True, slots=True)
class GitAttempt:
    """An attempt in a repository of its own."""

    group: str
    repository: HostileRepository
    call: LiveAttempt


def build_attempts(base: Path, step: int = 1) -> list[GitAttempt]:
    """Build each repository, or every `step`-th, and return the attempts."""
    found: list[GitAttempt] = []
    for group, table in GROUPS.items():
        for number, (name, (build, command)) in enumerate([*table.items()][::step]):
            repository = create_hostile_repository(base / group.split(" ")[0] / str(number))
            build(repository)
            line = resolve_command(repository, command)
            call = LiveAttempt(f"{group}: {name}", repository.root, "terminal", {"command": line})
            found.append(GitAttempt(group, repository, call))
    return found


def is_held(live: LiveAttempts, attempt: GitAttempt, mode: Mode) -> bool:
    """Make an attempt that the user rejects; return whether it had no effect."""
    # Its folder may be no folder.
    if attempt.repository.trace.exists():
        attempt.repository.trace.unlink()
    result = live.run(attempt.call, mode)
    # The user who is asked sees the command, and nothing has run yet.
    is_shown = not result.is_asked and result.shows(MARKER)
    return not is_shown and not attempt.repository.trace.exists()


def rows(
    attempts: list[GitAttempt], base: Path, variables: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield the rows: the attempt, and per sandbox and mode whether it was held."""
    held: dict[str, list[str]] = {each.call.name: [] for each in attempts}
    for sandbox in SANDBOXES:
        calls = [each.call for each in attempts]
        with start_attempts(
            base / f"home-{sandbox}", calls, sandbox, variables, new_interpreter=True
        ) as live:
            for attempt in attempts:
                for mode in MODES:
                    answer = "held" if is_held(live, attempt, mode) else "**not held**"
                    held[attempt.call.name].append(answer)
    for attempt in attempts:
        command = str(attempt.call.arguments["command"])
        yield attempt.call.name, f"`{command}`", *held[attempt.call.name]


def workspace_rows(base: Path, variables: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the same rows for the attempts by other ways than git."""
    workspace = create_hostile_workspace(base / "workspace")
    attempts = list(build_workspace_attempts(workspace))
    held: dict[str, list[str]] = {each.call.name: [] for each in attempts}
    for sandbox in SANDBOXES:
        calls = [each.call for each in attempts]
        seen = {**workspace.variables, **variables}
        with start_attempts(workspace.home, calls, sandbox, seen, new_interpreter=True) as live:
            for attempt in attempts:
                for mode in MODES:
                    is_kept = workspace.is_held(live, attempt, mode)
                    held[attempt.call.name].append("held" if is_kept else "**not held**")
                    # One that was not held must not count for the next ones.
                    workspace.trace.unlink(missing_ok=True)
    for attempt in attempts:
        call = attempt.call
        yield call.name, f"`{call.tool}`", *held[call.name]


def main(checkout: str = "") -> None:
    """Print the table and its totals."""
    base = Path(tempfile.mkdtemp(prefix="attempts-"))
    # Safe path: the directory that this runs in must not come first.
    variables = {"PYTHONPATH": checkout, "PYTHONSAFEPATH": "1"} if checkout else {}
    try:
        columns = [f"{mode}, sandbox {sandbox}" for sandbox in SANDBOXES for mode in MODES]
        lines = [("attempt", "command", *columns), ("---",) * (len(columns) + 2)]
        lines += rows(build_attempts(base), base, variables)
        lines += workspace_rows(base, variables)
    finally:
        shutil.rmtree(base)
    totals: Counter[str] = Counter()
    for row in lines[2:]:
        group = row[0].partition(":")[0]
        for column, answer in zip(columns, row[2:], strict=True):
            totals[f"{group}, {column}: {answer}"] += 1
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    counts = "\n".join(f"{name}: {count}" for name, count in sorted(totals.items()))
    sys.stdout.write(f"{table}\n\n{counts}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
