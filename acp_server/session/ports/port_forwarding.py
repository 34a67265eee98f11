"""The port by which a session lets this machine reach servers of its sandboxed commands."""

from typing import Protocol

NOT_SANDBOXED = (
    "Commands of this session are not sandboxed: their servers already listen on this machine."
)


class PortForwarding(Protocol):
    """Makes ports of the sandbox's private network reachable from this machine."""

    async def run(self, arguments: str) -> str:
        """Forward the named port, stop that, or list the ports; return Markdown."""
        ...


class NoPortForwarding:
    """A session without a sandbox."""

    async def run(self, arguments: str) -> str:
        """Return that nothing has to be forwarded."""
        del arguments
        return NOT_SANDBOXED
