"""Git commands that only read, in repositories that bring programs or secrets.

Each attempt works without the gate, which a first run shows. In the short form most are then left
to the policy: a command that it asks about does not run by itself in any mode (`test_policy`).
Every 24th, and all that the policy allows, are made in a session in every mode; the full form
makes all so, with and without the sandbox. `attempt_table` makes them through the real process, and
so does the full form.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Ask, decide
from acp_server.permissions.rules import RuleBook
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
SHORT_STEP = 24
"""In the short form, every 24th attempt is made in sessions without the sandbox and with it."""


def attempt_params(table: dict[str, tuple[Build, str]]) -> list[object]:
    """Return the attempts: by the policy alone, and in sessions, which are mostly the full form."""
    found: list[object] = []
    for number, (name, (build, command)) in enumerate(table.items()):
        marks = [pytest.mark.full] if number % SHORT_STEP else []
        if marks:
            found.append(pytest.param(build, command, None, id=name))
        whole = pytest.param(build, command, "off", id=f"{name}, in a session", marks=marks)
        marks = [needs_sandbox, *marks]
        confined = pytest.param(
            build, command, "workspace", id=f"{name}, in the sandbox", marks=marks
        )
        found += [whole, confined]
    return found


def is_asked_about(repository: HostileRepository, command: str) -> bool:
    """Return whether the policy asks about a command in ask mode."""
    space = repository.space
    collector = FactCollector((space.root,), space.home, space.config_home)
    cwd = FileTarget(space.root, space.root.resolve(), is_inside=True)
    facts = collector.collect(RunCommandEffect(command, cwd))
    return isinstance(decide(facts, "ask", RuleBook()), Ask)


async def make_attempts(
    repository: HostileRepository, command: str, sandbox: SandboxMode | None
) -> list[str]:
    """Make an attempt in each mode, and return what it printed or showed.

    Without a sandbox mode, one that the user is asked about is not made.
    """
    if sandbox is None and is_asked_about(repository, command):
        return []
    shown: list[str] = []
    config = replace(make_tool_config(repository.space), sandbox=SandboxConfig(sandbox or "off"))
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
    tmp_path: Path, build: Build, command: str, sandbox: SandboxMode | None
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
    tmp_path: Path, build: Build, command: str, sandbox: SandboxMode | None
) -> None:
    repository = create_hostile_repository(tmp_path)
    build(repository)
    line = resolve_command(repository, command)
    assert MARKER in repository.run_unprotected(line)
    assert not any(MARKER in text for text in await make_attempts(repository, line, sandbox))


@pytest.mark.parametrize("step", [80, pytest.param(1, marks=pytest.mark.full)])
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
