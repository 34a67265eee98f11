"""What goes wrong on demand: before an answer begins, on the way, and at its end."""

import time
from collections.abc import Sequence

import anthropic
import anyio
import httpx2
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import MessageParam

from tests.messages_api.clients import NEWEST, make_body, open_api_and_client, open_client, send
from tests.support.messages_api import (
    KEY,
    VERSION,
    CutAfterBytes,
    CutAfterEvents,
    CutInsideCharacter,
    DroppedConnection,
    EndAfterEvents,
    ErrorEvent,
    ExtraEvent,
    FakeApiServer,
    GarbageBytes,
    HoldUntilGate,
    HttpFailure,
    PauseBeforeEvent,
    ResponseGate,
    StreamFault,
    TrickledBytes,
    bad_gateway,
    bad_request,
    forbidden,
    huge_event,
    messages_api,
    not_found,
    overloaded,
    pings,
    rate_limited,
    reply,
    say,
    server_error,
    too_large,
    unauthorized,
    unavailable,
)

HI: list[MessageParam] = [{"role": "user", "content": "hi"}]
WORDS = "Grüße aus 東京, lots of them."


@pytest.mark.parametrize(
    ("failure", "status", "kind", "message"),
    [
        (bad_request("messages.0: bad"), 400, "invalid_request_error", "messages.0: bad"),
        (unauthorized(), 401, "authentication_error", "invalid x-api-key"),
        (forbidden(), 403, "permission_error", None),
        (not_found("claude-x"), 404, "not_found_error", "model: claude-x"),
        (too_large(), 413, "request_too_large", "Request exceeds the maximum size"),
        (rate_limited(), 429, "rate_limit_error", None),
        (server_error(), 500, "api_error", "Internal server error"),
        (overloaded(), 529, "overloaded_error", "Overloaded"),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
async def test_an_error_has_the_body_defined_by_the_api(
    failure: HttpFailure, status: int, kind: str, message: str | None
) -> None:
    async with open_api_and_client([failure, "fine"]) as (api, client):
        with pytest.raises(anthropic.APIStatusError) as caught:
            await send(client, make_body(stream=True))
        await send(client, make_body())

        error = caught.value
        assert (error.status_code, error.type) == (status, kind)
        assert message is None or error.api_message == message
        assert error.request_id == "req_01test000000000000000001"
        assert isinstance(error.body, dict)
        assert [(each.verdict, each.status) for each in api.model_requests] == [
            ("failed", status),
            ("answered", 200),
        ]


@pytest.mark.parametrize(("failure", "status"), [(bad_gateway(), 502), (unavailable(), 503)])
async def test_a_proxy_error_has_no_api_error_body(failure: HttpFailure, status: int) -> None:
    async with open_api_and_client([failure]) as (_, client):
        with pytest.raises(anthropic.InternalServerError) as caught:
            await send(client, make_body())

        assert caught.value.status_code == status
        assert caught.value.type is None
        assert isinstance(caught.value.body, str)


async def test_a_rate_limit_may_include_retry_after() -> None:
    async with open_api_and_client([rate_limited(7), rate_limited()]) as (_, client):
        headers: list[str | None] = []
        for _turn in range(2):
            with pytest.raises(anthropic.RateLimitError) as caught:
                await send(client, make_body())
            headers.append(caught.value.response.headers.get("retry-after"))

        assert headers == ["7", None]


async def test_a_failure_may_be_delayed() -> None:
    async with open_api_and_client([HttpFailure(500, delay_seconds=0.05)]) as (_, client):
        began = time.monotonic()
        with pytest.raises(anthropic.InternalServerError):
            await send(client, make_body())

        assert time.monotonic() - began >= 0.05


async def test_a_connection_may_drop_before_the_response_head() -> None:
    async with open_api_and_client([DroppedConnection(), "fine"]) as (api, client):
        with pytest.raises(anthropic.APIConnectionError):
            await send(client, make_body())
        await send(client, make_body())

        assert [(each.verdict, each.status, each.send_result) for each in api.model_requests] == [
            ("failed", None, "aborted"),
            ("answered", 200, "sent"),
        ]


async def test_a_stopped_listener_refuses_connections_until_restarted() -> None:
    async with open_api_and_client(["one", "two"]) as (api, client):
        await send(client, make_body())
        url = api.url
        await api.stop_listening()
        with pytest.raises(anthropic.APIConnectionError):
            await send(client, make_body())
        await api.start_listening()
        await send(client, make_body())

        assert api.url == url
        assert len(api.model_requests) == 2


async def test_the_sdk_retries_by_itself() -> None:
    async with (
        messages_api([overloaded(), DroppedConnection(), "fine"]) as api,
        AsyncAnthropic(base_url=api.url, api_key=KEY, max_retries=2) as client,
    ):
        await client.messages.create(model=NEWEST, max_tokens=9, messages=HI)

        assert [each.verdict for each in api.model_requests] == ["failed", "failed", "answered"]


async def _read(api: FakeApiServer) -> bytes:
    """Return the body of an answer as far as it came."""
    headers = {"x-api-key": KEY, "anthropic-version": VERSION}
    received = bytearray()
    async with httpx2.AsyncClient() as client:
        request = client.stream(
            "POST", f"{api.url}/v1/messages", json=make_body(stream=True), headers=headers
        )
        async with request as response:
            async for data in response.aiter_bytes():
                received += data
    return bytes(received)


async def _body_with(*faults: StreamFault) -> bytes:
    async with messages_api([reply(say(WORDS), faults=faults)]) as api:
        return await _read(api)


async def _cut_body_with(*faults: StreamFault) -> bytes:
    """Return what came before the connection was dropped."""
    received = bytearray()
    headers = {"x-api-key": KEY, "anthropic-version": VERSION}
    async with (
        messages_api([reply(say(WORDS), faults=faults)]) as api,
        httpx2.AsyncClient() as client,
        client.stream(
            "POST", f"{api.url}/v1/messages", json=make_body(stream=True), headers=headers
        ) as response,
    ):
        try:
            async for data in response.aiter_raw():
                received += data
        except httpx2.RemoteProtocolError:
            await api.wait_for_responses(1)
        assert api.model_requests[0].send_result == "aborted"
    return bytes(received)


async def test_a_stream_may_be_truncated_between_events() -> None:
    complete = await _body_with()
    cut = await _cut_body_with(CutAfterEvents(3))

    assert complete.startswith(cut)
    assert cut.endswith(b"\n\n")
    assert cut.count(b"event: ") == 3


async def test_a_stream_may_be_truncated_anywhere() -> None:
    complete = await _body_with()

    assert await _cut_body_with(CutAfterBytes(500)) == complete[:500]
    assert await _cut_body_with(CutAfterBytes(0)) == b""


async def test_a_stream_may_be_truncated_inside_a_character() -> None:
    cut = await _cut_body_with(CutInsideCharacter("京"))

    assert cut.endswith("東".encode() + "京".encode()[:1])


async def test_a_stream_may_end_early_without_a_connection_error() -> None:
    ended = await _body_with(EndAfterEvents(4))

    assert ended.count(b"event: ") == 4
    assert b"message_stop" not in ended


async def test_a_non_streaming_answer_may_be_truncated_too() -> None:
    async with open_api_and_client([reply(say(WORDS), faults=[CutAfterBytes(100)])]) as (
        api,
        client,
    ):
        with pytest.raises(anthropic.APIConnectionError):
            await send(client, make_body())

        assert api.model_requests[0].send_result == "aborted"


async def test_faults_can_be_combined() -> None:
    ended = await _body_with(pings(2, 3), EndAfterEvents(6))

    assert ended.count(b"event: ping") == 4


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [pings(0), pings(3, 20)],
        [ExtraEvent(2), ExtraEvent(5, "content_block_glow", {"type": "content_block_glow"})],
        [huge_event(3, 500_000)],
        [TrickledBytes(7, 0)],
        [PauseBeforeEvent(4, 0.02)],
    ],
    ids=["none", "pings", "unknown events", "a huge event", "drip", "hang"],
)
async def test_faults_a_client_must_tolerate_do_not_change_the_answer(
    faults: Sequence[StreamFault],
) -> None:
    async with open_api_and_client([reply(say(WORDS), faults=faults)]) as (api, client):
        text = ""
        stream = await client.messages.create(model=NEWEST, max_tokens=99, messages=HI, stream=True)
        async for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                text += event.delta.text

        assert text == WORDS
        assert api.model_requests[0].send_result == "sent"


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error"])
async def test_an_error_event_may_occur_mid_stream(kind: str) -> None:
    fault = ErrorEvent(4, "overloaded_error" if kind == "overloaded_error" else "api_error", "Oh.")
    async with open_api_and_client([reply(say(WORDS), faults=[fault])]) as (_, client):
        with pytest.raises(anthropic.APIStatusError) as caught:
            async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
                await stream.get_final_message()

        assert caught.value.status_code == 200
        assert caught.value.type == kind
        assert caught.value.api_message == "Oh."


