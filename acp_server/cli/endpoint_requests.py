"""One request for the models of a provider's endpoint: does it answer, and does it accept the key?

Sent by `doctor` and `setup`. Imports no SDK. The key goes to the provider's own address only.
"""

import httpx2

from acp_server.config.credentials import Credential
from acp_server.server.providers import ConfiguredProvider

ENDPOINT_SECONDS = 5.0
ENDPOINT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError)
KEY_REFUSED = frozenset({401, 403})
"""HTTP status codes by which an endpoint refuses a key."""
MESSAGES_VERSION = "2023-06-01"


async def request_models(provider: ConfiguredProvider, credential: Credential | None) -> int:
    """Ask an endpoint for its models and return the HTTP status code.

    Uses the proxies and certificate authorities of the environment, as model requests do. Follows
    no redirect.

    Raises:
        httpx2.HTTPError: There is no answer; other `ENDPOINT_ERRORS` for an invalid address or key.
    """
    address = provider.address.rstrip("/")
    path = "/v1/models" if provider.profile.api_format == "messages" else "/models"
    headers = _headers(provider, credential)
    async with httpx2.AsyncClient(timeout=ENDPOINT_SECONDS, headers=headers) as client:
        answer = await client.get(f"{address}{path}")
    return answer.status_code


def can_send_key(provider: ConfiguredProvider) -> bool:
    """Return whether the key is a header; requests to cloud providers are signed instead."""
    return not provider.profile.extra


def _headers(provider: ConfiguredProvider, credential: Credential | None) -> dict[str, str]:
    headers = dict(provider.profile.headers)
    if credential is None or not can_send_key(provider):
        return headers
    headers |= dict(credential.headers)
    secret = credential.api_key or credential.auth_token or ""
    if provider.profile.api_format == "messages":
        headers["anthropic-version"] = MESSAGES_VERSION
        if credential.api_key:
            return headers | {"x-api-key": secret}
    return headers | {"authorization": f"Bearer {secret}"}
