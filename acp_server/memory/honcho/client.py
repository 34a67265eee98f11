"""Honcho's SDK as far as it is used here; the package is optional and has no place in our types."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from acp_server.memory.honcho.config import HonchoConfig
from acp_server.memory.provider import ProviderUnavailableError

MISSING_SDK = (
    "its package is not installed; install it with "
    "`uv tool install 'hermes-acp-server[honcho]'` or `pip install honcho-ai`"
)
MAX_BATCH = 100
"""How many messages one request may hold."""


class Conclusion(Protocol):
    """A fact about a peer."""

    id: str
    content: str


class Conclusions(Protocol):
    """The facts that one peer knows about another."""

    def create(self, conclusions: list[dict[str, str]]) -> object: ...  # noqa: D102

    def query(self, query: str, top_k: int) -> Sequence[Conclusion]: ...  # noqa: D102

    def delete(self, conclusion_id: str) -> None: ...  # noqa: D102


class HonchoMessage(Protocol):
    """A message of a session."""

    content: str
    peer_id: str


class PeerContext(Protocol):
    """What one peer knows about another."""

    representation: str | None
    peer_card: Sequence[str] | None


class HonchoPeer(Protocol):
    """A participant: the user, or the agent."""

    id: str

    def message(self, content: str) -> object: ...  # noqa: D102

    def context(self, target: str, search_query: str) -> PeerContext: ...  # noqa: D102

    def get_card(self, target: str) -> Sequence[str] | None: ...  # noqa: D102

    def chat(self, query: str, *, target: str, reasoning_level: str) -> str | None: ...  # noqa: D102

    def search(self, query: str, *, limit: int) -> Sequence[HonchoMessage]: ...  # noqa: D102

    def conclusions_of(self, target: str) -> Conclusions: ...  # noqa: D102


class HonchoSession(Protocol):
    """A conversation."""

    def add_peers(self, peers: object) -> None: ...  # noqa: D102

    def add_messages(self, messages: list[object]) -> object: ...  # noqa: D102


class HonchoClient(Protocol):
    """A workspace of Honcho."""

    def peer(self, id: str) -> HonchoPeer: ...  # noqa: A002, D102

    def session(self, id: str) -> HonchoSession: ...  # noqa: A002, D102


class Connections(Protocol):
    """The HTTP client of the SDK; the SDK closes only one of its own, and that never."""

    def close(self) -> None: ...  # noqa: D102


def open_client(config: HonchoConfig) -> tuple[HonchoClient, Connections]:
    """Return a client and what to close at the end; nothing is sent yet.

    Raises:
        ProviderUnavailableError: the package is not installed.
    """
    try:
        module, httpx = import_module("honcho"), import_module("httpx")
    except ImportError as error:
        raise ProviderUnavailableError(MISSING_SDK) from error
    create = cast("type[HonchoClient]", getattr(module, "Honcho"))  # noqa: B009
    open_connections = cast("Callable[..., Connections]", getattr(httpx, "Client"))  # noqa: B009
    connections = open_connections(timeout=config.timeout_seconds)
    options: Mapping[str, object] = {
        "http_client": connections,
        # A server of one's own may need no key, but the SDK would take one of the environment.
        "api_key": config.api_key or "none",
        "workspace_id": config.workspace,
        "timeout": config.timeout_seconds,
        **(
            {"base_url": config.base_url}
            if config.base_url
            else {"environment": config.environment}
        ),
    }
    return create(**options), connections


def peer_configs(user: str, agent: str) -> Mapping[str, object]:
    """Return how a session observes: the agent learns about the user, the user about nobody."""
    module = import_module("honcho.api_types")
    create = cast("type[object]", getattr(module, "SessionPeerConfig"))  # noqa: B009
    options: Mapping[str, Mapping[str, object]] = {
        user: {"observe_me": True, "observe_others": False},
        agent: {"observe_me": True, "observe_others": True},
    }
    return {name: create(**each) for name, each in options.items()}
