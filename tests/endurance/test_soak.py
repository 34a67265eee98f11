"""A server that works for long: every request answered, nothing lost, nothing held, nobody left.

What `soak` asserts by itself (answers, stop reasons, what the database has in the end, processes
and temporary files) holds for every form; here is what must not grow. `--log-cli-level=INFO` shows
the figures of each round.
"""

import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.endurance.measures import Sample, growth_bytes_per_turn, processor_growth
from tests.endurance.report import describe_sample, summarize
from tests.endurance.soak import SoakPlan, run_soak

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="counts descriptors as Linux and macOS do"
)

MOST_DESCRIPTORS_APART = 8
"""Connections to the model's endpoint are kept for a while: as many as lanes, and some closing."""
MOST_THREADS_APART = 8
"""Threads of the pool that nobody needs end after some seconds."""


@dataclass(frozen=True, slots=True)
class SoakCase:
    """How long it goes on, and what is still called flat."""

    id: str
    plan: SoakPlan
    settling_rounds: int
    most_bytes_per_turn: float
    most_processor_growth: float | None = None
    """How much more processor time a turn may use in the end, where that is stable."""
    is_busy: bool = False
    """Whether background commands run while samples are taken, with descriptors and threads."""


SHORT = SoakCase("45 turns", SoakPlan(rounds=5, lanes=3, turns=3), 2, 250_000)
LASTING = SoakCase(
    "10,000 turns in 8 sessions",
    SoakPlan(rounds=25, lanes=8, turns=50, is_lasting=True),
    5,
    12_000,
    # Every request sends the whole conversation: 1,250 turns, about 0.5 MB. Not twice as much.
    2.0,
    is_busy=True,
)
LONG = (
    SoakCase("1,000 turns", SoakPlan(rounds=20, lanes=5, turns=10), 8, 8_000),
    SoakCase("10,000 turns over 100 sessions", SoakPlan(rounds=25, lanes=4, turns=100), 5, 2_000),
    LASTING,
)


@pytest.mark.parametrize(
    "form",
    [SHORT, *(pytest.param(form, marks=pytest.mark.full) for form in LONG)],
    ids=lambda form: form.id,
)
async def test_a_server_retains_no_more_after_many_turns_than_after_a_few(
    tmp_path: Path, form: SoakCase
) -> None:
    def log_sample(sample: Sample) -> None:
        logger.info(describe_sample(sample))

    figures = await run_soak(form.plan, tmp_path, log_sample)
    logger.info(summarize(figures))

    assert (figures.turns, figures.requests_unanswered) == (form.plan.total, 0)
    settled = figures.samples[form.settling_rounds :]
    assert growth_bytes_per_turn(settled) < form.most_bytes_per_turn
    if form.most_processor_growth is not None:
        assert processor_growth(figures.samples[1:]) < form.most_processor_growth
    for counts, most_apart in (
        ([sample.descriptors for sample in settled], MOST_DESCRIPTORS_APART),
        ([sample.threads for sample in settled], MOST_THREADS_APART),
    ):
        # The pipes of commands count while these run: what stays is seen at rest, in the end.
        highest = counts[-1] if form.is_busy else max(counts)
        assert highest - min(counts) <= most_apart, counts
    at_rest = figures.samples[-1:] if form.is_busy else settled
    assert {len(sample.children) for sample in at_rest} <= {0, 1}  # the watching process
