"""Certificate authorities take tens of milliseconds to read: only who may need them reads them."""

from unittest.mock import Mock

import httpcore2
import pytest

from acp_server.models.access import EndpointAccess
from acp_server.models.anthropic import endpoint as messages
from acp_server.models.openai_compatible import endpoint as openai_compatible


@pytest.mark.parametrize(
    ("url", "is_read"),
    [
        ("http://127.0.0.1:11434/v1", False),
        ("http://localhost:11434/v1", False),
        ("https://localhost:11434/v1", True),
        ("http://models.example/v1", True),  # by a proxy with TLS, perhaps
        ("https://models.example/v1", True),
    ],
)
async def test_authorities_are_read_unless_nothing_can_need_them(
    url: str, *, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Mock(wraps=httpcore2.default_ssl_context)
    monkeypatch.setattr(httpcore2, "default_ssl_context", read)
    endpoint = openai_compatible.connect(EndpointAccess(base_url=url), "")
    await endpoint.client.aclose()
    assert read.called is is_read

    read.reset_mock()
    messages.load_certificate_authorities.cache_clear()
    client = messages.connect(EndpointAccess(base_url=url, api_key="k")).client
    await client.close()
    assert read.called is is_read
