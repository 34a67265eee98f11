"""The model's answer to a command in the prompt, the same for every agent and API format.

`chunks N` is N pieces of text at once, `paced N MS` one piece every MS milliseconds. `read`, `run
S`, `edits N` and `grow` call tools and then say that they are done; the arguments of `grow` stream
slowly. `day T` is turn T of the scripted day. Anything else is answered with one word.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tests.benchmarks.endpoint.model_requests import Ask
from tests.benchmarks.endpoint.tool_dialects import Arguments, Use, in_words_of
from tests.benchmarks.scripted_session import PLAN, script
from tests.support.messages_api import Call, Reply
from tests.support.messages_api.script import Say

GROWING_PIECES = 60
GROWING_PAUSE_SECONDS = 0.025
GROWING_LINES = 300
GROWN = "".join(f"line {number} of a file that grows\n" for number in range(GROWING_LINES))


@dataclass(frozen=True, slots=True)
class Answer:
    """Content of the response to one request."""

    text: Sequence[str] = ()
    """The text, piece by piece."""
    uses: Sequence[Use] = ()
    pause_seconds: float = 0
    """Pause before each piece of text or of arguments."""
    pieces_of_arguments: int = 1


HELLO = Answer(("Hello.",))
DONE = Answer(("Done.",))


def chunk(number: int) -> str:
    """Return a unique piece of text: some agents stop a model that repeats itself."""
    return f"five words of {number} text. "


def _chunks(count: int) -> list[str]:
    return [chunk(number) for number in range(count)]


def answer(ask: Ask) -> Answer:
    """Return the model's answer to a request."""
    if not ask.tools:  # a title or a summary: not part of the benchmark
        return HELLO
    match ask.order:
        case ("chunks", count):
            return Answer(_chunks(int(count)))
        case ("paced", count, milliseconds):
            return Answer(_chunks(int(count)), pause_seconds=int(milliseconds) / 1000)
        case ("day", turn):
            return _of_the_day(ask, int(turn))
        case ("read" | "grow" | "run" | "edits", *_):
            return DONE if ask.step else _first_step(ask)
        case _:
            return HELLO


def _first_step(ask: Ask) -> Answer:
    match ask.order:
        case ("read",):
            return Answer(uses=[_use(ask, "read_file", path="notes.txt", offset=1, limit=20)])
        case ("run", seconds):
            return Answer(uses=[_use(ask, "terminal", command=f"sleep {seconds}")])
        case ("edits", count):
            names = [f"edit-{number}.txt" for number in range(int(count))]
            return Answer(
                uses=[_use(ask, "write_file", path=name, content=chunk(0)) for name in names]
            )
        case _:
            grown = _use(ask, "write_file", path="grown.txt", content=GROWN)
            return Answer(
                uses=[grown],
                pause_seconds=GROWING_PAUSE_SECONDS,
                pieces_of_arguments=GROWING_PIECES,
            )


def _use(ask: Ask, name: str, /, **arguments: str | int) -> Use:
    return in_words_of(ask.tools, ask.folder, name, arguments)


@cache
def _turns() -> list[list[Reply]]:
    """Return the answers of the scripted day, turn by turn."""
    replies = iter(script().replies)
    return [[next(replies) for _ in [*words.split(), "the end"]] for words in PLAN]


def _of_the_day(ask: Ask, turn: int) -> Answer:
    replies = _turns()[turn]
    said = replies[min(ask.step, len(replies) - 1)]
    return Answer(
        [block.text for block in said.blocks if isinstance(block, Say)],
        [_translated(ask, block) for block in said.blocks if isinstance(block, Call)],
    )


def _translated(ask: Ask, call: Call) -> Use:
    arguments: Arguments = json.loads(json.dumps(call.input))
    return in_words_of(ask.tools, ask.folder, call.name, arguments)
