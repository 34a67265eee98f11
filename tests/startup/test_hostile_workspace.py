"""No file of the workspace runs in our interpreter, whichever way it is started."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.cli import editor_settings
from acp_server.headless.process import serve_command
from acp_server.startup.handshake import initialize_result
from acp_server.startup.isolation import drop_workspace_entries, isolated_server
from tests.headless.run.repositories import git
from tests.startup.hostile_repository import (
    PACKAGES,
    PROGRAM,
    HostileRepository,
    hostile_path,
    hostile_repository,
)
from tests.support.editor import json_at
from tests.support.user_texts import STORED_KEY_IN

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs of a POSIX shell")
ROOT = str(Path(__file__).parents[2])
KEY = {"ANTHROPIC_API_KEY": "sk-not-for-the-repository"}
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "leading here": {
        "PYTHONPATH": ".",
        "PYTHONUSERBASE": ".",
        "PYTHONSTARTUP": "json.py",
        "PATH": hostile_path(),
    },
    "plain": {},
}
"""What the caller's environment may hold: everything that leads into the workspace, or nothing."""


@pytest.fixture
def hostile(tmp_path: Path) -> HostileRepository:
    return hostile_repository(tmp_path.resolve())


@pytest.fixture(params=["leading here", pytest.param("plain", marks=pytest.mark.full)])
def variables(request: pytest.FixtureRequest) -> Mapping[str, str]:
    return {**KEY, **ENVIRONMENTS[request.param]}


def converse(hostile: HostileRepository, command: list[str], variables: Mapping[str, str]) -> str:
    """Let a server do a whole turn in the repository; return what it said."""
    lines: tuple[tuple[str, JsonValue], ...] = (
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": str(hostile.workspace), "mcpServers": []}),
    )
    sent = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(lines)
    ]
    done = hostile.run(command, stdin="\n".join(sent) + "\n", **variables)
    assert done.returncode == 0, done
    return done.stdout


def test_serving_imports_nothing_from_the_workspace(
    hostile: HostileRepository, variables: Mapping[str, str]
) -> None:
    command = [*serve_command("--model", f"scripted:{hostile.script}")]
    assert '"sessionId"' in converse(hostile, command, variables)
    assert hostile.imported() == {}


@pytest.mark.parametrize("mode", [pytest.param("plan", marks=pytest.mark.full), "full"])
def test_a_task_imports_nothing_from_the_workspace(
    hostile: HostileRepository, variables: Mapping[str, str], mode: str
) -> None:
    command = isolated_server("run", "-", "--mode", mode, "--model", f"scripted:{hostile.script}")
    done = hostile.run(command, stdin="Look around", **variables)
    assert done.stdout == "Done.\n", done
    assert hostile.imported() == {}


def test_the_processes_of_many_tasks_run_nothing_of_the_workspace(
    hostile: HostileRepository, variables: Mapping[str, str]
) -> None:
    program = hostile.home / "program"
    program.write_text(PROGRAM.format(path=hostile.canaries / "by-git"))
    program.chmod(0o755)
    hook = hostile.workspace / ".git/hooks/post-checkout"  # when a task's worktree is made
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(program)
    git(hostile.workspace, "config", "core.fsmonitor", str(program))
    tasks = ("--tasks", str(hostile.task_list()))
    options = ("--mode", "full", "--model", f"scripted:{hostile.script}")
    done = hostile.run(isolated_server("run", *tasks, *options), **variables)
    assert done.stdout.startswith("one: done\n1 of 1 passed"), done
    assert hostile.imported() == {}


def advertised_login() -> tuple[str, ...]:
    """Return the command that editors are told to run in a terminal."""
    asked: JsonValue = {
        "protocolVersion": 1,
        "clientCapabilities": {"_meta": {"terminal-auth": True}},
    }
    command = json_at(initialize_result(asked), "authMethods", 0, "_meta", "terminal-auth")
    assert isinstance(command, dict)
    arguments = command["args"]
    assert isinstance(arguments, list)
    return tuple(str(word) for word in (command["command"], *arguments))


