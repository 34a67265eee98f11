"""Git commands that only read, in repositories that bring programs or secrets.

Each attempt works without the gate, which a first run shows; then it is made in every mode.
"""

from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from tests.permissions.hostile_repositories import (
    BLOB,
    PROGRAM_ATTEMPTS,
    SECRET_ATTEMPTS,
    Build,
    HostileRepository,
    create_hostile_repository,
)
from tests.permissions.secret_workspace import MARKER, open_tool_caller

MODES: tuple[Mode, ...] = ("ask", "accept_edits", "plan")


async def make_attempts(repository: HostileRepository, command: str) -> list[str]:
    """Make an attempt in each mode, and return what it printed or showed."""
    shown: list[str] = []
    async with open_tool_caller(repository.space, "ask") as caller:
        for mode in MODES:
            caller.session.context.options.set_mode(mode)
            caller.user.questions.clear()
            caller.log.events.clear()
            outcome = await caller.call("terminal", {"command": command})
            shown.append(outcome.text)
            # The user who is asked sees the command, and nothing has run yet.
            shown += [] if caller.user.questions else map(repr, caller.log.events)
    return shown


@pytest.mark.parametrize(
    ("build", "command"), PROGRAM_ATTEMPTS.values(), ids=PROGRAM_ATTEMPTS.keys()
)
async def test_no_program_of_a_repository_is_run(
    tmp_path: Path, build: Build, command: str
) -> None:
    repository = create_hostile_repository(tmp_path)
    build(repository)
    repository.run_unprotected(command)
    assert repository.trace.exists()
    repository.trace.unlink()
    await make_attempts(repository, command)
    assert not repository.trace.exists()


@pytest.mark.parametrize(("build", "command"), SECRET_ATTEMPTS.values(), ids=SECRET_ATTEMPTS.keys())
async def test_no_secret_of_a_history_is_shown(tmp_path: Path, build: Build, command: str) -> None:
    repository = create_hostile_repository(tmp_path)
    build(repository)
    if BLOB[:-1] in command:
        found = repository.git("rev-list", "--all", "--objects", "--", ".env").splitlines()
        blob = next(line.split(" ")[0] for line in found if line.endswith(" .env"))
        command = command.replace(f"{BLOB[:-1]}:8>", blob[:8]).replace(BLOB, blob)
    assert MARKER in repository.run_unprotected(command)
    assert not any(MARKER in text for text in await make_attempts(repository, command))
