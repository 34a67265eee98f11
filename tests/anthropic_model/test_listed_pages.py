"""A list of models may come in pages, and anything may be in it."""

import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from pydantic import JsonValue

from acp_server.models.access import ListedModel
from acp_server.models.anthropic.endpoint import MAX_PAGES, AnthropicEndpoint, list_models


async def listed(*pages: JsonValue) -> tuple[ListedModel, ...]:
    """Return the models of an endpoint that answers with these pages, then with the last again."""
    queries = list[str | None]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        queries.append(request.url.params.get("after_id"))
        return httpx2.Response(200, json=pages[min(len(queries), len(pages)) - 1])

    client = AsyncAnthropic(
        api_key="none",
        base_url="http://memory.invalid",
        http_client=DefaultAsyncHttpxClient(transport=httpx2.MockTransport(answer)),
        max_retries=0,
    )
    async with client:
        found = await list_models(AnthropicEndpoint(client, "memory"))
    assert queries[:2] == [None, "b"][: len(queries)]
    return found


async def test_the_pages_are_read_to_their_end() -> None:
    first: JsonValue = {
        "data": [{"id": "a", "display_name": "A", "max_tokens": 8}, {"id": "b"}],
        "has_more": True,
        "last_id": "b",
    }
    last: JsonValue = {"data": [{"id": "c", "max_input_tokens": 9}], "has_more": False}
    assert await listed(first, last) == (
        ListedModel("a", "A", None, 8),
        ListedModel("b", "b"),
        ListedModel("c", "c", 9),
    )


async def test_a_list_without_an_end_is_left() -> None:
    endless: JsonValue = {"data": [{"id": "b"}], "has_more": True, "last_id": "b"}
    assert len(await listed(endless)) == MAX_PAGES


async def test_what_is_no_model_is_left_out() -> None:
    strange: JsonValue = {
        "data": [None, "x", {"name": "without id"}, {"id": "b", "max_tokens": True}],
        "has_more": "yes",
        "last_id": 7,
    }
    assert await listed(strange) == (ListedModel("b", "b"),)
    assert await listed(["no object"]) == ()
