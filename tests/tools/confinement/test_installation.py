"""The server's own installation stays as it is, wherever confined commands may write."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import acp_server
from acp_server.tools.shell.confinement.installation import Installation, running_installation
from acp_server.tools.shell.confinement.launchers import SCRIPT
from acp_server.tools.shell.confinement.limits import SandboxLimits
from acp_server.tools.shell.confinement.sandbox import Sandbox, SessionSandbox
from acp_server.tools.shell.confinement.seatbelt import build_profile
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    launcher,
    make_network,
    needs_landlock,
    needs_sandbox,
    open_confined,
    working_launcher,
)

ATTEMPTS = {
    "change a file": "echo x >> {venv}/bin/tool",
    "add a file": "touch {venv}/lib/new.py",
    "delete a file": "rm -f {venv}/bin/tool",
    "change a mode": "chmod 777 {venv}/bin/tool",
    "delete all": "rm -rf {venv}",
    "move it": "mv {venv} {venv}-old",
    "replace it": "mv {venv} {venv}-old; mkdir -p {venv}/bin; echo x > {venv}/bin/tool",
    "move its directory": "mv {root}/part {root}/old; mkdir -p {venv}/bin; echo > {venv}/bin/tool",
    "a hard link": "ln {venv}/bin/tool {root}/mine && echo x > {root}/mine",
    "a link": "ln -s {venv}/bin/tool {root}/mine; echo x > {root}/mine",
    "by /proc": "echo x > /proc/self/root{venv}/bin/tool",
    "a mount": "unshare -Urm sh -c 'umount {venv}; echo x > {venv}/bin/tool'",
}


@pytest.fixture
def directories(tmp_path: Path) -> SandboxDirectories:
    directories = create_directories(tmp_path)
    for name in ("bin", "lib"):
        (directories.root / "part" / ".venv" / name).mkdir(parents=True)
    (directories.root / "part" / ".venv" / "bin" / "tool").write_text("as it was")
    return directories


def _venv(directories: SandboxDirectories) -> Path:
    return directories.root / "part" / ".venv"


def _state(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path): (path.stat().st_mode, path.read_text() if path.is_file() else "")
        for path in folder.rglob("*")
    }


def _sandbox(directories: SandboxDirectories) -> SessionSandbox:
    installation = Installation((), (_venv(directories),))
    scope = replace(directories.make_scope(), installation=lambda: installation)
    return SessionSandbox(Sandbox(directories.config, {}, launcher), scope, make_network())


@needs_sandbox
@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
async def test_no_command_changes_it_in_the_workspace(
    directories: SandboxDirectories, attempt: str
) -> None:
    venv = _venv(directories)
    before = _state(venv)
    async with open_confined(directories, sandbox=_sandbox(directories)) as session:
        await session.run(attempt.format(venv=venv, root=directories.root))
    assert _state(venv) == before


@needs_sandbox
async def test_the_workspace_around_it_works_otherwise(directories: SandboxDirectories) -> None:
    command = (
        "cat part/.venv/bin/tool && mkdir new && touch new/a a part/b && mv a part/a && rm part/b "
        "&& git init -q . && git add new && ls part/.venv/bin"
    )
    async with open_confined(directories, sandbox=_sandbox(directories)) as session:
        outcome = await session.run(command)
    assert outcome.ended.exit.code == 0, outcome.output
    assert outcome.output.startswith("as it was")
    assert outcome.output.endswith("tool\n")


@needs_landlock
@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_no_command_changes_it_where_nothing_can_be_mounted(
    directories: SandboxDirectories, attempt: str
) -> None:
    venv = _venv(directories)
    before = _state(venv)
    limits = SandboxLimits((directories.root,), (), read_only=(venv,))
    perl, _, *arguments = working_launcher().build_arguments(limits, {})
    script = directories.outside / "launcher.pl"
    has_namespaces = "my $has_spaces = prepare_namespaces();"
    assert has_namespaces in SCRIPT.read_text()
    script.write_text(SCRIPT.read_text().replace(has_namespaces, "my $has_spaces = 0;"))
    line = attempt.format(venv=venv, root=directories.root)
    ran = subprocess.run(
        [perl, str(script), *arguments, "/bin/sh", "-c", f"cat {venv}/bin/tool; {line}"],
        cwd=directories.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.startswith("as it was"), ran.stderr
    # Landlock does not know modes, and a change of them lets no command write.
    after = {name: text for name, (_, text) in _state(venv).items()}
    assert after == {name: text for name, (_, text) in before.items()}


def test_the_running_installation_is_protected_in_any_writable_directory() -> None:
    installation = running_installation()
    package = Path(acp_server.__file__).resolve().parent
    assert installation.protected_paths((Path("/home-of-none"),), ()) == ()
    protected = installation.protected_paths((package.parent,), ())
    assert any(package.is_relative_to(path) for path in protected)
    assert not any(package.parent.is_relative_to(path) for path in protected)
    environment = Path(sys.prefix).resolve()
    protected = installation.protected_paths((environment.parent,), ())
    assert any(environment.is_relative_to(path) for path in protected)
    # The environment itself opened as a workspace: its programs and packages.
    protected = installation.protected_paths((environment,), ())
    assert {environment / "bin", environment / "lib"} <= set(protected)
    assert installation.is_inside(package / "tools")


def test_what_is_hidden_around_it_stays_hidden() -> None:
    home = Path("/home/user")
    installation = Installation((home / ".hermes" / "venv",), ())
    assert installation.protected_paths((home,), (home / ".hermes",)) == ()
    assert installation.protected_paths((home,), ()) == (home / ".hermes" / "venv",)


def test_the_macos_profile_denies_writing_it_last() -> None:
    limits = SandboxLimits((Path("/w"),), (), read_only=(Path("/w/a/.venv"),))
    lines = build_profile(limits).splitlines()
    place = lines.index('(deny file-write* (subpath "/w/a/.venv"))')
    assert place > lines.index('(allow file-read-data file-write* (subpath "/w"))')
    assert '(deny file-write-unlink (literal "/w/a"))' in lines[place:]
