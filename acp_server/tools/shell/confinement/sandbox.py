"""The sandbox of commands: looked for once, asked for the launcher of each command.

Owns whether there is one and who was told so. What a command may do in it is `bounds`' matter.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.frozen import frozen
from acp_server.permissions.effects import Standing
from acp_server.tools.shell.confinement.bounds import Territory
from acp_server.tools.shell.confinement.launchers import (
    OBEYED_VARIABLES,
    Launcher,
    Missing,
    find_launcher,
)
from acp_server.tools.shell.confinement.reading import reading_bounds
from acp_server.tools.shell.confinement.rules import SandboxRules

UNAVAILABLE = (
    "Commands are not confined on this machine: {reason}. So you are asked about each one, also "
    "about those that only read; `sandbox.mode: off` ends that."
)

Find = Callable[[], Launcher | Missing]


@frozen
class ConfinedElsewhere:
    """What stands in front of a confined command, and the files without which it cannot start."""

    launcher: Sequence[str] = ()
    files: Sequence[str] = ()


class Sandbox:
    """The sandbox of a server, for all its sessions."""

    def __init__(
        self, rules: SandboxRules, environment: Mapping[str, str], find: Find | None = None
    ) -> None:
        """Prepare; nothing is looked for before somebody asks."""
        self.rules = rules
        self._find = find or partial(find_launcher, environment)
        self._looking = anyio.Lock()
        self._found: Launcher | Missing | None = None
        self._is_told = False

    async def launcher(self) -> Launcher | Missing | None:
        """Return what starts confined commands; None if none are to be confined."""
        if self.rules.mode == "off":
            return None
        async with self._looking:
            if self._found is None:
                self._found = await to_thread.run_sync(self._find)
        return self._found

    async def announce(self, say: Callable[[str], None]) -> None:
        """Say, once, that commands cannot be confined here."""
        found = await self.launcher()
        if isinstance(found, Missing) and not self._is_told:
            self._is_told = True
            say(UNAVAILABLE.format(reason=found.reason))


@frozen
class SessionSandbox:
    """The sandbox of one session."""

    sandbox: Sandbox
    territory: Territory

    async def standing(self, *, is_unconfined: bool = False) -> Standing:
        """Return how a command stands that is to run, in the gate's words."""
        match await self.sandbox.launcher():
            case None:
                return "free"
            case Missing():
                return "unprotected"
            case _:
                return "unconfined" if is_unconfined else "confined"

    async def launch(self, variables: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return what stands in front of a command, and its variables; all as it is where none can.

        What the launcher itself must not obey reaches the command by way of its arguments.
        """
        launcher = await self._launcher()
        if launcher is None:
            return (), dict(variables)
        bounds = await to_thread.run_sync(self.territory.bounds)
        handed_on = {name: variables[name] for name in OBEYED_VARIABLES if name in variables}
        kept = {name: value for name, value in variables.items() if name not in handed_on}
        return launcher.arguments(bounds, handed_on), kept

    async def launch_elsewhere(self) -> ConfinedElsewhere:
        """Return how a command is confined in a terminal that is not ours."""
        launcher = await self._launcher()
        if launcher is None:
            return ConfinedElsewhere()
        bounds = await to_thread.run_sync(self.territory.bounds)
        return ConfinedElsewhere(launcher.arguments(bounds, {}), launcher.files())

    async def launch_search(self, root: Path, program: Path, *, hides: bool) -> tuple[str, ...]:
        """Return what stands in front of a program of ours that may read below a root only.

        The root is a path without links. With `hides`, what is private stays so below it.
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
