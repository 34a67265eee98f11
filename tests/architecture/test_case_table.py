"""A table that runs as one test hides no case."""

import pytest

from tests.support.case_table import each_case


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
