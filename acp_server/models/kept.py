"""What the adapters of a provider share: an endpoint for each access, and what is known of models.

Knows no SDK and no form.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from acp_server.models.access import Access

E = TypeVar("E")
T = TypeVar("T")


class KeptEndpoints(Generic[E, T]):
    """Endpoints and their models, made when they are first wanted and kept until the end."""

    def __init__(
        self,
        connect: Callable[[Access], E],
        aim: Callable[[E, str], T],
        disconnect: Callable[[E], Awaitable[None]],
    ) -> None:
        """`connect` opens an endpoint, `aim` makes the target of a model's id at it."""
        self._connect = connect
        self._aim = aim
        self._disconnect = disconnect
        self._endpoints: dict[Access, E] = {}
        self._targets: dict[tuple[Access, str], T] = {}

    def endpoint(self, access: Access) -> E:
        """Return the endpoint of an access, always the same."""
        if access not in self._endpoints:
            self._endpoints[access] = self._connect(access)
        return self._endpoints[access]

    def target(self, access: Access, model_id: str) -> T:
        """Return the target of a model, always the same: what is learned of it stays."""
        key = (access, model_id)
        if key not in self._targets:
            self._targets[key] = self._aim(self.endpoint(access), model_id)
        return self._targets[key]

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self._endpoints.values():
            await self._disconnect(endpoint)
        self._endpoints.clear()
        self._targets.clear()
