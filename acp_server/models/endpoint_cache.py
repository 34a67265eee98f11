"""Cache of endpoints and their models, shared by the adapters of one provider.

Independent of SDK and API format.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from acp_server.models.access import EndpointAccess

E = TypeVar("E")
T = TypeVar("T")


class EndpointCache(Generic[E, T]):
    """Endpoints and model targets, created on first use and kept until `close`.

    Base class of the entry points, which thus share connections.
    """

    def __init__(
        self,
        connect: Callable[[EndpointAccess], E],
        make_target: Callable[[E, str], T],
        disconnect: Callable[[E], Awaitable[None]],
    ) -> None:
        """Prepare; `connect` opens an endpoint, `make_target` makes a target for a model id at it.

        `disconnect` closes an endpoint.
        """
        self._connect = connect
        self._make_target = make_target
        self._disconnect = disconnect
        self._endpoints: dict[EndpointAccess, E] = {}
        self._targets: dict[tuple[EndpointAccess, str], T] = {}

    def endpoint(self, access: EndpointAccess) -> E:
        """Return the endpoint of an access; always the same, so that connections are shared."""
        if access not in self._endpoints:
            self._endpoints[access] = self._connect(access)
        return self._endpoints[access]

    def target(self, access: EndpointAccess, model_id: str) -> T:
        """Return the target of a model; always the same, so that rejected fields stay known."""
        key = (access, model_id)
        if key not in self._targets:
            self._targets[key] = self._make_target(self.endpoint(access), model_id)
        return self._targets[key]

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self._endpoints.values():
            await self._disconnect(endpoint)
        self._endpoints.clear()
        self._targets.clear()
