"""Imports what tells how the gate will decide, when somebody asks: that takes a while."""

from collections.abc import Callable

from anyio import to_thread

from acp_server.permissions.modes import Mode

Forecast = Callable[[str, Mode], str]
"""Takes the name of a tool and a mode; returns a phrase."""


async def load_forecast() -> Forecast:
    """Return what tells what becomes of a tool's calls in a mode."""
    return await to_thread.run_sync(_import)


def _import() -> Forecast:
    from acp_server.permissions.forecast import forecast

    return forecast
