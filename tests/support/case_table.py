"""Tables of cases that run as one test.

    @each_case(("command", "verdict"), COMMANDS.items(), ids=COMMANDS)
    def test_a_command_is_judged(command: str, verdict: str) -> None:
        assert judge(command) == verdict

Collecting a test and reporting it costs more than a check that only computes. `each_case` reads
like `pytest.mark.parametrize`, runs all cases, and names those that fail. It is for cases that
need no fixture of their own: all of them share the test's fixtures.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar, overload

import pytest

Row = TypeVar("Row")
Check: TypeAlias = Callable[..., None]


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
        @functools.wraps(check)
        def run_all(**fixtures: object) -> None:
            failed: list[tuple[str, BaseException]] = []
            for title, case in zip(titles, cases, strict=True):
                try:
                    check(**fixtures, **dict(zip(arguments, case, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  raised below
                    failed.append((title, error))
            if failed:
                (title, first), *others = failed
                first.add_note(f"in the case {title}")
                if others:
                    first.add_note(f"failed, too: {', '.join(other for other, _ in others)}")
                raise first

        signature = inspect.signature(check)
        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        vars(run_all)["__signature__"] = signature.replace(parameters=kept)
        return run_all

    return decorate


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
