import sys
from collections import deque
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.jsonrpc.outbox import CoalesceKey, Outbox

PLENTY = 10**9


def filled(*lines: bytes, capacity_bytes: int = PLENTY) -> Outbox:
    outbox = Outbox(capacity_bytes)
    for line in lines:
        outbox.put(line)
    return outbox


def test_lines_are_taken_in_insertion_order() -> None:
    assert filled(b"1", b"2", b"3").take(PLENTY) == [b"1", b"2", b"3"]


def test_a_line_replaces_the_unsent_line_with_its_key_and_moves_to_the_end() -> None:
    outbox = Outbox()
    outbox.put(b"diff 1", "diff")
    outbox.put(b"text")
    outbox.put(b"diff 2", "diff")
    assert outbox.take(PLENTY) == [b"text", b"diff 2"]


def test_a_taken_line_is_not_replaced() -> None:
    outbox = Outbox()
    outbox.put(b"diff 1", "diff")
    assert outbox.take(PLENTY) == [b"diff 1"]
    outbox.put(b"diff 2", "diff")
    outbox.put(b"diff 3", "diff")
    assert outbox.take(PLENTY) == [b"diff 3"]


def test_different_keys_do_not_replace_each_other() -> None:
    outbox = Outbox()
    for key in ("a", "b", "a", ("a", 1)):
        outbox.put(repr(key).encode(), key)
    assert outbox.take(PLENTY) == [b"'b'", b"'a'", b"('a', 1)"]


Puts = list[tuple[bytes, str | None]]
puts = st.lists(st.tuples(st.binary(min_size=1, max_size=5), st.sampled_from([None, "a", "b"])))


@given(st.lists(st.one_of(puts, st.integers(1, 12))))
def test_an_outbox_behaves_like_a_list_that_keeps_the_latest_line_of_each_key(
    steps: list[Puts | int],
) -> None:
    outbox, model = Outbox(10), list[tuple[bytes, str | None]]()
    for step in steps:
        if isinstance(step, int):
            size = 0
            expected = list[bytes]()
            while model and size < step:
                expected.append(model.pop(0)[0])
                size += len(expected[-1])
            assert outbox.take_nowait(step) == expected
            continue
        for line, key in step:
            model = [each for each in model if key is None or each[1] != key] + [(line, key)]
            outbox.put(line, key)
        assert outbox.has_capacity == (sum(len(line) for line, _ in model) < 10)
        assert outbox.is_empty == (not model)


SEAM, OTHER_SEAM = CoalesceKey(1, 1), CoalesceKey(1, 1)


def test_chunks_are_separate_lines_while_the_reader_keeps_up() -> None:
    outbox = Outbox(10)
    for piece in (b"<ab>", b"<cd>"):
        outbox.put(piece, coalesce_key=SEAM)
    assert outbox.take(PLENTY) == [b"<ab>", b"<cd>"]


def test_chunks_are_coalesced_while_the_queue_was_full_and_is_not_yet_empty() -> None:
    outbox = Outbox(10)
    for piece in (b"<12345678>", b"<ab>", b"<cd>"):
        outbox.put(piece, coalesce_key=SEAM)
    assert outbox.take(1) == [b"<12345678abcd>"]
    for piece in (b"<ef>", b"<gh>"):
        outbox.put(piece, coalesce_key=SEAM)
    assert outbox.take(PLENTY) == [b"<ef>", b"<gh>"]


def test_a_coalesced_chunk_occupies_the_size_of_its_text() -> None:
    outbox = Outbox(10)
    outbox.put(b"<12345678>", coalesce_key=SEAM)
    outbox.put(b"first", "key")
    outbox.put(b"<12>", coalesce_key=SEAM)
    outbox.put(b"<34>", coalesce_key=SEAM)
    assert outbox.take(10) == [b"<12345678>"]
    assert outbox.take(5) == [b"first"]
    assert outbox.has_capacity
    assert outbox.take(PLENTY) == [b"<1234>"]


@pytest.mark.parametrize(
    "between", [(b"answer", None), (b"<other>", OTHER_SEAM)], ids=["a line", "another text"]
)
def test_a_chunk_overtakes_nothing(between: tuple[bytes, CoalesceKey | None]) -> None:
    outbox = Outbox(1)
    outbox.put(b"<ab>", coalesce_key=SEAM)
    outbox.put(between[0], coalesce_key=between[1])
    outbox.put(b"<cd>", coalesce_key=SEAM)
    assert outbox.take(PLENTY) == [b"<ab>", between[0], b"<cd>"]


