"""Asks the user about the services of this machine that confined commands connect to."""

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import cast

from acp_server.permissions.effects import ConnectSocket
from acp_server.tools.shell.confinement.command_origin import CommandOrigin, HostAnswer

KEY_AGENT_VARIABLE = "SSH_AUTH_SOCK"


class SocketQuestions:
    """Permissions of one session's commands for Unix sockets outside of its directory."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Prepare; the environment says where the agent for ssh keys is."""
        self._key_agent = environment.get(KEY_AGENT_VARIABLE, "")

    async def ask(self, origin: CommandOrigin, path: Path) -> bool:
        """Return whether a command may connect to the service at a path, symlinks resolved.

        Programs try many services and do without them; so only those are asked about that do
        something for the user. The others are refused.
        """
        danger = self._danger_of(path)
        if not danger:
            if str(path) not in origin.refused_sockets:
                origin.refused_sockets.append(str(path))
            return False
        answer = origin.answers.setdefault((str(path), ""), HostAnswer())
        async with answer.lock:
            if answer.refusal is None:
                effect = ConnectSocket(str(path), danger)
                answer.refusal = await origin.ask(effect, f"Connect to the service {path}?")
        return not answer.refusal

    def _danger_of(self, path: Path) -> str:
        """Return what a known service can do; empty if it is unknown."""
        services = _services()
        if self._key_agent and path == Path(self._key_agent).resolve():
            return services["keys"]["danger"]
        for service in services.values():
            if any(fnmatchcase(path.name, each) for each in service["names"].split()):
                return service["danger"]
        return ""


@cache
def _services() -> Mapping[str, Mapping[str, str]]:
    document = tomllib.loads(Path(__file__).with_name("unix_services.toml").read_text("utf-8"))
    return cast("Mapping[str, Mapping[str, str]]", document)