async def test_garbage_events_cannot_be_parsed() -> None:
    async with open_api_and_client([reply(say(WORDS), faults=[GarbageBytes(3)])]) as (_, client):
        with pytest.raises(UnicodeDecodeError):
            async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
                await stream.get_final_message()


async def test_the_content_type_may_be_wrong() -> None:
    async with messages_api([reply("ok", content_type="text/html")]) as api:
        headers = {"x-api-key": KEY, "anthropic-version": VERSION}
        async with httpx2.AsyncClient() as client:
            response = await client.post(
                f"{api.url}/v1/messages", json=make_body(stream=True), headers=headers
            )

        assert response.headers["content-type"] == "text/html"
        assert "message_start" in response.text


async def test_deltas_can_be_delayed() -> None:
    async with open_api_and_client([reply(say("x" * 48), pause_seconds=0.02)]) as (_, client):
        began = time.monotonic()
        async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
            await stream.get_final_message()

        assert time.monotonic() - began >= 0.06


async def test_a_gate_blocks_an_answer_until_it_is_opened() -> None:
    head, middle, started = ResponseGate(), ResponseGate(), anyio.Event()
    script = [reply(say(WORDS), head_gate=head, faults=[HoldUntilGate(4, middle)])]
    received: list[str] = []
    async with open_api_and_client(script) as (api, client):

        async def listen() -> None:
            async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
                async for words in stream.text_stream:
                    received.append(words)
                    started.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await api.wait_for_requests(1)
            assert received == []
            head.open()
            await started.wait()
            assert received == [WORDS[:16]]
            middle.open()

        assert "".join(received) == WORDS


