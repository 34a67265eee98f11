"""What starts a command within bounds, on the systems that offer it; which one works here.

A launcher is a program and its arguments, in front of the command's own. It is no Python, for it
is started with every command.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from acp_server.frozen import frozen
from acp_server.tools.shell.confinement.bounds import Bounds
from acp_server.tools.shell.confinement.seatbelt import profile
from skills_store.programs import find_program

SCRIPT = Path(__file__).with_name("launcher.pl")
SEATBELT = "/usr/bin/sandbox-exec"
FAILED = "acp-server: this cannot be confined"
FAILED_CODE = 121
"""With that line, the sign that nothing was run; see `launcher.pl`."""
PROBE_SECONDS = 5.0
OBEYED_VARIABLES = ("PERL5DB", "PERL5LIB", "PERL5OPT", "PERLLIB", "PERL_USE_UNSAFE_INC")
"""They would bring other code into the launcher; it hands them on to the command."""


class Launcher(Protocol):
    """Starts programs within bounds."""

    def arguments(self, bounds: Bounds, handed_on: Mapping[str, str]) -> tuple[str, ...]:
        """Return what stands in front of a program and its arguments.

        `handed_on` are variables that only the program is to get.
        """
        ...

    def files(self) -> tuple[str, ...]:
        """Return the files without which it cannot start, the first of them the program."""
        ...


@frozen
class PerlLauncher:
    """Landlock, namespaces and seccomp, by a script; perl comes with nearly every Linux."""

    perl: str

    def arguments(self, bounds: Bounds, handed_on: Mapping[str, str]) -> tuple[str, ...]:
        """Return the script with the bounds in words of its own."""
        variables = (f"var={name}={value}" for name, value in handed_on.items())
        return (self.perl, str(SCRIPT), *_named_bounds(bounds), *variables, "--")

    def files(self) -> tuple[str, ...]:
        """Return perl and the script."""
        return (self.perl, str(SCRIPT))


@frozen
class SeatbeltLauncher:
    """The sandbox of macOS."""

    def arguments(self, bounds: Bounds, handed_on: Mapping[str, str]) -> tuple[str, ...]:
        """Return the program with the bounds as a profile."""
        variables = (f"{name}={value}" for name, value in handed_on.items())
        return (SEATBELT, "-p", profile(bounds), "/usr/bin/env", *variables)

    def files(self) -> tuple[str, ...]:
        """Return the program."""
        return (SEATBELT,)


@frozen
class Missing:
    """There is no launcher here; `reason` says why, as a phrase."""

    reason: str


def find_launcher(environment: Mapping[str, str]) -> Launcher | Missing:
    """Return the launcher that works on this machine, having tried it. It blocks."""
    if sys.platform == "darwin":
        return _tried(SeatbeltLauncher(), environment)
    if not sys.platform.startswith("linux"):
        return Missing("this system offers no means that are known here")
    perl = find_program("perl", f"/usr/bin:/bin:{environment.get('PATH', os.defpath)}")
    if perl is None:
        return Missing("it needs perl, which is not installed")
    return _tried(PerlLauncher(perl), environment)


def _tried(launcher: Launcher, environment: Mapping[str, str]) -> Launcher | Missing:
    """Return a launcher if a program runs under it."""
    bounds = Bounds(writable=(), hidden=(), has_network=False)
    try:
        tried = subprocess.run(  # noqa: S603  our own launcher
            (*launcher.arguments(bounds, {}), "/bin/sh", "-c", ":"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": environment.get("PATH", os.defpath), "LC_ALL": "C"},
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Missing(f"{launcher.files()[0]} does not work: {error}")
    if tried.returncode == 0:
        return launcher
    told = tried.stderr.decode(errors="replace").strip().splitlines()
    reason = told[-1] if told else f"exit code {tried.returncode}"
    return Missing(reason.removeprefix(f"{FAILED}: ").removesuffix("; nothing was run"))


def _named_bounds(bounds: Bounds) -> Iterator[str]:
    for name, paths in (
        ("write", bounds.writable),
        ("hide", bounds.hidden),
        ("open", bounds.opened),
        ("read", bounds.readable or ()),
    ):
        yield from (f"{name}={path}" for path in paths)
    yield f"net={'open' if bounds.has_network else 'closed'}"
