"""Which windows are known: those of the table, and those that the endpoint tells of."""

from pathlib import Path

import pytest

from acp_server.config.credentials import Credential
from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.endpoint_catalog import EndpointCatalog, EndpointConfig
from acp_server.models.lazy_imports import lazy_anthropic_client
from acp_server.models.model_list_cache import save_model_list
from acp_server.models.retry_policy import RetryPolicy
from prompt_engine.cache_control import add_cache_breakpoints
from tests.anthropic_model.model_session import make_provider_adapter

URL = "https://models.example"


async def nobody() -> Credential | None:
    """There is nothing to sign in with."""


@pytest.mark.parametrize(
    ("model_id", "known", "counted"),
    [
        ("claude-opus-5", 1_000_000, 1_000_000),
        ("listed-with-window", 64_000, 64_000),
        ("listed", None, 200_000),
        ("never-heard-of", None, 200_000),
        ("default", None, 200_000),
    ],
)
def test_an_assumed_context_window_does_not_count_as_known(
    tmp_path: Path, model_id: str, known: int | None, counted: int
) -> None:
    list_file = tmp_path / "models.json"
    listed = (ListedModel("listed-with-window", "One", 64_000), ListedModel("listed", "Two"))
    save_model_list(list_file, URL, listed)
    plan = EndpointConfig(EndpointAccess(URL), None, RetryPolicy(), list_file)
    provider = EndpointCatalog(
        plan,
        make_provider_adapter("messages"),
        nobody,
        lazy_anthropic_client(add_cache_breakpoints),
    )
    assert provider.known_window_tokens(model_id) == known
    assert provider.meter(model_id).window_tokens == counted
