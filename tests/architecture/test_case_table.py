"""A table that runs as one test hides no case."""

from collections.abc import Awaitable, Callable, Mapping

import pytest
from anyio import lowlevel

from tests.support.case_table import each_case, group_cases, named_case


def test_all_cases_run_and_those_that_fail_are_named() -> None:
    seen: list[int] = []

    @each_case("number", [1, 2, 3, 4], ids=["one", "two", "three", "four"])
    def check(number: int) -> None:
        seen.append(number)
        assert number % 2

    with pytest.raises(AssertionError) as raised:
        check()
    assert seen == [1, 2, 3, 4]
    assert raised.value.__notes__ == ["in the case two", "failed, too: four"]


def test_a_missing_exception_is_a_failure_of_its_case() -> None:
    @each_case("text", ["1", "one"])
    def check(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE") as raised:
        check()
    assert raised.value.__notes__ == ["in the case '1'"]


def test_tables_can_be_combined() -> None:
    seen: list[tuple[int, str]] = []

    @each_case("number", [1, 2])
    @each_case("letter", ["a", "b"])
    def check(number: int, letter: str) -> None:
        seen.append((number, letter))

    check()
    assert seen == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_a_table_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="without cases"):
        each_case("number", [])


async def test_asynchronous_cases_run_and_those_that_fail_are_named() -> None:
    seen: list[int] = []

    @each_case("number", [1, 2, 3, 4])
    async def check(number: int) -> None:
        await lowlevel.checkpoint()
        seen.append(number)
        assert number % 2

    run: Callable[[], Awaitable[None] | None] = check
    running = run()
    assert running is not None
    with pytest.raises(AssertionError) as raised:
        await running
    assert seen == [1, 2, 3, 4]
    assert raised.value.__notes__ == ["in the case 2", "failed, too: 4"]


TABLE = {str(number): number for number in range(5)}


@pytest.mark.parametrize("group", group_cases(TABLE, 2))
def test_a_group_is_a_part_of_its_table(group: Mapping[str, int]) -> None:
    assert 0 < len(group) <= 2
    assert group.items() <= TABLE.items()


def test_groups_leave_no_case_out_and_a_failure_names_its_case() -> None:
    assert [len(group_cases(TABLE, size)) for size in (1, 2, 5, 9)] == [5, 3, 1, 1]
    with pytest.raises(pytest.fail.Exception) as raised, named_case("third"):
        pytest.fail("it differs")
    assert raised.value.__notes__ == ["in the case third"]
