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


def test_garbage_collection_is_paused_during_the_call() -> None:
    assert (pause_gc_on_first_call(gc.isenabled)(), gc.isenabled()) == (False, True)


def test_an_inner_call_does_not_resume_garbage_collection_for_the_outer() -> None:
    @pause_gc_on_first_call
    def outer() -> bool:
        pause_gc_on_first_call(gc.isenabled)()
        return gc.isenabled()

    assert (outer(), gc.isenabled()) == (False, True)


def test_a_failing_call_resumes_garbage_collection() -> None:
    @pause_gc_on_first_call
    def fail() -> None:
        raise ImportError("none")

    with pytest.raises(ImportError, match="none"):
        fail()
    assert gc.isenabled()


def test_garbage_collection_is_paused_only_on_the_first_call() -> None:
    again = pause_gc_on_first_call(gc.isenabled)
    assert [again() for _ in range(3)] == [False, True, True]


def test_a_failed_first_call_is_retried_with_garbage_collection_paused() -> None:
    outcomes = [ImportError("none"), None]

    @pause_gc_on_first_call
    def work() -> bool:
        if outcome := outcomes.pop(0):
            raise outcome
        return gc.isenabled()

    with pytest.raises(ImportError, match="none"):
        work()
    assert not work()
