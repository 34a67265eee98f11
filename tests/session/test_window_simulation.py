"""No session dies of what it holds: whole sessions, at every size of window."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.session.window_simulation import SimulatedSession, Step, random_steps, text_of

SIZES = Path(__file__).with_name("session_sizes.json")
"""Of each of 533 recorded sessions of five public agents: number of tool calls, bytes of their
results, bytes of their arguments, bytes of the largest result."""
WINDOWS = (8_000, 32_000, 128_000, 200_000)
EXTREME_WINDOWS = (WINDOWS[0], WINDOWS[-1])
"""Windows of the short forms."""


async def play(session: SimulatedSession, prompts: int) -> None:
    """Prompt a session, load it, go on with a smaller model; nothing is refused unexpectedly."""
    for number in range(prompts):
        assert await session.prompt(f"Go on with part {number}.") == "end_turn"
    loaded, smaller = session.reload(), session.reload()
    await require_answers(session)
    await require_answers(loaded)
    assert await smaller.prompt("hi") == "end_turn"
    # Tokenizers differ by a sixth or so.
    density = session.model.bytes_per_token * 0.87
    smaller.switch_model(max(session.model.window_tokens // 4, WINDOWS[0]), density)
    await require_answers(smaller)
    assert loaded.model.refused == smaller.model.refused == 0
    # Hundreds of sessions share a directory, and each looks through it before it saves more.
    await session.compactor.outputs.delete()


async def require_answers(session: SimulatedSession) -> None:
    """Prompt and compact a session, and require an answer each time, within the window."""
    assert await session.prompt("hi") == "end_turn"
    await session.compact()
    assert await session.prompt("hi") == "end_turn"
    assert max(session.model.requests) <= session.model.window_tokens


def recorded_steps(row: Sequence[int], random: Random) -> list[Step]:
    """Spread the bytes of a recorded session over its calls at random; a text after every 12."""
    calls, results, arguments, largest = row
    weights = [random.paretovariate(1.0) for _ in range(calls)]
    steps: list[Step] = []
    for number, weight in enumerate(weights, 1):
        result = min(int(weight / sum(weights) * results), largest)
        steps.append(Step(calls=((arguments // calls, result),)))
        if number % 12 == 0:
            steps.append(Step(text=200))
    return steps


@pytest.mark.parametrize("window", EXTREME_WINDOWS)
async def test_random_sessions_never_send_more_than_the_window(window: int, tmp_path: Path) -> None:
    # Steps grow with the window: one session fills a large one as well as two.
    for seed in range(2 if window < 100_000 else 1):
        random = Random(seed)  # noqa: S311  no secret
        steps = random_steps(random, 40, window * 6)
        density = random.choice((2.2, 2.8, 3.6, 4.2))
        session = SimulatedSession(steps, window, tmp_path, bytes_per_token=density)
        await play(session, 6)
        assert session.model.refused == 0


@pytest.mark.full
@pytest.mark.parametrize("window", WINDOWS)
async def test_500_random_sessions_never_send_more_than_the_window(
    window: int, tmp_path: Path
) -> None:
    for seed in range(125):
        random = Random(seed)  # noqa: S311  no secret
        steps = random_steps(random, 80, window * random.choice((2, 6, 30)))
        density = random.choice((1.6, 2.2, 2.8, 3.6, 4.2))
        session = SimulatedSession(steps, window, tmp_path, bytes_per_token=density)
        await play(session, 10)
        assert session.model.refused == 0


async def play_recorded(window: int, every: int, outputs: Path) -> None:
    """Play every n-th recorded session."""
    for number, row in enumerate(json.loads(SIZES.read_text())[::every]):
        random = Random(number)  # noqa: S311  no secret
        session = SimulatedSession(recorded_steps(row, random), window, outputs)
        await play(session, row[0] // 12 + 1)
        assert session.model.refused == 0


@pytest.mark.parametrize("window", EXTREME_WINDOWS)
async def test_sessions_as_long_as_recorded_ones_are_finished(window: int, tmp_path: Path) -> None:
    await play_recorded(window, 80, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("window", WINDOWS)
async def test_every_recorded_session_is_finished(window: int, tmp_path: Path) -> None:
    await play_recorded(window, 1, tmp_path)


@pytest.mark.parametrize(("names_limit", "most_refusals"), [(True, 1), (False, 8)])
@pytest.mark.parametrize("window", [8_000, pytest.param(32_000, marks=pytest.mark.full)])
async def test_a_window_smaller_than_assumed_is_learned_from_the_refusal(
    window: int, *, names_limit: bool, most_refusals: int, tmp_path: Path
) -> None:
    session = SimulatedSession(
        random_steps(Random(2), 40, window * 6),  # noqa: S311  no secret
        window,
        tmp_path,
        known_window=200_000,
        names_limit=names_limit,
    )
    await play(session, 6)
    assert 0 < session.model.refused <= most_refusals


@pytest.mark.parametrize("size", [2_000_000, pytest.param(20_000_000, marks=pytest.mark.full)])
async def test_a_session_survives_an_answer_of_megabytes(size: int, tmp_path: Path) -> None:
    session = SimulatedSession([Step(text=size)], 200_000, tmp_path)
    await play(session, 2)


@pytest.mark.parametrize("size", [10_000, 20_000, 30_000])
async def test_a_conversation_that_ends_with_a_long_answer_can_be_summarized(
    size: int, tmp_path: Path
) -> None:
    session = SimulatedSession([Step(text=size)], 8_000, tmp_path)
    await session.prompt("Write all of it.")
    await session.compact()
    assert (session.model.summaries, session.model.refused) == (1, 0)


async def test_a_session_goes_on_with_a_model_whose_window_is_smaller(tmp_path: Path) -> None:
    large = SimulatedSession([Step(calls=((50, 60_000),))] * 9, 200_000, tmp_path)
    await large.prompt("Read all of it.")
    small = SimulatedSession([], 32_000, tmp_path)
    small.conversation.rebuild(large.messages())
    await play(small, 1)
    assert small.model.refused == 0


async def test_the_prompt_alone_decides_whether_it_is_too_large(tmp_path: Path) -> None:
    session = SimulatedSession([Step(calls=((50, 30_000),))] * 3, 32_000, tmp_path)
    await session.prompt("Read all of it.")
    await session.prompt(text_of(60_000))
    await play(session, 1)
