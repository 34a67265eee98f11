"""Address and credentials of a model endpoint, and the models it lists. Imports no SDK."""

from dataclasses import field
from ipaddress import ip_address
from urllib.parse import urlsplit

from acp_server.models.families import Price
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class EndpointAccess:
    """Address, credentials and timeouts of an endpoint.

    `base_url` None means the vendor's own address. Instances are hashable: clients are cached by
    them.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Further headers of each request."""
    platform: str = ""
    """The cloud provider whose own client of the SDK is used: `bedrock` or `vertex`."""
    platform_values: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What that client needs: `region`, `project_id`, and environment variables by name."""
    read_timeout_seconds: float = 120.0
    """Read timeout: the longest silence before and within an answer."""
    connect_timeout_seconds: float = 10.0
    """Connect timeout."""

    @property
    def is_local(self) -> bool:
        """Whether the address is a loopback address, which is never reached by a proxy."""
        host = urlsplit(self.base_url or "").hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def needs_authorities(self) -> bool:
        """Whether a certificate may have to be checked, at the address or at a proxy."""
        return not self.is_local or urlsplit(self.base_url or "").scheme != "http"


@frozen_dataclass
class ListedModel:
    """A model as an endpoint lists it; a field is None if the endpoint does not report it."""

    id: str
    name: str
    window_tokens: int | None = None
    output_tokens: int | None = None
    has_efforts: bool | None = None
    """Whether the model accepts a reasoning effort."""
    price: Price | None = None
