"""Nothing is collected while something is imported, and everything is again behind the last."""

import gc
from collections.abc import Iterator

import pytest

from acp_server.startup.gc_pause import pause_gc_on_first_call


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Let what a test kept from collection be collected."""
    yield
    gc.unfreeze()


def test_nothing_is_collected_meanwhile() -> None:
    assert (pause_gc_on_first_call(gc.isenabled)(), gc.isenabled()) == (False, True)


def test_whoever_is_done_first_leaves_the_rest_to_the_others() -> None:
    @pause_gc_on_first_call
    def outer() -> bool:
        pause_gc_on_first_call(gc.isenabled)()
        return gc.isenabled()

    assert (outer(), gc.isenabled()) == (False, True)


def test_what_fails_ends_the_rest_too() -> None:
    @pause_gc_on_first_call
    def fail() -> None:
        raise ImportError("none")

    with pytest.raises(ImportError, match="none"):
        fail()
    assert gc.isenabled()


def test_it_is_done_once_so_that_later_garbage_is_collected() -> None:
    again = pause_gc_on_first_call(gc.isenabled)
    assert [again() for _ in range(3)] == [False, True, True]


def test_what_failed_is_tried_in_the_same_way_again() -> None:
    outcomes = [ImportError("none"), None]

    @pause_gc_on_first_call
    def work() -> bool:
        if outcome := outcomes.pop(0):
            raise outcome
        return gc.isenabled()

    with pytest.raises(ImportError, match="none"):
        work()
    assert not work()
