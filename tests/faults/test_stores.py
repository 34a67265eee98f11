"""Whatever the disk refuses to a store, all of the old is there or all of the new, and it is said.

Each operation that a change makes fails once in every way of its kind, and, of a full disk, from
then on. Afterwards nothing lies about, nothing is locked, and the same change can be made.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.faults.disk import FaultPlan, fail_operation, names_under, plans_for, trace_operations
from tests.faults.skills import SKILLS
from tests.faults.store_case import StoreCase
from tests.faults.stores import STORES

MOST_PLANS = 5
"""How many ways of failing are tried of each store in the short form."""


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a loss of power could tell the difference, and each call takes milliseconds."""

    def sync(_: int) -> None:
        pass

    monkeypatch.setattr(os, "fsync", sync)


def create_home(folder: Path, store: StoreCase) -> Path:
    """Return a new folder in which the store was begun, always of the same name."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    store.prepare(home)
    return home


def attempt(home: Path, store: StoreCase, plan: FaultPlan) -> Exception | None:
    """Make the change on a disk that fails; return what was raised."""
    with fail_operation(home, plan):
        try:
            store.change(home)
        except Exception as error:  # noqa: BLE001  which it is, is judged by whoever asked
            return error
    return None


def check(folder: Path, store: StoreCase, most_plans: int) -> int:
    """Try a store with that many plans, evenly chosen; return how many there are."""
    home = create_home(folder, store)
    before, names_before = store.read(home), names_under(home)
    trace = trace_operations(lambda: store.change(home), home)
    after, names = store.read(home), names_before | names_under(home)
    plans = list(plans_for(trace))
    for plan in plans[:: -(-len(plans) // most_plans)]:
        home = create_home(folder, store)
        error = attempt(home, store, plan)
        operation = trace[plan.number - 1]
        description = f"{plan} of {operation}: {error!r}"
        assert error is None or isinstance(error, store.failures), description
        found = store.read(home)
        assert found in (before, after), description
        assert error is not None or found == after or not store.failures, description
        if operation.kind != "remove":  # what cannot be removed stays
            left = {name for name in names_under(home) if name not in names}
            assert [
                name for name in left if store.scratch_directory not in name.split("/")
            ] == [], description
        if found != after:
            store.change(home)
        assert store.read(home) == after, description
    return len(plans)


@pytest.mark.parametrize("store", [*STORES, *SKILLS], ids=lambda store: store.id)
def test_a_failing_disk_loses_nothing(tmp_path: Path, store: StoreCase) -> None:
    assert check(tmp_path, store, MOST_PLANS) > 0


@pytest.mark.full
@pytest.mark.parametrize("store", [*STORES, *SKILLS], ids=lambda store: store.id)
def test_a_disk_failing_in_any_way_loses_nothing(tmp_path: Path, store: StoreCase) -> None:
    assert check(tmp_path, store, 10**6) > 0
