"""Launchers: programs that start a command under sandbox limits, and the choice of a working one.

A launcher is a program with arguments, placed in front of the command's own. It is not written in
Python, because it starts with every command and must be fast.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.limits import SYSTEM_DIRECTORIES, SandboxLimits
from acp_server.tools.shell.confinement.seatbelt import build_profile
from skills_store.programs import find_program

SCRIPT = Path(__file__).with_name("launcher.pl")
SEATBELT = "/usr/bin/sandbox-exec"
FAILURE_PREFIX = "acp-server: this cannot be confined"
FAILURE_EXIT_CODE = 121
"""Together with that line, it means that nothing was run; see `launcher.pl`."""
PROBE_SECONDS = 5.0
PERL_VARIABLES = ("PERL5DB", "PERL5LIB", "PERL5OPT", "PERLLIB", "PERL_USE_UNSAFE_INC")
"""They would load other code into the launcher, so it passes them on to the command."""


@frozen_dataclass
class SandboxLauncher:
    """A program that starts other programs under limits."""

    files: tuple[str, ...]
    """The files that it needs to start; the first one is its program."""
    build_arguments: Callable[[SandboxLimits, Mapping[str, str]], tuple[str, ...]]
    """Returns the arguments to put in front of a program and its arguments.

    The variables are set for the program, but not for the launcher.
    """
    hold_arguments: Callable[[Sequence[str]], tuple[str, ...]] | None = None
    """Returns the arguments of a program that holds a private network for several commands.

    It takes the files of a network to join instead of a new one. None if there is no such program.
    """


def perl_launcher(perl: str) -> SandboxLauncher:
    """Return Landlock, namespaces and seccomp, applied by a script: nearly every Linux has perl."""

    def build_arguments(
        limits: SandboxLimits, command_variables: Mapping[str, str]
    ) -> tuple[str, ...]:
        paths = {
            "write": limits.writable,
            "hide": limits.hidden,
            "open": limits.opened,
            "keep": limits.read_only,
            "mask": limits.masked,
            "read": limits.readable or (),
        }
        limit_arguments = [f"{name}={path}" for name in paths for path in paths[name]]
        network = f"net={'open' if limits.has_network else 'closed'}"
        joined = [f"enter={path}" for path in limits.namespaces]
        joined += [f"connects={limits.supervisor}"] if limits.supervisor else []
        variables = (f"var={name}={value}" for name, value in command_variables.items())
        return (perl, str(SCRIPT), *limit_arguments, network, *joined, *variables, "--")

    def hold_arguments(namespaces: Sequence[str]) -> tuple[str, ...]:
        joined = (f"enter={path}" for path in namespaces)
        return (perl, str(SCRIPT), "hold=sockets", *joined, "--")

    return SandboxLauncher((perl, str(SCRIPT)), build_arguments, hold_arguments)


def seatbelt_launcher() -> SandboxLauncher:
    """Return the macOS sandbox (`sandbox-exec`), which takes the limits as a profile."""

    def build_arguments(
        limits: SandboxLimits, command_variables: Mapping[str, str]
    ) -> tuple[str, ...]:
        variables = (f"{name}={value}" for name, value in command_variables.items())
        return (SEATBELT, "-p", build_profile(limits), "/usr/bin/env", *variables)

    return SandboxLauncher((SEATBELT,), build_arguments)


@frozen_dataclass
class MissingLauncher:
    """No launcher works here; `reason` is a phrase that says why."""

    reason: str
    remedy: str = ""
    """What the user can do, as a phrase; empty if that is unknown."""


def find_launcher(environment: Mapping[str, str]) -> SandboxLauncher | MissingLauncher:
    """Return the launcher for this machine after a trial run. Blocks."""
    if sys.platform == "darwin":
        return _probe(seatbelt_launcher(), environment)
    if not sys.platform.startswith("linux"):
        return MissingLauncher("this operating system is not supported")
    # Security: entries of PATH outside system directories may be in a workspace, whose program
    # must not be the one that confines.
    entries = (Path(entry).resolve() for entry in environment.get("PATH", "").split(os.pathsep))
    system_entries = (
        str(entry)
        for entry in entries
        if any(entry.is_relative_to(folder) for folder in SYSTEM_DIRECTORIES)
    )
    perl = find_program("perl", os.pathsep.join(("/usr/bin", "/bin", *system_entries)))
    if perl is None:
        return MissingLauncher("perl is not installed", "install perl")
    return _probe(perl_launcher(perl), environment)


def _probe(
    launcher: SandboxLauncher, environment: Mapping[str, str]
) -> SandboxLauncher | MissingLauncher:
    """Return the launcher if a program runs under it."""
    limits = SandboxLimits(writable=(), hidden=(), has_network=False)
    try:
        # A trial run instead of version checks: kernels and containers disable these features in
        # many ways.
        completed = subprocess.run(  # noqa: S603  our own launcher
            (*launcher.build_arguments(limits, {}), "/bin/sh", "-c", ":"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": environment.get("PATH", os.defpath), "LC_ALL": "C"},
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return MissingLauncher(f"{launcher.files[0]} does not work: {error}")
    if completed.returncode == 0:
        return launcher
    error_lines = completed.stderr.decode(errors="replace").strip().splitlines()
    reason = error_lines[-1] if error_lines else f"exit code {completed.returncode}"
    return MissingLauncher(
        reason.removeprefix(f"{FAILURE_PREFIX}: ").removesuffix("; nothing was run")
    )
