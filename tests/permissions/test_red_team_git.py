"""Git commands that only read, in repositories that bring programs or secrets.

Each attempt works without the gate, which a first run shows; then it is made in every mode, with
and without the sandbox. `attempt_table` makes them through the real process, and so does the full
form.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.tools.shell.confinement.config import SandboxConfig
from tests.permissions.attempt_table import build_attempts, is_held
from tests.permissions.hostile_repositories import (
    FOREIGN_ATTEMPTS,
    PROGRAM_ATTEMPTS,
    SECRET_ATTEMPTS,
    Build,
    HostileRepository,
    create_hostile_repository,
    resolve_command,
)
from tests.permissions.live_attempts import MODES, SandboxMode, start_attempts
from tests.permissions.secret_workspace import MARKER, make_tool_config, open_tool_caller_with
from tests.tools.confinement.sandbox_setup import needs_sandbox

with_sandboxes = pytest.mark.parametrize(
    "sandbox", ["off", pytest.param("workspace", marks=needs_sandbox)]
)
SHORT_STEP = 6
"""In the short form, each attempt is made without the sandbox and every sixth with it, too."""


def attempt_params(table: dict[str, tuple[Build, str]]) -> list[object]:
    """Return the attempts with each sandbox; most of those with a sandbox are the long form."""
    found: list[object] = []
    for number, (name, (build, command)) in enumerate(table.items()):
        found.append(pytest.param(build, command, "off", id=name))
        marks = [needs_sandbox, *([pytest.mark.full] if number % SHORT_STEP else [])]
        params = (build, command, "workspace")
        found.append(pytest.param(*params, id=f"{name}, in the sandbox", marks=marks))
    return found


async def make_attempts(
    repository: HostileRepository, command: str, sandbox: SandboxMode
) -> list[str]:
    """Make an attempt in each mode, and return what it printed or showed."""
    shown: list[str] = []
    config = replace(make_tool_config(repository.space), sandbox=SandboxConfig(sandbox))
    async with open_tool_caller_with(repository.space, "ask", config) as caller:
        for mode in MODES:
            caller.session.context.options.set_mode(mode)
            caller.user.questions.clear()
            caller.log.events.clear()
            outcome = await caller.call("terminal", {"command": command})
            shown.append(outcome.text)
            # The user who is asked sees the command, and nothing has run yet.
            shown += [] if caller.user.questions else map(repr, caller.log.events)
    return shown


@pytest.mark.parametrize(("build", "command", "sandbox"), attempt_params(PROGRAM_ATTEMPTS))
async def test_no_program_of_a_repository_is_run(
    tmp_path: Path, build: Build, command: str, sandbox: SandboxMode
) -> None:
    repository = create_hostile_repository(tmp_path)
    build(repository)
    repository.run_unprotected(command)
    assert repository.trace.exists()
    repository.trace.unlink()
    await make_attempts(repository, command, sandbox)
    assert not repository.trace.exists()


@pytest.mark.parametrize(
    ("build", "command", "sandbox"), attempt_params(SECRET_ATTEMPTS | FOREIGN_ATTEMPTS)
)
async def test_no_secret_that_git_can_read_is_shown(
    tmp_path: Path, build: Build, command: str, sandbox: SandboxMode
) -> None:
    repository = create_hostile_repository(tmp_path)
    build(repository)
    line = resolve_command(repository, command)
    assert MARKER in repository.run_unprotected(line)
    assert not any(MARKER in text for text in await make_attempts(repository, line, sandbox))


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.full)])
@with_sandboxes
def test_the_real_process_holds_the_attempts(
    tmp_path: Path, sandbox: SandboxMode, step: int
) -> None:
    attempts = build_attempts(tmp_path, step)
    calls = [each.call for each in attempts]
    with start_attempts(tmp_path / "home", calls, sandbox) as live:
        broken = [
            (each.call.name, mode)
            for each in attempts
            for mode in MODES
            if not is_held(live, each, mode)
        ]
    assert broken == []
