import os
import pty
import subprocess
from pathlib import Path

from acp_server.tools.shell.environment import build_command_environment
from tests.tools.shell.command_session import open_command_session

VARIABLES = {"HOME": "/home/me", "PAGER": "less", "KEY": "sk-1234567890"}


def test_a_command_inherits_variables_except_those_that_would_block_it() -> None:
    assert build_command_environment(VARIABLES, ["KEY"], "a.1.2.") == {
        "HOME": "/home/me",
        "ACP_SERVER_COMMAND_ID": "a.1.2.",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "EDITOR": "true",
        "VISUAL": "true",
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "DEBIAN_FRONTEND": "noninteractive",
        "PIP_NO_INPUT": "1",
        "TERM": "dumb",
        "GIT_CONFIG_COUNT": "5",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_KEY_0": "safe.bareRepository",
        "GIT_CONFIG_VALUE_0": "explicit",
        "GIT_CONFIG_KEY_1": "core.fsmonitor",
        "GIT_CONFIG_VALUE_1": "false",
        "GIT_CONFIG_KEY_2": "log.showSignature",
        "GIT_CONFIG_VALUE_2": "false",
        "GIT_CONFIG_KEY_3": "diff.submodule",
        "GIT_CONFIG_VALUE_3": "short",
        "GIT_CONFIG_KEY_4": "status.submoduleSummary",
        "GIT_CONFIG_VALUE_4": "false",
    }


def test_git_runs_no_configured_program_for_a_command_that_only_reads() -> None:
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    found = build_command_environment(variables, (), "a.", only_reads=True)
    assert (found["GIT_ALLOW_PROTOCOL"], found["GIT_NO_LAZY_FETCH"]) == ("none", "1")
    count = int(found["GIT_CONFIG_COUNT"])
    settings = {found[f"GIT_CONFIG_KEY_{n}"]: found[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}
    assert settings == {
        "a.b": "c",
        "safe.bareRepository": "explicit",
        "core.fsmonitor": "false",
        "core.hooksPath": "/dev/null",
        "diff.autoRefreshIndex": "false",
        "log.showSignature": "false",
        "gpg.program": "false",
        "gpg.openpgp.program": "false",
        "gpg.x509.program": "false",
        "gpg.ssh.program": "false",
        "diff.submodule": "short",
        "status.submoduleSummary": "false",
    }


def test_go_asks_no_version_control_for_a_command_that_only_reads() -> None:
    found = build_command_environment({"GOFLAGS": "-mod=vendor"}, (), "a.", only_reads=True)
    assert found["GOFLAGS"] == "-mod=vendor -buildvcs=false"
    assert build_command_environment({}, (), "a.", only_reads=True)["GOFLAGS"] == "-buildvcs=false"
    assert "GOFLAGS" not in build_command_environment({}, (), "a.")


def test_a_secret_value_under_another_name_is_removed_too() -> None:
    variables = VARIABLES | {"COPY": "sk-1234567890", "OTHER": "sk-other"}
    environment = build_command_environment(variables, ["KEY"], "a.")
    assert "COPY" not in environment
    assert environment["OTHER"] == "sk-other"


def test_a_short_or_empty_secret_removes_no_variable() -> None:
    variables = {"KEY": "true", "DEBUG": "true", "TOKEN": "", "EMPTY": ""}
    environment = build_command_environment(variables, ["KEY", "TOKEN", "ABSENT"], "a.")
    assert (environment["DEBUG"], environment["EMPTY"]) == ("true", "")
    assert not {"KEY", "TOKEN"} & environment.keys()


async def test_env_prints_no_secret(tmp_path: Path) -> None:
    variables = {"MY_KEY": "sk-very-secret", "ALIAS": "sk-very-secret", "PLAIN": "shown"}
    async with open_command_session(tmp_path, variables, ("MY_KEY",)) as session:
        outcome = await session.run("env; cat /proc/$$/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "sk-very-secret" not in outcome.output
    assert "PLAIN=shown" in outcome.output


async def test_variables_with_names_invalid_in_a_shell_are_passed(tmp_path: Path) -> None:
    async with open_command_session(tmp_path, {"some.name": "kept"}) as session:
        outcome = await session.run("env | grep '^some.name'")
    assert outcome.output == "some.name=kept\n"


async def test_variables_that_alter_the_meaning_of_a_command_are_removed(
    tmp_path: Path,
) -> None:
    """The gate has judged the text."""
    start = tmp_path / "start"
    start.write_text("echo started")
    variables = {
        "BASH_FUNC_ls%%": "() { echo other; }",
        "BASH_ENV": str(start),
        "CDPATH": "/",
        "RIPGREP_CONFIG_PATH": str(start),
        "SHELLOPTS": "xtrace",
    }
    async with open_command_session(tmp_path, variables) as session:
        outcome = await session.run("ls start; echo $CDPATH$RIPGREP_CONFIG_PATH")
    assert outcome.output == "start\n\n"


async def test_git_ignores_a_directory_that_only_looks_like_a_repository(tmp_path: Path) -> None:
    """Its settings could name programs."""
    for name in ("objects", "refs"):
        (tmp_path / name).mkdir()
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "config").write_text("[core]\n\tfsmonitor = touch caught\n\tbare = false\n")
    async with open_command_session(tmp_path, {"GIT_CONFIG_COUNT": "0"}) as session:
        await session.run("git status")
    assert not (tmp_path / "caught").exists()


def test_a_permitted_git_command_runs_hooks_but_no_editor_pager_or_monitor(tmp_path: Path) -> None:
    """The settings of the repository are on the allow-list because these are overridden."""
    home, tree = tmp_path / "home", tmp_path / "tree"
    home.mkdir()
    variables = {"HOME": str(home), "PATH": os.defpath}
    environment = build_command_environment(variables, (), "a.")

    def git(*arguments: str) -> None:
        # Git starts a pager for a terminal only.
        reader, terminal = pty.openpty()
        try:
            subprocess.run(
                ("git", *arguments),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=terminal,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        finally:
            os.close(terminal)
            os.close(reader)

    git("init", "-q", str(tree))
    for key in ("core.editor", "sequence.editor", "core.pager", "pager.log", "core.fsmonitor"):
        git("-C", str(tree), "config", key, f"touch '{home}/{key}'; cat #")
    hook = tree / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{home}/hook'\n")
    hook.chmod(0o755)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    commit = ("-C", str(tree), *identity, "commit", "-q", "--allow-empty")
    git(*commit, "-m", "one")
    git(*commit, "--amend")
    git("-C", str(tree), "--paginate", "log")
    git("-C", str(tree), "status")
    assert [each.name for each in home.iterdir()] == ["hook"]
    del environment["GIT_PAGER"], environment["GIT_EDITOR"]
    git(*commit, "--amend")
    git("-C", str(tree), "--paginate", "log")
    assert {each.name for each in home.iterdir()} == {"hook", "core.editor", "core.pager"}
