"""What is refused before the conversation is looked at: keys, headers, paths, bodies."""

import json

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic
from pydantic import JsonValue

from tests.messages_api.clients import (
    get_refusal,
    make_body,
    open_api_and_client,
    open_client,
    send,
)
from tests.support.messages_api import KEY, OLD_VERSION, VERSION, MessagesServerConfig, messages_api

GOOD = {"x-api-key": KEY, "anthropic-version": VERSION}


@pytest.mark.parametrize(
    ("headers", "status", "kind", "message"),
    [
        (
            {"anthropic-version": VERSION},
            401,
            "authentication_error",
            "x-api-key header is required",
        ),
        ({**GOOD, "x-api-key": "wrong"}, 401, "authentication_error", "invalid x-api-key"),
        (
            {"authorization": "Bearer wrong", "anthropic-version": VERSION},
            401,
            "authentication_error",
            "Invalid bearer token",
        ),
        ({"x-api-key": KEY}, 400, "invalid_request_error", "anthropic-version: header is required"),
        (
            {**GOOD, "anthropic-version": "2020-01-01"},
            400,
            "invalid_request_error",
            'anthropic-version: "2020-01-01" is not a valid version',
        ),
        (
            {**GOOD, "anthropic-beta": "no-such-beta"},
            400,
            "invalid_request_error",
            (
                "Unexpected value(s) `no-such-beta` for the `anthropic-beta` header. Please "
                "consult our documentation at docs.claude.com or try again without the header."
            ),
        ),
    ],
)
async def test_headers_are_checked_first(
    headers: dict[str, str], status: int, kind: str, message: str
) -> None:
    response = await _post(b"{}", headers)

    assert response.status_code == status
    assert response.json() == {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": response.headers["request-id"],
    }


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": KEY},
        {"authorization": f"Bearer {KEY}"},
        {"x-api-key": KEY, "authorization": f"Bearer {KEY}"},
    ],
)
async def test_a_key_is_accepted_in_either_header(headers: dict[str, str]) -> None:
    body = json.dumps(make_body()).encode()
    response = await _post(body, {**headers, "anthropic-version": OLD_VERSION})

    assert response.status_code == 200


async def _post(body: bytes, headers: dict[str, str]) -> httpx2.Response:
    async with messages_api(["ok"]) as api, httpx2.AsyncClient() as client:
        response = await client.post(f"{api.url}/v1/messages", content=body, headers=headers)
        assert not api.requests[0].headers.keys() & {"x-api-key", "authorization"}
        return response


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 20_000, b"\xff", b'{"a": NaN}', b'{"a": "\\ud83d"}']
)
async def test_a_body_that_is_not_json_is_refused(body: bytes) -> None:
    response = await _post(body, GOOD)

    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("The request body is not valid JSON: ")


async def test_a_body_that_is_not_an_object_is_refused() -> None:
    response = await _post(b"[]", GOOD)

    assert response.json()["error"]["message"] == "Input should be a valid dictionary or object"


async def test_other_paths_are_not_found() -> None:
    async with messages_api() as api, httpx2.AsyncClient() as client:
        for method, path in [("GET", "/v1/messages"), ("POST", "/v1/complete"), ("GET", "/")]:
            response = await client.request(method, api.url + path, headers=GOOD, content=b"{}")
            assert response.status_code == 404
            assert response.json()["error"]["type"] == "not_found_error"


async def test_an_unknown_model_is_not_found() -> None:
    async with open_api_and_client() as (api, client):
        for model in ("claude-sonnet-9", "claude-opus-4-1"):
            with pytest.raises(anthropic.NotFoundError) as caught:
                await send(client, make_body(model))
            assert caught.value.api_message == f"model: {model}"
        assert [(each.verdict, each.status) for each in api.model_requests] == [
            ("refused", 404)
        ] * 2


async def test_a_body_of_more_than_32_megabytes_is_refused() -> None:
    async with messages_api(["ok"]) as api, open_client(api) as client:
        body = make_body(messages=[{"role": "user", "content": "x" * (32 * 1024 * 1024)}])
        with pytest.raises(anthropic.ContentTooLargeError) as caught:
            await send(client, body)

        assert caught.value.api_message == "Request exceeds the maximum size"
        assert api.model_requests[0].body == {}
        await send(client, make_body())  # on the same connection


async def test_a_prompt_longer_than_the_context_window_is_refused() -> None:
    words = "x" * 801_000
    async with open_api_and_client() as (_, client):
        with pytest.raises(anthropic.BadRequestError) as caught:
            await send(client, make_body("claude-haiku-4-5", messages=[user_says(words)]))

        assert caught.value.api_message == "prompt is too long: 200257 tokens > 200000 maximum"


def user_says(words: str) -> JsonValue:
    return {"role": "user", "content": words}


async def test_a_request_beyond_the_script_is_refused() -> None:
    async with open_api_and_client(["one"]) as (api, client):
        await send(client, make_body())
        with pytest.raises(anthropic.BadRequestError):
            await send(client, make_body())

        assert [each.verdict for each in api.model_requests] == ["answered", "unscripted"]


async def test_a_refused_request_consumes_no_scripted_turn() -> None:
    async with open_api_and_client(["one"]) as (api, client):
        with pytest.raises(anthropic.BadRequestError):
            await send(client, make_body(max_tokens=-1))

        assert api.remaining_turns == 1
        assert (
            api.model_requests[0].verdict,
            api.model_requests[0].usage,
            api.model_requests[0].answer,
        ) == (
            "refused",
            None,
            None,
        )
        assert (
            api.model_requests[0].message
            == "max_tokens: Input should be greater than or equal to 0"
        )


async def test_requests_are_recorded_without_the_key() -> None:
    async with open_api_and_client(["one"]) as (api, client):
        await send(client, make_body(), {"x-trace": "7"})

        request = api.model_requests[0]
        assert request.body == make_body()
        assert request.headers["x-trace"] == "7"
        assert KEY not in str(request.headers)
        assert (request.method, request.verdict, request.status) == ("POST", "answered", 200)


async def test_only_the_keys_of_the_endpoint_are_accepted() -> None:
    endpoint = MessagesServerConfig(keys=frozenset({"mine"}))
    async with messages_api(["one"], endpoint) as api:
        async with AsyncAnthropic(base_url=api.url, auth_token="mine", max_retries=0) as client:  # noqa: S106
            await send(client, make_body())
        async with open_client(api) as client:
            with pytest.raises(anthropic.AuthenticationError):
                await send(client, make_body())


async def test_an_old_gateway_refuses_eager_input_streaming() -> None:
    tool: JsonValue = {
        "name": "a",
        "input_schema": {"type": "object"},
        "eager_input_streaming": True,
    }
    old = MessagesServerConfig(takes_eager_input_streaming=False)

    assert await get_refusal(make_body(tools=[tool])) is None
    assert await get_refusal(make_body(tools=[tool]), endpoint=old) == (
        "tools.0.custom.eager_input_streaming: Extra inputs are not permitted"
    )


async def test_some_gateways_refuse_cache_control() -> None:
    mark: JsonValue = {"type": "ephemeral"}
    body = make_body(system=[{"type": "text", "text": "a", "cache_control": mark}])

    assert await get_refusal(body) is None
    assert await get_refusal(body, endpoint=MessagesServerConfig(takes_cache_control=False)) == (
        "system.0.cache_control: Extra inputs are not permitted"
    )
