"""Sandbox: finds a launcher once and builds the launch arguments of each command.

Tracks whether there is a sandbox and whether the user was notified. `limits` decides what a command
may do in it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.permissions.effects import Standing
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.shell.confinement.config import SandboxRules
from acp_server.tools.shell.confinement.launchers import (
    OBEYED_VARIABLES,
    Launcher,
    Missing,
    find_launcher,
)
from acp_server.tools.shell.confinement.limits import Territory
from acp_server.tools.shell.confinement.search_limits import reading_bounds

UNAVAILABLE = (
    "The sandbox does not work on this machine: {reason}. You are therefore asked about every "
    "command, including those that only read. To turn this off, set `sandbox.mode: off`."
)

Find = Callable[[], Launcher | Missing]


@frozen
class ConfinedElsewhere:
    """Launcher arguments for a command in the editor's terminal, and the files it needs there."""

    launcher: Sequence[str] = ()
    files: Sequence[str] = ()


class Sandbox:
    """The sandbox of a server, shared by all its sessions."""

    def __init__(
        self, rules: SandboxRules, environment: Mapping[str, str], find: Find | None = None
    ) -> None:
        """Prepare; the launcher is looked up on first use."""
        self.rules = rules
        self._find = find or partial(find_launcher, environment)
        self._looking = anyio.Lock()
        self._found: Launcher | Missing | None = None
        self._is_told = False

    async def launcher(self) -> Launcher | Missing | None:
        """Return the launcher of confined commands; None if confinement is off."""
        if self.rules.mode == "off":
            return None
        # Single-flight: concurrent first commands share one trial run.
        async with self._looking:
            if self._found is None:
                self._found = await to_thread.run_sync(self._find)
        return self._found

    async def announce(self, say: Callable[[str], None]) -> None:
        """Notify the user, once, if commands cannot be confined on this machine."""
        found = await self.launcher()
        if isinstance(found, Missing) and not self._is_told:
            # Set before notifying, so that concurrent sessions do not both notify.
            self._is_told = True
            say(UNAVAILABLE.format(reason=found.reason))


@frozen
class SessionSandbox:
    """The sandbox of one session."""

    sandbox: Sandbox
    territory: Territory

    async def standing(self, *, is_unconfined: bool = False) -> Standing:
        """Return the sandbox status of a command for the permission gate."""
        match await self.sandbox.launcher():
            case None:
                return "free"
            case Missing():
                return "unprotected"
            case _:
                return "unconfined" if is_unconfined else "confined"

    async def launch(self, variables: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the launcher arguments of a command, and its environment.

        Without a launcher, there are no arguments and the environment is unchanged. Variables that
        the launcher itself must not obey reach the command through the arguments.
        """
        launcher = await self._launcher()
        if launcher is None:
            return (), dict(variables)
        bounds = await to_thread.run_sync(self.territory.bounds)
        handed_on = {name: variables[name] for name in OBEYED_VARIABLES if name in variables}
        kept = {name: value for name, value in variables.items() if name not in handed_on}
        return launcher.arguments(bounds, handed_on), kept

    async def launch_elsewhere(self) -> ConfinedElsewhere:
        """Return how a command is confined in the editor's terminal."""
        launcher = await self._launcher()
        if launcher is None:
            return ConfinedElsewhere()
        bounds = await to_thread.run_sync(self.territory.bounds)
        return ConfinedElsewhere(launcher.arguments(bounds, {}), launcher.files())

    async def launch_search(self, root: Path, program: Path, *, hides: bool) -> tuple[str, ...]:
        """Return launcher arguments for our own search program, which may read below `root` only.

        The root is a path without symlinks. With `hides`, private paths below it stay unreadable.
        """
        launcher = await self._launcher()
        if launcher is None:
            return ()
        hidden = await to_thread.run_sync(self.territory.hidden) if hides else ()
        bounds = await to_thread.run_sync(reading_bounds, root, program, hidden)
        return launcher.arguments(bounds, {})

    async def _launcher(self) -> Launcher | None:
        found = await self.sandbox.launcher()
        return None if isinstance(found, Missing) else found
