"""Statistics against values of the literature and of other programs."""

import math

import pytest

from acp_server.fleet.reports.comparison import compare_fleets
from acp_server.fleet.reports.statistics import (
    exact_sign_test,
    pass_at_k,
    percentile,
    wilson_interval,
)
from acp_server.fleet.reports.summary import summarize
from tests.fleet.made_results import make_result
from tests.support.case_table import each_case


@each_case(
    ("passed", "total", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),
        (8, 10, 0.490162, 0.943318),
        (10, 10, 0.722467, 1.0),
        (81, 263, 0.255289, 0.366210),
        (15, 148, 0.062386, 0.160487),
        (0, 20, 0.0, 0.161125),
        (1, 29, 0.006113, 0.171755),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval(passed: int, total: int, low: float, high: float) -> None:
    """Values of statsmodels 0.14, and of R. G. Newcombe, Statistics in Medicine 17 (1998)."""
    assert wilson_interval(passed, total) == pytest.approx((low, high), abs=1e-6)


@each_case(
    ("first", "second", "p"),
    [
        (1, 9, 0.02148438),
        (3, 10, 0.09228516),
        (0, 5, 0.0625),
        (12, 5, 0.1434631),
        (7, 7, 1.0),
        (0, 0, 1.0),
        (59, 6, 4.964650327e-12),
    ],
)
def test_exact_sign_test_is_that_of_mcnemar(first: int, second: int, p: float) -> None:
    """Values of scipy 1.17 (`binomtest`)."""
    assert exact_sign_test(first, second) == pytest.approx(p, rel=1e-6)
    assert exact_sign_test(second, first) == exact_sign_test(first, second)


def test_the_exact_test_holds_for_thousands_of_pairs() -> None:
    assert exact_sign_test(5_000, 5_000) == pytest.approx(1.0)
    assert 0 < exact_sign_test(4_800, 5_200) < 0.0001


def test_pass_at_k_is_the_share_of_samples_with_a_pass() -> None:
    # One minus the chance that a sample without replacement has no pass.
    assert pass_at_k(10, 3, 5) == pytest.approx(1 - math.comb(7, 5) / math.comb(10, 5))
    assert [pass_at_k(4, 0, k) for k in range(1, 5)] == [0.0] * 4
    assert pass_at_k(4, 1, 4) == 1.0
    assert pass_at_k(4, 2, 1) == 0.5


def test_percentiles_are_interpolated() -> None:
    assert percentile([15, 20, 35, 40, 50], 0.4) == pytest.approx(29.0)  # numpy's default
    assert percentile([7], 0.9) == 7
    assert percentile([], 0.5) is None


def test_a_cost_of_zero_beside_unknown_ones_is_no_total() -> None:
    results = [make_result(1, cost_usd=0.0), make_result(2, cost_usd=None)]
    assert summarize(results).whole.cost_usd is None
    assert summarize(results[:1]).whole.cost_usd == 0.0


def test_a_summary_counts_what_has_run_and_groups_by_model_and_tag() -> None:
    results = [
        make_result(1, tags=("a", "b"), cost_usd=1.0),
        make_result(2, tags=("a",), outcome="check_failed", cost_usd=None, attempts=2),
        make_result(3, outcome="not_run", model="other", attempts=0, cost_usd=None),
    ]
    summary = summarize(results)
    whole = summary.whole
    assert (whole.total, whole.passed, whole.failed, whole.not_run) == (3, 1, 1, 1)
    assert (whole.pass_rate, whole.cost_usd, whole.attempts) == (0.5, 1.0, 3)
    assert (whole.input_tokens, whole.output_tokens) == (2 * 6_100, 2 * 200)
    assert {name: each.total for name, each in summary.by_tag.items()} == {"a": 2, "b": 1}
    assert summary.by_model["other"].pass_rate is None


def test_repeats_give_pass_at_k() -> None:
    passes = {"x": (True, False, False), "y": (True, True, True)}
    results = [
        make_result(number, task=task, repeat=number, outcome="done" if is_passed else "timeout")
        for task, each in passes.items()
        for number, is_passed in enumerate(each, 1)
    ]
    found = summarize(results).whole.pass_at
    assert found == pytest.approx({1: (1 / 3 + 1) / 2, 2: (2 / 3 + 1) / 2, 3: 1.0})


def test_a_comparison_names_what_one_run_alone_solved() -> None:
    first = [make_result(number) for number in range(10)]
    second = [
        make_result(
            number,
            outcome="done" if number < 4 else "check_failed",
            cost_usd=0.10,
            seconds=5.0 + number / 2,
            model="other",
        )
        for number in range(11)
    ]
    found = compare_fleets(first, second)
    assert found.common == 10
    assert found.only_in_second == ("task-10",)
    assert found.solved_by_first == tuple(f"task-{number}" for number in range(4, 10))
    assert found.solved_by_second == ()
    assert found.p_value == pytest.approx(2 / 2**6)
    cost, tokens, time = found.measures
    assert (cost.ratio, cost.less, cost.more) == (pytest.approx(2.0), 0, 10)
    assert (tokens.ratio, tokens.p_value) == (1.0, 1.0)
    assert (time.ratio, time.less) == (pytest.approx(0.5), 10)
    assert found.differing["model"] == ("claude-opus-5", "other")


def test_repeated_tasks_are_compared_by_their_pass_rates() -> None:
    outcomes = {1: ("done", "timeout"), 2: ("done", "done")}
    first, second = (
        [
            make_result(number, task="x", repeat=repeat, outcome=outcomes[number][repeat - 1])
            for repeat in (1, 2)
        ]
        for number in (1, 2)
    )
    found = compare_fleets(first, second)
    assert (found.common, found.solved_by_second) == (1, ("x",))


def test_a_tiny_p_value_is_not_shown_as_zero() -> None:
    first = [make_result(number) for number in range(30)]
    second = [make_result(number, outcome="check_failed") for number in range(30)]
    lines = list(compare_fleets(first, second).lines(("one", "two")))
    assert "difference: p < 0.0001 (exact paired test), probably not chance" in lines
