"""The first `initialize` is answered on a short way of its own: as the long way would answer it."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Thread

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import JsonValue

from acp_server.config.settings import load
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.server.app import build_server
from acp_server.startup.handshake import ClaimedStdio, answer_initialize
from tests.support.case_table import each_case
from tests.support.server_process import open_nonblocking_pipes
from tests.wire.malformed_messages import encode_for_session, mutated_messages

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture(autouse=True)
def signal_handlers() -> Iterator[None]:
    """Greeting changes what signals do."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@dataclass(frozen=True)
class Greeting:
    """What the short way did with what it read: what it answered, and what it left."""

    answer: bytes
    unread: bytes
    is_over: bool


def greeting_of(*writes: bytes) -> Greeting:
    """Greet a client that writes this, and then ends its stream."""
    read, client_write = os.pipe()
    client_read, write = os.pipe()
    client = Thread(target=write_and_end, args=[client_write, writes])
    client.start()
    wire = ClaimedStdio(read, write)
    answer_initialize(wire)
    os.close(write)
    with os.fdopen(client_read, "rb") as answers:
        greeting = Greeting(answers.read(), wire.unread, wire.has_client_left)
    with os.fdopen(read, "rb") as rest:
        greeting = replace(greeting, unread=greeting.unread + rest.read())
    client.join()
    return greeting


def write_and_end(descriptor: int, writes: Sequence[bytes]) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        for data in writes:
            stream.write(data)


def long_answer_to(line: bytes) -> bytes:
    """What the peer answers to a first line."""
    received: list[bytes] = []

    async def run() -> None:
        server_end, client_end = create_memory_pair(is_file=True)
        client_end.send(line + b"\n")
        client_end.end()
        async with server_end:
            await build_server(server_end, load({}, {"HERMES_HOME": "/nowhere"})).run()
        received.extend(each for each in await client_end.receive() if isinstance(each, bytes))

    anyio.run(run)
    assert len(received) <= 1
    return b"".join(each + b"\n" for each in received)


def hello(identifier: JsonValue = 0, **params: JsonValue) -> bytes:
    message: JsonValue = {"jsonrpc": "2.0", "id": identifier, "method": "initialize"}
    return json.dumps({**message, "params": {"protocolVersion": 1, **params}}).encode()


def test_an_ordinary_initialize_is_answered_on_the_fast_path() -> None:
    assert greeting_of(HELLO + b"\n") == Greeting(long_answer_to(HELLO), b"", is_over=True)


def test_input_after_the_initialize_is_left_for_the_peer() -> None:
    greeting = greeting_of(HELLO + b'\n{"jsonrpc"')
    assert greeting == Greeting(long_answer_to(HELLO), b'{"jsonrpc"', is_over=False)


SHORT = {
    "a string for an id": hello("a"),
    "an empty id": hello(""),
    "the largest id": hello(2**63 - 1),
    "the smallest id": hello(-(2**63)),
    "an id beyond ASCII": hello("é😀"),
    "an id beyond ASCII, not escaped": HELLO.replace(b"0,", '"é😀",'.encode(), 1),
    "version 0": hello(protocolVersion=0),
    "version 2": hello(protocolVersion=2),
    "version 65535": hello(protocolVersion=65535),
    "spaces before it": b"  \t" + HELLO,
    "a carriage return behind it": HELLO + b"\r",
    "capabilities": hello(clientCapabilities={"fs": {"readTextFile": True}, "terminal": True}),
    "capabilities that are none": hello(clientCapabilities=[1], clientInfo=5, _meta="x"),
    "unknown fields": hello(unknown={"a": [1]}),
}


@each_case("line", SHORT.values(), ids=SHORT.keys())
def test_the_fast_path_answers_byte_for_byte_like_the_normal_path(line: bytes) -> None:
    assert greeting_of(line + b"\n") == Greeting(long_answer_to(line), b"", is_over=True)


LONG = {
    "null for an id": hello(None),
    "no id": b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}',
    "true for an id": hello(identifier=True),
    "a float for an id": hello(1.0),
    "an id above 64 bits": hello(2**63),
    "half a surrogate pair in the id": hello("\ud800"),
    "half a surrogate pair in the params": hello(clientInfo={"name": "\udfff", "version": "1"}),
    "NaN": hello(x=float("nan")),
    "Infinity": hello(_meta={"x": float("inf")}),
    "version '1'": hello(protocolVersion="1"),
    "version 1.0": hello(protocolVersion=1.0),
    "version true": hello(protocolVersion=True),
    "version -1": hello(protocolVersion=-1),
    "version 65536": hello(protocolVersion=65536),
    "no version": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    "no params": b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
    "an array of params": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}',
    "a number for params": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":1}',
    "no jsonrpc": b'{"id":1,"method":"initialize","params":{"protocolVersion":1}}',
    "a byte order mark": b"\xef\xbb\xbf" + HELLO,
    "another method": b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}',
    "an array": b"[" + HELLO + b"]",
    "a blank line": b"",
    "deep nesting": HELLO[:-2] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "words": b"hello",
}


@each_case("line", LONG.values(), ids=LONG.keys())
def test_unexpected_input_is_handed_over_unanswered(line: bytes) -> None:
    assert greeting_of(line + b"\n") == Greeting(b"", line + b"\n", is_over=False)


@pytest.mark.parametrize("examples", [40, pytest.param(20_000, marks=pytest.mark.full)])
def test_any_fast_path_response_equals_the_normal_path_response(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(mutated_messages("initialize"))
    def check(message: JsonValue) -> None:
        line = encode_for_session(message, "")
        greeting = greeting_of(line + b"\n")
        if greeting.is_over:
            assert greeting.answer == long_answer_to(line)
        else:
            assert greeting == Greeting(b"", line + b"\n", is_over=False)

    check()


def test_an_initialize_in_two_chunks_is_answered() -> None:
    greeting = greeting_of(HELLO[:20], HELLO[20:] + b"\n" + b"rest")
    assert greeting == Greeting(long_answer_to(HELLO), b"rest", is_over=False)


def test_an_incomplete_line_before_the_end_is_handed_over() -> None:
    assert greeting_of(HELLO) == Greeting(b"", HELLO, is_over=False)


def test_a_silent_client_is_handed_over() -> None:
    assert greeting_of() == Greeting(b"", b"", is_over=False)


def test_an_overlong_first_line_is_handed_over_completely() -> None:
    line = hello(x="y" * 3_000_000) + b"\n"
    assert greeting_of(line) == Greeting(b"", line, is_over=False)


def test_data_read_from_a_nonblocking_descriptor_is_not_lost() -> None:
    ends = open_nonblocking_pipes()
    os.write(ends.write, HELLO[:20])
    wire = ClaimedStdio(ends.server_reads, ends.server_writes)
    answer_initialize(wire)
    assert (wire.unread, wire.has_client_left) == (HELLO[:20], False)
    for descriptor in (ends.server_reads, ends.server_writes, ends.write, ends.read):
        os.close(descriptor)


def test_a_client_that_closed_its_reading_end_has_left() -> None:
    read, client_write = os.pipe()
    client_read, write = os.pipe()
    os.write(client_write, HELLO + b"\n")
    os.close(client_read)
    wire = ClaimedStdio(read, write)
    answer_initialize(wire)
    assert wire.has_client_left
    for descriptor in (read, client_write, write):
        os.close(descriptor)
