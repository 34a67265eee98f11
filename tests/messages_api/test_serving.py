"""The server as a server: connections, threads, and clients in another process."""

import subprocess
import sys

import anthropic
import anyio
import httpx2
import pytest
from anthropic import Anthropic

from tests.messages_api.clients import make_body, open_api_and_client, open_client, send
from tests.support.messages_api import (
    KEY,
    VERSION,
    ResponseGate,
    messages_api,
    messages_api_in_thread,
    reply,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

CHILD = """
import json, sys
from urllib.request import Request, urlopen
message = {"role": "user", "content": "hi"}
body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [message]}
headers = {"x-api-key": sys.argv[2], "anthropic-version": sys.argv[3]}
request = Request(f"{sys.argv[1]}/v1/messages", json.dumps(body).encode(), headers)
with urlopen(request) as response:
    print(json.load(response)["content"][0]["text"])
"""
"""A client without the SDK, whose import would take longest."""


def test_a_threaded_server_serves_a_blocking_client() -> None:
    with (
        messages_api_in_thread(["one"]) as api,
        Anthropic(base_url=api.url, api_key=KEY, max_retries=0) as client,
    ):
        message = client.messages.create(
            model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )
        api.add("two")

        assert message.content[0].to_dict()["text"] == "one"
        assert (len(api.model_requests), api.remaining_turns) == (1, 1)


def test_a_threaded_server_serves_a_client_in_another_process() -> None:
    gate = ResponseGate()
    with messages_api_in_thread([reply("Hello!", head_gate=gate)]) as api:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, api.url, KEY, VERSION], stdout=subprocess.PIPE, text=True
        )
        api.wait_for_requests(1)
        gate.open()
        output, _ = child.communicate(timeout=HANG_TIMEOUT_SECONDS)

        assert output == "Hello!\n"
        assert [each.verdict for each in api.requests] == ["answered"]


def test_a_threaded_server_can_stop_listening_and_advance_time() -> None:
    with (
        messages_api_in_thread(lambda _: "ok") as api,
        Anthropic(base_url=api.url, api_key=KEY, max_retries=0) as client,
    ):
        api.stop_listening()
        with pytest.raises(anthropic.APIConnectionError):
            client.models.list()
        api.start_listening()
        api.advance_time(10)

        assert client.models.list().data
        assert [each.path for each in api.requests] == ["/v1/models"]


async def test_requests_share_a_connection() -> None:
    async with open_api_and_client(["one", "two"]) as (_, client):
        await send(client, make_body())
        await send(client, make_body(stream=True))


async def test_requests_are_answered_concurrently() -> None:
    gate = ResponseGate()
    async with (
        messages_api([reply("slow", head_gate=gate), "fast"]) as api,
        open_client(api) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(send, client, make_body())
        await api.wait_for_requests(1)
        await send(client, make_body())
        gate.open()


async def test_non_http_input_is_dropped() -> None:
    async with messages_api() as api:
        url = httpx2.URL(api.url)
        async with await anyio.connect_tcp(url.host, url.port or 0) as stream:
            await stream.send(b"\x00\x01\x02 nonsense\r\n\r\n")
            with anyio.fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(anyio.EndOfStream):
                await stream.receive()


async def test_a_silent_client_is_tolerated() -> None:
    async with messages_api() as api:
        url = httpx2.URL(api.url)
        async with await anyio.connect_tcp(url.host, url.port or 0) as stream:
            await stream.send_eof()
            with anyio.fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(anyio.EndOfStream):
                await stream.receive()


async def test_a_failed_assertion_is_raised_unwrapped() -> None:
    with pytest.raises(AssertionError, match="mine"):
        async with messages_api():
            raise AssertionError("mine")
