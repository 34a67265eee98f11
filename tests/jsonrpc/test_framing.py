import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.jsonrpc.framing import HEAD_BYTES, Line, LineSplitter, OversizedLine

MIB = 1024 * 1024

streams = st.lists(
    st.one_of(st.binary(max_size=12), st.sampled_from([b"\n", b"\r\n", b" ", b"{}", b"\n\n"]))
).map(b"".join)


def split(chunks: list[bytes], limit_bytes: int = MIB) -> list[Line]:
    splitter = LineSplitter(limit_bytes)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    positions = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[start:end] for start, end in pairwise(positions)]


@given(streams, st.lists(st.integers(0, 1000)))
def test_lines_do_not_depend_on_how_the_stream_is_chunked(stream: bytes, cuts: list[int]) -> None:
    stripped = [line.strip(b" \t\r") for line in stream.split(b"\n")]
    assert split(pieces(stream, cuts)) == [line for line in stripped if line]


@given(streams, st.lists(st.integers(0, 1000)), st.integers(1, 9))
def test_with_a_cap_lines_and_errors_do_not_depend_on_chunking(
    stream: bytes, cuts: list[int], limit_bytes: int
) -> None:
    expected = [
        None if len(line) > limit_bytes else line.strip(b" \t\r") for line in stream.split(b"\n")
    ]
    found = split(pieces(stream, cuts), limit_bytes)
    lines = [None if isinstance(line, OversizedLine) else line for line in found]
    assert lines == [line for line in expected if line != b""]


def test_a_line_exactly_as_long_as_the_cap_is_accepted() -> None:
    assert split([b"12345\n6\n"], 5) == [b"12345", b"6"]


def test_an_oversized_line_is_reported_once_and_the_next_one_is_read() -> None:
    assert split([b"123456\n7\n"], 5) == [OversizedLine(b"123456", 5), b"7"]


def test_an_oversized_line_is_reported_before_it_ends() -> None:
    splitter = LineSplitter(5)
    assert splitter.feed(b"123") == []
    assert splitter.feed(b"4567") == [OversizedLine(b"1234567", 5)]
    assert splitter.feed(b"8" * 1000) == []
    assert splitter.feed(b"9\nnext\n") == [b"next"]


def test_the_report_of_an_oversized_line_contains_only_its_head() -> None:
    [line] = split([bytes([65 + number % 26]) * 1000 for number in range(10)], 8000)
    assert isinstance(line, OversizedLine)
    assert len(line.head) == HEAD_BYTES
    assert line.head.startswith(b"A" * 1000 + b"B" * 1000)


def test_trailing_carriage_returns_are_stripped() -> None:
    assert split([b"one\r\ntwo\r", b"\nthree"]) == [b"one", b"two", b"three"]


def test_carriage_returns_inside_a_line_are_kept() -> None:
    assert split([b"one\rtwo\n"]) == [b"one\rtwo"]


@pytest.mark.parametrize("blank", [b"", b"\n", b"\n\n\n", b"\r\n", b"  \t\r\n", b"   "])
def test_blank_lines_are_ignored(blank: bytes) -> None:
    assert split([blank]) == []
    assert split([blank + b"\n{}\n"]) == [b"{}"]


def test_the_last_line_may_lack_its_newline() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\ntwo") == [b"one"]
    assert splitter.finish() == [b"two"]
    assert splitter.finish() == []


def test_an_unterminated_oversized_line_is_reported_once() -> None:
    assert split([b"123456", b"7"], 5) == [OversizedLine(b"123456", 5)]


def test_nul_bytes_and_invalid_utf8_pass_through() -> None:
    assert split([b"\0\xff\xfe\n"]) == [b"\0\xff\xfe"]


def arriving(size_bytes: int, chunk_bytes: int) -> Iterator[bytes]:
    chunk = b"x" * chunk_bytes
    for _ in range(size_bytes // chunk_bytes):
        yield chunk
    yield b"\n"


def seconds_for(size_bytes: int) -> float:
    """The best of three, each in the small pieces that a terminal delivers."""
    times: list[float] = []
    for _ in range(3):
        splitter, lines = LineSplitter(), list[Line]()
        start = time.process_time()
        for chunk in arriving(size_bytes, 4096):
            lines += splitter.feed(chunk)
        times.append(time.process_time() - start)
        assert [len(line) for line in lines if isinstance(line, bytes)] == [size_bytes]
    return min(times)


def test_fifty_mebibytes_are_framed_in_linear_time() -> None:
    assert seconds_for(50 * MIB) < 50 * 8 * max(seconds_for(MIB), 0.0005)


def test_many_short_lines_in_one_chunk_are_framed_in_linear_time() -> None:
    splitter = LineSplitter()
    start = time.process_time()
    assert len(splitter.feed(b"{}\n" * 200_000)) == 200_000
    assert time.process_time() - start < 2
