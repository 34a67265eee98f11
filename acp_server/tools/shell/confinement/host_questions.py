"""Asks the user about the hosts that confined commands connect to: by name, each once."""

from collections.abc import Sequence

from acp_server.permissions.effects import ConnectHost
from acp_server.tools.shell.confinement.command_origin import CommandOrigin, HostAnswer


class HostQuestions:
    """Permissions of one session's commands for hosts."""

    def __init__(self, allowed_hosts: Sequence[str]) -> None:
        """Prepare; a host of `allowed_hosts` is never asked about, `*.a.org` is all below a.org."""
        self._allowed_hosts = [each.lower() for each in allowed_hosts]

    async def ask(self, origin: CommandOrigin, site: str, address: str) -> str:
        """Return why a command may not connect to a site; empty if it may."""
        if self._is_configured(site):
            return ""
        # Programs open several connections to a host at the same time, and try again.
        answer = origin.answers.setdefault((site, address), HostAnswer())
        async with answer.lock:
            if answer.refusal is None:
                answer.refusal = await origin.ask(ConnectHost(site, address), f"Connect to {site}?")
        return answer.refusal

    def _is_configured(self, site: str) -> bool:
        """Return whether the settings allow a site: by its host, or its host and port."""
        host = site if site.endswith("]") else site.rpartition(":")[0] or site
        names = {site, host}
        return any(
            each in names or (each.startswith("*.") and host.endswith(each[1:]))
            for each in self._allowed_hosts
        )
