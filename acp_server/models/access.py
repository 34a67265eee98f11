"""What it takes to call an endpoint, and what it offers. Imports no SDK."""

from dataclasses import field

from acp_server.frozen import frozen
from acp_server.models.families import Price


@frozen
class Access:
    """Where an endpoint is and how to sign in. `base_url` None is the vendor's own."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    idle_seconds: float = 120.0
    """How long the endpoint may be silent, before and within an answer."""
    connect_seconds: float = 10.0
    """How long it may take until there is a connection."""


@frozen
class ListedModel:
    """A model as an endpoint lists it; None is what it does not say."""

    id: str
    name: str
    window_tokens: int | None = None
    output_tokens: int | None = None
    has_efforts: bool | None = None
    """Whether it can be told how deeply to think."""
    price: Price | None = None
