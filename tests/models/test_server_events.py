"""Streams of events, cut wherever a network cuts them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_server.models.sse import OversizedEventError, SseDecoder
from tests.support.case_table import each_case

WRITTEN: dict[str, tuple[bytes, list[bytes]]] = {
    "one line": (b"data: {}\n\n", [b"{}"]),
    "with a name and an id": (b"event: ping\nid: 7\ndata: {}\n\n", [b"{}"]),
    "without a space": (b"data:{}\n\n", [b"{}"]),
    "only one space is the field's": (b"data:  x\n\n", [b" x"]),
    "several lines": (b"data: a\ndata\ndata: b\n\n", [b"a\n\nb"]),
    "a comment": (b": still here\n\ndata: {}\n\n", [b"{}"]),
    "no data": (b"event: ping\n\n", []),
    "empty data": (b"data:\n\n", []),
    "returns and newlines": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "returns": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "no end": (b"data: a\n\ndata: b\n", [b"a"]),
    "other fields": (b"database: x\ndata: a\nretry: 3\n\n", [b"a"]),
    "ends that are none": ("data: \u2028\x85\n\n".encode(), ["\u2028\x85".encode()]),
}


@each_case(("stream", "events"), WRITTEN.values(), ids=WRITTEN)
def test_a_stream_is_parsed_as_it_was_written(stream: bytes, events: list[bytes]) -> None:
    assert SseDecoder().feed(stream) == events


@each_case(("stream", "events"), WRITTEN.values(), ids=WRITTEN)
def test_a_stream_received_byte_by_byte_is_the_same(stream: bytes, events: list[bytes]) -> None:
    reader = SseDecoder()
    assert [each for byte in stream for each in reader.feed(bytes([byte]))] == events


@example([b"data: 1", b"\r", b"", b"\n"])
@given(st.lists(st.sampled_from([b"data: 1", b"data", b":", b"\n", b"\r", b"\r\n", b""])))
def test_chunk_boundaries_make_no_difference(pieces: list[bytes]) -> None:
    chunked, complete = SseDecoder(), SseDecoder()
    events = [each for piece in pieces for each in chunked.feed(piece)]
    assert events == complete.feed(b"".join(pieces))


def test_an_oversized_event_is_refused() -> None:
    reader = SseDecoder(max_event_bytes=10)
    assert reader.feed(b"data: 1\n\ndata: 2") == [b"1"]
    with pytest.raises(OversizedEventError):
        reader.feed(b"3456789")


def test_the_lines_of_one_event_count_together_toward_the_limit() -> None:
    reader = SseDecoder(max_event_bytes=10)
    with pytest.raises(OversizedEventError):
        reader.feed(b"data: 123456\ndata: 789012\n")
