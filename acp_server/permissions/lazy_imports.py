"""Lazy import of the permission forecast, which takes long enough to keep it out of start-up."""

from collections.abc import Callable

from anyio import to_thread

from acp_server.permissions.modes import Mode

Forecast = Callable[[str, Mode], str]
"""Takes a tool's name and a mode; returns a phrase."""


async def load_forecast() -> Forecast:
    """Return the function that predicts the gate's decision on a tool's calls in a mode."""
    return await to_thread.run_sync(_import)


def _import() -> Forecast:
    from acp_server.permissions.forecast import forecast

    return forecast
