"""The picker of a first session: known models, until the vendor lists its own."""

from pathlib import Path

import pytest

from acp_server.config.credentials import Credential
from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.endpoint_catalog import EndpointCatalog, EndpointConfig
from acp_server.models.families import ModelFamily
from acp_server.models.retry_policy import RetryPolicy
from acp_server.session.project.choices import SelectedOptions
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.ports import Model
from tests.anthropic_model.model_session import make_provider_adapter

NEWEST = "claude-fable-5-2"


class FakeEntryPoint:
    """An API client whose endpoint lists these models; without any, listing fails."""

    def __init__(self, *listed: ListedModel) -> None:
        self.listed = listed

    def model(
        self, access: EndpointAccess, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> Model:
        raise NotImplementedError

    async def list_models(self, access: EndpointAccess) -> tuple[ListedModel, ...]:
        del access
        if not self.listed:
            raise ModelFailedError("this key may not list models", "permission")
        return self.listed

    async def close(self) -> None:
        """Nothing is open."""


async def a_key() -> Credential | None:
    return Credential(api_key="key", source="test")


def first_options(
    directory: Path, *listed: ListedModel, url: str | None = None, model_id: str | None = None
) -> SelectedOptions:
    """Return the options of a first session, whose endpoint will list these models."""
    client = FakeEntryPoint(*listed)
    catalog = EndpointCatalog(
        EndpointConfig(EndpointAccess(url), model_id, RetryPolicy(), directory / "models.json"),
        make_provider_adapter("messages"),
        a_key,
        Lazy(lambda: client),
    )
    return SelectedOptions(catalog, "ask")


def picker(options: SelectedOptions, name: str) -> tuple[str, list[str]]:
    """Return the current value and all values of an option."""
    found = next(each for each in options.options if each.id == name)
    return found.current, [each.value for each in found.values]


def test_the_first_session_offers_known_models_and_thinking(tmp_path: Path) -> None:
    options = first_options(tmp_path)
    current, models = picker(options, "model")
    assert current == models[0] == NEWEST
    assert {"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"} < set(models)
    assert not [model for model in models if "mythos" in model], "these are by invitation only"
    assert picker(options, "thought_level") == ("high", ["low", "medium", "high", "xhigh", "max"])
    entry = options.options[1].values[0]
    assert (entry.name, entry.description) == (
        "Claude Fable 5.2",
        "For the hardest and longest tasks · $8 in, $40 out per million tokens",
    )


async def test_the_list_of_the_vendor_replaces_the_known_models(tmp_path: Path) -> None:
    listed = ListedModel("claude-opus-5-5", "Claude Opus 5.5"), ListedModel("claude-9", "Claude 9")
    options = first_options(tmp_path, *listed)
    options.set_option("model", "claude-sonnet-5-5")
    await options.catalog.refresh()
    assert picker(options, "model") == ("claude-opus-5-5", ["claude-opus-5-5", "claude-9"])


async def test_a_prompt_asks_for_the_list_before_it_uses_a_model_from_the_table(
    tmp_path: Path,
) -> None:
    options = first_options(tmp_path, ListedModel("claude-opus-5-5", "Claude Opus 5.5"))
    await options.catalog.resolve_default()
    assert options.model_id == "claude-opus-5-5"


async def test_a_key_that_may_not_list_models_still_works(tmp_path: Path) -> None:
    options = first_options(tmp_path)
    await options.catalog.resolve_default()
    assert options.model_id == NEWEST


def test_a_configured_model_comes_first(tmp_path: Path) -> None:
    current, models = picker(first_options(tmp_path, model_id="claude-9"), "model")
    assert current == models[0] == "claude-9"
    assert NEWEST in models


@pytest.mark.parametrize("url", ["https://models.example", "http://127.0.0.1:8080"])
def test_nothing_is_known_of_the_models_of_a_gateway(tmp_path: Path, url: str) -> None:
    assert picker(first_options(tmp_path, url=url), "model") == ("default", ["default"])