@pytest.mark.parametrize(
    "fault", [PauseBeforeEvent(4, 60), HoldUntilGate(4, ResponseGate())], ids=["hang", "gate"]
)
async def test_a_client_disconnect_is_detected(fault: StreamFault) -> None:
    async with open_api_and_client([reply(say(WORDS), faults=[fault])]) as (api, client):
        stream = await client.messages.create(model=NEWEST, max_tokens=99, messages=HI, stream=True)
        await anext(aiter(stream))
        await stream.close()
        await api.wait_for_responses(1)

        assert api.model_requests[0].send_result == "left"


async def test_a_hanging_response_head_triggers_the_client_timeout() -> None:
    async with open_api_and_client([reply("late", head_delay_seconds=60)]) as (api, client):
        with pytest.raises(anthropic.APITimeoutError):
            await client.messages.create(
                model=NEWEST, max_tokens=9, messages=HI, timeout=httpx2.Timeout(0.05)
            )
        await api.wait_for_responses(1)

        assert api.model_requests[0].send_result == "left"


async def test_closing_the_server_ends_hanging_responses() -> None:
    async with (
        anyio.create_task_group() as tasks,
        messages_api([reply("late", head_delay_seconds=60)]) as api,
    ):
        tasks.start_soon(_fail, api)
        await api.wait_for_requests(1)


async def _fail(api: FakeApiServer) -> None:
    async with open_client(api) as client:
        with pytest.raises(anthropic.APIConnectionError):
            await send(client, make_body())
