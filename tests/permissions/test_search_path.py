"""PATH entries of the workspace: their programs do not run without a question."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.search_path import remove_workspace_entries
from tests.permissions.secret_workspace import (
    RecordingUser,
    SecretWorkspace,
    ToolCaller,
    create_secret_workspace,
    make_tool_config,
    open_tool_caller_with,
)
from tests.support.case_table import named_case

ENTRIES = {"relative": "bin", "inside": "{root}/bin", "empty": "", "a link to it": "{home}/link"}


@pytest.fixture
def stage(tmp_path: Path) -> SecretWorkspace:
    return create_secret_workspace(tmp_path)


def add_program(path: Path) -> None:
    """Write a program that shows that it has run."""
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"#!/bin/sh\ntouch '{path}.ran'\n")
    path.chmod(0o755)


def has_run(program: Path) -> bool:
    return program.with_name(f"{program.name}.ran").exists()


@asynccontextmanager
async def open_with_path(
    stage: SecretWorkspace, entry: str, mode: Mode = "ask", user: RecordingUser | None = None
) -> AsyncGenerator[ToolCaller]:
    config = make_tool_config(stage)
    path = f"{entry.format(root=stage.root, home=stage.home)}{os.pathsep}{os.defpath}"
    config = replace(
        config,
        environment={**config.environment, "PATH": path},
        sandbox=SandboxConfig(mode="off"),
    )
    async with open_tool_caller_with(stage, mode, config, user) as caller:
        yield caller


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
async def test_a_program_of_the_workspace_runs_only_after_a_question(
    stage: SecretWorkspace, entry: str
) -> None:
    program = stage.root / ("ls" if entry == "" else "bin/ls")
    (stage.home / "link").symlink_to(stage.root / "bin")
    add_program(program)
    async with open_with_path(stage, entry) as caller:
        for command in ("ls", "cat README.md; ls", "echo $(ls)"):
            caller.user.questions.clear()
            outcome = await caller.call("terminal", {"command": command})
            assert (outcome.is_error, len(caller.user.questions)) == (True, 1), command
    assert not has_run(program)


async def test_a_program_of_the_workspace_that_the_user_allows_runs(stage: SecretWorkspace) -> None:
    program = stage.root / "bin/python3"
    add_program(program)
    async with open_with_path(stage, "{root}/bin", user=RecordingUser("allow_once")) as caller:
        await caller.call("terminal", {"command": "python3 --version"})
    assert has_run(program)


@pytest.mark.parametrize("command", ["cd sub && ls", "find . -maxdepth 0; cd sub; ls"])
async def test_a_command_without_a_question_finds_no_program_of_the_workspace(
    stage: SecretWorkspace, command: str
) -> None:
    program = stage.root / "sub/bin/ls"
    add_program(program)
    async with open_with_path(stage, "bin") as caller:
        outcome = await caller.call("terminal", {"command": command})
    assert (outcome.is_error, len(caller.user.questions)) == (False, 0)
    assert not has_run(program)


async def test_programs_of_the_system_come_first_if_path_says_so(stage: SecretWorkspace) -> None:
    program = stage.root / "bin/ls"
    add_program(program)
    path = f"{os.defpath}{os.pathsep}{stage.root}/bin"
    async with open_with_path(stage, path) as caller:
        outcome = await caller.call("terminal", {"command": "ls README.md"})
    assert (outcome.text, len(caller.user.questions)) == ("README.md", 0)


async def test_other_commands_keep_the_whole_path(stage: SecretWorkspace) -> None:
    program = stage.root / "bin/helper"
    add_program(program)
    async with open_with_path(stage, "{root}/bin", "bypass") as caller:
        await caller.call("terminal", {"command": "sh -c helper"})
    assert has_run(program)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
async def test_no_shell_of_the_workspace_runs_commands(stage: SecretWorkspace, entry: str) -> None:
    program = stage.root / ("bash" if entry == "" else "bin/bash")
    (stage.home / "link").symlink_to(stage.root / "bin")
    add_program(program)
    modes: tuple[Mode, ...] = ("ask", "accept_edits", "bypass")
    async with open_with_path(stage, entry, user=RecordingUser("allow_once")) as caller:
        for mode, command in product(modes, ("echo fine", "sh -c 'echo fine'")):
            caller.session.context.options.set_mode(mode)
            outcome = await caller.call("terminal", {"command": command})
            assert outcome.text == "fine", (mode, command)
    assert not has_run(program)


VERSION_FILES = (".tool-versions", ".python-version", "mise.toml", "sub/.mise.local.toml")


async def test_a_shim_asks_if_a_file_of_the_workspace_chooses_its_program(
    stage: SecretWorkspace,
) -> None:
    (stage.root / "sub").mkdir(exist_ok=True)
    async with open_with_path(stage, "{home}/.pyenv/shims") as caller:
        for command in ("python --version", "pip list", "uv --version"):
            program = stage.home / ".pyenv/shims" / command.partition(" ")[0]
            add_program(program)
            for name in VERSION_FILES:
                with named_case(f"{command}, {name}"):
                    caller.user.questions.clear()
                    unasked = await caller.call("terminal", {"command": command})
                    assert (unasked.is_error, len(caller.user.questions)) == (False, 0)
                    program.with_name(f"{program.name}.ran").unlink()
                    (stage.root / name).write_text("python path:./mine")
                    line = f"cd sub && {command}" if "/" in name else command
                    outcome = await caller.call("terminal", {"command": line})
                    assert (outcome.is_error, len(caller.user.questions)) == (True, 1)
                    assert not has_run(program)
                    (stage.root / name).unlink()


RUN_OTHERWISE = (
    "timeout 5 python --version",
    "time python --version",
    "nice -n 5 python --version",
    "stdbuf -oL timeout -k 1 5 python --version",
    "env python --version",
    "env CI=1 python --version",
    "timeout 5 env CI=1 LC_ALL=C python --version",
    "nohup python --version",
    "command python --version",
    "for x in python; do $x --version; done",
    "find README.md -exec python --version ';'",
    "find README.md | xargs -I% python --version",
    "find README.md | xargs timeout 5 python --version",
    'cat README.md && echo "$(python --version)"',
    "cat <(python --version)",
    "if python --version; then ls; fi",
    "cd sub && timeout 5 python --version",
    "py''thon --version",
)


async def test_a_shim_asks_however_it_is_run(stage: SecretWorkspace) -> None:
    program = stage.home / ".pyenv/shims/python"
    add_program(program)
    stage.write_file("sub/empty", "")
    stage.write_file(".python-version", "mine")
    async with open_with_path(stage, "{home}/.pyenv/shims") as caller:
        asked = {
            command: (await caller.call("terminal", {"command": command})).is_error
            for command in RUN_OTHERWISE
        }
    assert asked == dict.fromkeys(RUN_OTHERWISE, True)
    assert len(caller.user.questions) == len(RUN_OTHERWISE)
    assert not has_run(program)


async def test_a_program_of_the_workspace_asks_behind_a_wrapper(stage: SecretWorkspace) -> None:
    program = stage.root / "bin/ls"
    add_program(program)
    commands = ("timeout 5 ls", "for x in ls; do $x; done", "time ls")
    async with open_with_path(stage, "{root}/bin") as caller:
        for command in commands:
            assert (await caller.call("terminal", {"command": command})).is_error
    assert len(caller.user.questions) == len(commands)
    assert not has_run(program)


async def test_an_answer_for_one_program_covers_no_shim_of_another(stage: SecretWorkspace) -> None:
    add_program(stage.home / ".pyenv/shims/pytest")
    program = stage.home / ".pyenv/shims/python"
    add_program(program)
    user = RecordingUser("allow_session")
    stage.write_file(".python-version", "mine")
    async with open_with_path(stage, "{home}/.pyenv/shims", user=user) as caller:
        assert not (await caller.call("terminal", {"command": "pytest -q"})).is_error
        user.answer = "reject_once"
        assert not (await caller.call("terminal", {"command": "pytest -x"})).is_error
        await caller.call("terminal", {"command": "pytest -q && python --version"})
    assert len(user.questions) == len(("the first pytest", "python"))
    assert not has_run(program)


SHIMS = {
    "volta": (".volta/bin/node", "volta-shim", "package.json", '{"volta": {"node": "20.0.0"}}'),
    "volta's hooks": (".volta/bin/node", "volta-shim", ".volta/hooks.json", "{}"),
    "volta's own copy": (".volta/bin/npm", "volta-shim", "node_modules/.bin/npm", ""),
    "corepack": (
        *("npm/bin/npm", "corepack/dist/npm.js", "package.json"),
        '{"packageManager": "npm@9.0.0"}',
    ),
    "aqua": (".aqua/bin/gh", "aqua-proxy", "aqua.yaml", ""),
    "asdf": (".asdf/shims/python", "", ".tool-versions", "python path:./mine"),
    "rye": (".rye/shims/python", "", "pyproject.toml", ""),
    "nodenv": (".nodenv/shims/node", "", ".node-version", "mine"),
    "rbenv": (".rbenv/shims/ruby", "", ".ruby-version", "mine"),
    "plenv": (".plenv/shims/perl", "", ".perl-version", "mine"),
    "mise": (".local/share/mise/shims/node", "", ".config/mise/conf.d/x.toml", ""),
    "unreadable": (".volta/bin/node", "volta-shim", "package.json", "{"),
}


@pytest.mark.parametrize(("shim", "target", "file", "text"), SHIMS.values(), ids=SHIMS)
async def test_a_shim_of_each_version_manager_asks(
    shim: str, target: str, file: str, text: str, stage: SecretWorkspace
) -> None:
    program = stage.home / shim
    program.parent.mkdir(parents=True)
    real = stage.home / target if target else program
    add_program(real)
    if target:
        program.symlink_to(real)
    command = {"command": f"timeout 5 {program.name} --version"}
    async with open_with_path(stage, f"{{home}}/{Path(shim).parent}") as caller:
        assert not (await caller.call("terminal", command)).is_error
        assert has_run(real)
        real.with_name(f"{real.name}.ran").unlink()
        stage.write_file(file, text)
        outcome = await caller.call("terminal", command)
    assert (outcome.is_error, len(caller.user.questions)) == (True, 1)
    assert not has_run(real)


def test_an_empty_path_never_remains(tmp_path: Path) -> None:
    assert remove_workspace_entries(f".:{tmp_path}/bin:", (tmp_path,)) == os.defpath