def test_coalesced_lines_have_a_size_limit() -> None:
    outbox = Outbox(1)
    for _ in range(10):
        outbox.put(b"<%b>" % (b"x" * 3_000), coalesce_key=SEAM)
    lengths = [len(line) for line in outbox.take(PLENTY)]
    assert (lengths, sum(lengths)) == ([9_002, 9_002, 9_002, 3_002], 10 * 3_000 + 4 * 2)


def test_there_is_capacity_until_the_limit_is_reached() -> None:
    outbox = filled(b"1234", capacity_bytes=5)
    assert outbox.has_capacity
    outbox.put(b"5")
    assert not outbox.has_capacity


def test_a_full_outbox_still_accepts_lines() -> None:
    outbox = filled(b"full", b"answer", capacity_bytes=4)
    assert outbox.take(PLENTY) == [b"full", b"answer"]


def test_taking_frees_capacity() -> None:
    outbox = filled(b"1234", b"5678", capacity_bytes=5)
    assert outbox.take(1) == [b"1234"]
    assert outbox.has_capacity


def test_a_replaced_line_occupies_no_capacity() -> None:
    outbox = Outbox(10)
    for _ in range(100):
        outbox.put(b"12345678", "key")
    assert outbox.has_capacity


def test_at_least_one_line_is_taken_whatever_its_length() -> None:
    assert filled(b"long line", b"next").take(1) == [b"long line"]


def test_taken_lines_do_not_count_as_delivered_yet() -> None:
    outbox = filled(b"1")
    outbox.take(PLENTY)
    assert not outbox.is_empty
    outbox.mark_delivered()
    assert outbox.is_empty


def test_a_closed_outbox_yields_the_remaining_lines_and_then_nothing() -> None:
    outbox = filled(b"1", b"2")
    outbox.close()
    outbox.put(b"too late")
    assert outbox.take(1) == [b"1"]
    assert outbox.take(1) == [b"2"]
    assert outbox.take(1) == []


def test_a_discarded_outbox_yields_nothing_and_has_capacity() -> None:
    outbox = filled(b"1234", capacity_bytes=4)
    outbox.close(discard=True)
    assert outbox.has_capacity
    assert outbox.is_empty
    assert outbox.take(PLENTY) == []


def test_closing_wakes_the_thread_waiting_for_lines() -> None:
    outbox, taken = Outbox(), list[list[bytes]]()
    thread = Thread(target=lambda: taken.append(outbox.take(PLENTY)))
    thread.start()
    outbox.close()
    thread.join(10)
    assert taken == [[]]


def test_a_line_wakes_the_thread_waiting_for_it() -> None:
    outbox, taken = Outbox(), list[list[bytes]]()
    thread = Thread(target=lambda: taken.append(outbox.take(PLENTY)))
    thread.start()
    outbox.put(b"1")
    thread.join(10)
    assert taken == [[b"1"]]


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads take turns after every few instructions, so that races come out."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("busy_threads")
def test_one_thread_takes_lines_of_many_producers_each_in_order() -> None:
    outbox, taken = Outbox(), list[bytes]()
    start = Barrier(4)

    def put(name: str) -> None:
        start.wait()
        for number in range(2000):
            outbox.put(f"{name} {number}".encode())

    def take() -> None:
        start.wait()
        while lines := outbox.take(64):
            taken.extend(lines)
            outbox.mark_delivered()

    writers = [Thread(target=put, args=[name]) for name in "abc"]
    taker = Thread(target=take)
    for thread in (*writers, taker):
        thread.start()
    for thread in writers:
        thread.join(30)
    outbox.close()
    taker.join(30)
    for name in "abc":
        own_lines = [line for line in taken if line.startswith(name.encode())]
        assert own_lines == [f"{name} {number}".encode() for number in range(2000)]
    assert outbox.is_empty


@pytest.mark.usefixtures("busy_threads")
@pytest.mark.parametrize("lines", [2000, pytest.param(300_000, marks=pytest.mark.full)])
def test_an_outbox_is_never_empty_while_a_line_is_in_flight(lines: int) -> None:
    outbox, written, lost = Outbox(), deque[bytes](), list[int]()

    def write() -> None:
        while lines := outbox.take(PLENTY):
            written.extend(lines)
            outbox.mark_delivered()

    writer = Thread(target=write)
    writer.start()
    for number in range(lines):
        outbox.put(b"%d" % number)
        while not outbox.is_empty:
            pass
        if len(written) != number + 1:
            lost.append(number)
    outbox.close()
    writer.join(30)
    assert lost == []
