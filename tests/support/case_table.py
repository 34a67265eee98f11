"""Tables of cases that run as one test.

    @each_case(("command", "verdict"), COMMANDS.items(), ids=COMMANDS)
    def test_a_command_is_judged(command: str, verdict: str) -> None:
        assert judge(command) == verdict

Collecting a test and reporting it costs more than a check that only computes. `each_case` reads
like `pytest.mark.parametrize`, runs all cases, and names those that fail. It is for cases that
need no fixture of their own: all of them share the test's fixtures.

Cases that each need an open session share one in groups; `named_case` names the one that fails:

    @pytest.mark.parametrize("attempts", group_cases(ATTEMPTS, 24))
    async def test_no_attempt_succeeds(attempts: Mapping[str, Attempt]) -> None:
        async with open_session() as session:
            for name, attempt in attempts.items():
                with named_case(name):
                    assert (await session.call(attempt)).is_error
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from inspect import iscoroutinefunction
from itertools import islice
from typing import TypeAlias, TypeVar, overload

import pytest

Row = TypeVar("Row")
Check: TypeAlias = Callable[..., Awaitable[None] | None]


@overload
def each_case(
    names: str | Sequence[str], rows: Iterable[object], ids: Iterable[object] | None = None
) -> Callable[[Check], Check]: ...


@overload
def each_case(
    names: str | Sequence[str], rows: Iterable[Row], ids: Callable[[Row], object]
) -> Callable[[Check], Check]: ...


def each_case(
    names: str | Sequence[str],
    rows: Iterable[Row],
    ids: Iterable[object] | Callable[[Row], object] | None = None,
) -> Callable[[Check], Check]:
    """Return a decorator that runs a test with each row; a row is a value per name."""
    arguments = [names] if isinstance(names, str) else list(names)
    table = list(rows)
    cases = [(row,) if isinstance(names, str) else _values(row) for row in table]
    assert cases, "a table without cases checks nothing"
    assert all(len(case) == len(arguments) for case in cases)
    titles = _titles(table, ids)

    def decorate(check: Check) -> Check:
        table = [
            (title, dict(zip(arguments, case, strict=True)))
            for title, case in zip(titles, cases, strict=True)
        ]

        def run_all(**fixtures: object) -> None:
            failed: list[tuple[str, BaseException]] = []
            for title, case in table:
                try:
                    check(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  raised below
                    failed.append((title, error))
            _raise_first(failed)

        async def await_all(**fixtures: object) -> None:
            failed: list[tuple[str, BaseException]] = []
            for title, case in table:
                try:
                    running = check(**fixtures, **case)
                    assert running is not None
                    await running
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  raised below
                    failed.append((title, error))
            _raise_first(failed)

        run = functools.wraps(check)(await_all if iscoroutinefunction(check) else run_all)
        signature = inspect.signature(check)
        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        vars(run)["__signature__"] = signature.replace(parameters=kept)
        return run

    return decorate


def _raise_first(failed: Sequence[tuple[str, BaseException]]) -> None:
    """Raise the first failure, if there is one, with the names of the cases."""
    if failed:
        (title, first), *others = failed
        first.add_note(f"in the case {title}")
        if others:
            first.add_note(f"failed, too: {', '.join(other for other, _ in others)}")
        raise first


def group_cases(table: Mapping[str, Row], size: int) -> list[object]:
    """Return parameters for `pytest.mark.parametrize`: parts of a table, named by their first case.

    A part is small enough that its cases together take no longer than one test may.
    """
    rows = iter(table.items())
    parts = iter(lambda: dict(islice(rows, size)), {})
    return [pytest.param(part, id=f"from {next(iter(part))}") for part in parts]


@contextmanager
def named_case(title: str) -> Generator[None]:
    """Name the case in a failure of its check."""
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:
        error.add_note(f"in the case {title}")
        raise


def _values(row: object) -> tuple[object, ...]:
    assert isinstance(row, Sequence)
    return tuple(row)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _titles(
    rows: Sequence[Row], ids: Iterable[object] | Callable[[Row], object] | None
) -> list[str]:
    if ids is None:
        return list(map(repr, rows))
    if callable(ids):
        return [str(ids(row)) for row in rows]
    titles = list(map(str, ids))
    assert len(titles) == len(rows)
    return titles
