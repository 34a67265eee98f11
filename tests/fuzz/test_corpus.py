"""Every input that is kept holds what its target asserts, and so do inputs that are like them."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import files_of, inputs_of
from tests.fuzz.mutation import mutate
from tests.fuzz.targets import TARGETS
from tests.support.case_table import each_case

MOST_SECONDS = 2.0
"""How much of the processor an input of a few kilobytes may take: far more than any needs."""
INPUTS = [(target, path) for target in TARGETS for path in files_of(target)]


@each_case(("target", "path"), INPUTS, ids=[f"{target}-{path.name}" for target, path in INPUTS])
def test_corpus_inputs_are_handled(target: str, path: Path) -> None:
    started_at = time.process_time()
    TARGETS[target](path.read_bytes())
    assert time.process_time() - started_at < MOST_SECONDS


@pytest.mark.parametrize("target", TARGETS)
@given(seed=st.integers(0, 2**32))
def test_mutated_corpus_inputs_are_handled(target: str, seed: int) -> None:
    TARGETS[target](mutate(inputs_of(target), random.Random(seed)))  # noqa: S311


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=20_000)
@given(seed=st.integers(0, 2**64))
def test_many_mutated_corpus_inputs_are_handled(target: str, seed: int) -> None:
    TARGETS[target](mutate(inputs_of(target), random.Random(seed)))  # noqa: S311


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_are_handled(target: str, data: bytes) -> None:
    TARGETS[target](data)
