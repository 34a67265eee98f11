"""The list of models, and that the table behind it makes sense."""

from datetime import date

import anthropic
import httpx2
import pytest
from anthropic.types import ModelInfo

from tests.messages_api.clients import open_api_and_client
from tests.support.messages_api import (
    KEY,
    MODEL_SPECS,
    VERSION,
    MessagesServerConfig,
    ModelSpec,
    find_model_spec,
    messages_api,
)


async def test_all_models_are_listed_newest_first() -> None:
    async with open_api_and_client() as (_, client):
        models = [model async for model in client.models.list()]

        assert [model.id for model in models] == [
            family.id for family in MODEL_SPECS if family.lifecycle == "active"
        ]
        dates = [model.created_at for model in models]
        assert dates == sorted(dates, reverse=True)


async def test_the_list_is_paginated() -> None:
    async with open_api_and_client() as (api, client):
        models = [model.id async for model in client.models.list(limit=5)]

        assert len(models) == len(set(models)) == 14
        assert len(api.requests) == 3


async def test_pagination_works_backwards_too() -> None:
    async with open_api_and_client() as (_, client):
        page = await client.models.list(before_id="claude-opus-5", limit=2)

        assert [model.id for model in page.data] == ["claude-sonnet-5-5", "claude-opus-5-5"]
        assert page.has_more is True
        first = await client.models.list(before_id="claude-haiku-5-5")
        assert ([model.id for model in first.data], first.has_more) == (["claude-fable-5-2"], False)


async def test_retired_models_are_listed_on_request() -> None:
    async with open_api_and_client() as (_, client):
        models = [model.id async for model in client.models.list(lifecycle=["retired"])]

        assert models == ["claude-opus-4-1-20250805"]


async def test_a_model_is_described_with_every_field_of_the_sdk() -> None:
    async with open_api_and_client() as (_, client):
        models = [await client.models.retrieve(family.id) for family in MODEL_SPECS[:3]]

        for model in models:
            assert model.model_fields_set == set(ModelInfo.model_fields)
            assert model.capabilities is not None
            assert model.capabilities.thinking.types.adaptive.supported
        haiku = await client.models.retrieve("claude-haiku-4-5")
        assert (haiku.id, haiku.max_input_tokens) == ("claude-haiku-4-5-20251001", 200_000)
        assert haiku.capabilities is not None
        assert not haiku.capabilities.effort.supported


async def test_an_unknown_model_is_not_found() -> None:
    async with open_api_and_client() as (_, client):
        with pytest.raises(anthropic.NotFoundError):
            await client.models.retrieve("claude-9")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=0", "limit: Input should be greater than or equal to 1"),
        ("limit=1001", "limit: Input should be less than or equal to 1000"),
        ("limit=ten", "limit: Input should be a valid integer"),
        ("after_id=nobody", "after_id: no model has the id nobody"),
    ],
)
async def test_an_invalid_page_request_is_refused(query: str, message: str) -> None:
    async with messages_api() as api, httpx2.AsyncClient() as client:
        headers = {"x-api-key": KEY, "anthropic-version": VERSION}
        response = await client.get(f"{api.url}/v1/models?{query}", headers=headers)

        assert response.status_code == 400
        assert response.json()["error"]["message"] == message


async def test_many_gateways_list_no_models() -> None:
    async with open_api_and_client((), MessagesServerConfig(lists_models=False)) as (_, client):
        with pytest.raises(anthropic.NotFoundError):
            await client.models.list()


async def test_an_endpoint_may_serve_custom_models() -> None:
    mine = ModelSpec("mine-1", "Mine", "opus", "2026-01-01")
    async with open_api_and_client((), MessagesServerConfig(model_specs=(mine,))) as (_, client):
        assert [model.id async for model in client.models.list()] == ["mine-1"]


def test_each_name_and_alias_identifies_one_model() -> None:
    names = [name for family in MODEL_SPECS for name in (family.id, *family.aliases)]

    assert len(set(names)) == len(names)
    assert all(date.fromisoformat(family.released_on) for family in MODEL_SPECS)
    assert find_model_spec("claude-opus-4-1") is None