def test_the_advertised_login_command_is_isolated() -> None:
    isolation = isolated_server()
    assert advertised_login()[: len(isolation)] == isolation


@pytest.mark.full
def test_the_advertised_login_command_imports_nothing_from_the_workspace(
    hostile: HostileRepository, variables: Mapping[str, str]
) -> None:
    words = advertised_login()
    address = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}  # where nobody answers: it tries the key
    done = hostile.run(words, stdin="sk-new-key\n", **variables, **address)
    assert STORED_KEY_IN.replace(" in", " for 127.0.0.1:9 in") in done.stderr
    assert hostile.imported() == {}


def command_for_editors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[str]:
    """Return what is configured for editors, for our interpreter."""
    python = folder / "python"  # without an `acp-server` in its directory
    python.symlink_to(sys.executable)
    with monkeypatch.context() as patched:
        patched.setattr("sys.executable", str(python))
        program, *words = editor_settings.server_command()
    assert program == str(python)
    return (sys.executable, *words)


def test_the_command_configured_for_editors_is_isolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_for_editors(tmp_path, monkeypatch) == isolated_server()


@pytest.mark.full
def test_the_command_configured_for_editors_imports_nothing_from_the_workspace(
    hostile: HostileRepository, variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = command_for_editors(hostile.home, monkeypatch)
    command = [*words, "serve", "--model", f"scripted:{hostile.script}"]
    assert '"sessionId"' in converse(hostile, command, variables)
    assert hostile.imported() == {}


@pytest.mark.parametrize(
    "line",
    [
        "doctor",
        pytest.param("demo --fast", marks=pytest.mark.full),
        pytest.param("skills list", marks=pytest.mark.full),
    ],
)
def test_other_commands_import_nothing_from_the_workspace(
    hostile: HostileRepository, variables: Mapping[str, str], line: str
) -> None:
    hostile.run(isolated_server(*line.split()), **variables)
    assert hostile.imported() == {}


def test_the_installed_command_imports_nothing_from_the_workspace(
    hostile: HostileRepository,
) -> None:
    program = str(Path(sys.executable).with_name("acp-server"))
    assert '"sessionId"' in converse(hostile, [program, "serve", "--model", "scripted:demo"], KEY)
    assert hostile.imported() == {}


def test_a_pythonpath_into_the_workspace_adds_no_package_from_it(
    hostile: HostileRepository,
) -> None:
    """What Python itself imports before our first line cannot be held; that is documented."""
    for path in hostile.workspace.glob("*.py"):
        if path.stem not in PACKAGES:
            path.unlink()
    for package in ("acp_server", "prompt_engine", "skills_store"):
        (hostile.workspace / package / "__init__.py").unlink()
        (hostile.workspace / package).rmdir()
    program = str(Path(sys.executable).with_name("acp-server"))
    command = [program, "serve", "--model", f"scripted:{hostile.script}"]
    assert '"sessionId"' in converse(hostile, command, KEY | {"PYTHONPATH": "."})
    assert hostile.imported() == {}


def test_pythonpath_entries_in_the_working_directory_are_not_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["src", f"{tmp_path}/lib", "/usr/lib"]))
    environment = f"{tmp_path}/.venv/lib"
    named = ["", str(tmp_path), f"{tmp_path}/src", f"{tmp_path}/link", f"{tmp_path}/lib"]
    path = [*named, environment, ROOT, "/usr/lib"]
    drop_workspace_entries(path)
    assert path == [environment, ROOT, "/usr/lib"]


def test_dependencies_on_pythonpath_next_to_the_program_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["src", f"{tmp_path}/lib", ROOT]))
    path = [f"{tmp_path}/src", f"{tmp_path}/lib", ROOT]
    drop_workspace_entries(path)
    assert path == [f"{tmp_path}/lib", ROOT]


def test_a_package_of_the_user_or_on_pythonpath_is_still_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.getusersitepackages", lambda: ROOT)
    assert isolated_server() == (sys.executable, "-P", "-E", "-m", "acp_server")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    assert isolated_server() == (sys.executable, "-P", "-m", "acp_server")
