"""The model's answer to a command in the prompt, the same for every agent and API format.

`chunks N` is N pieces of text at once, `paced N MS` one piece every MS milliseconds. `read`, `run
S`, `edits N`, `explore N` and `grow` call tools and then say that they are done; the arguments of
`grow` stream slowly. `day T` is turn T of the scripted day, `workday T S` turn T of the day of 300
steps from step S on. Anything else is answered with one word.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tests.benchmarks.endpoint.exploration import call_of
from tests.benchmarks.endpoint.model_requests import BenchmarkRequest
from tests.benchmarks.endpoint.tool_dialects import Arguments, DialectCall, translate_call
from tests.benchmarks.endpoint.workday import STEPS, SUMMARY, SUMMARY_BYTES, workday_call
from tests.benchmarks.scripted_session import PLAN, make_script
from tests.support.messages_api import CallTool, ScriptedReply
from tests.support.messages_api.script import Say

GROWING_PIECES = 60
GROWING_PAUSE_SECONDS = 0.025
GROWING_LINES = 300
GROWN = "".join(f"line {number} of a file that grows\n" for number in range(GROWING_LINES))


@dataclass(frozen=True, slots=True)
class BenchmarkAnswer:
    """Content of the response to one request."""

    text: Sequence[str] = ()
    """The text, piece by piece."""
    tool_uses: Sequence[DialectCall] = ()
    pause_seconds: float = 0
    """Pause before each piece of text or of arguments."""
    argument_piece_count: int = 1


HELLO = BenchmarkAnswer(("Hello.",))
DONE = BenchmarkAnswer(("Done.",))


def make_chunk(number: int) -> str:
    """Return a unique piece of text: some agents stop a model that repeats itself."""
    return f"five words of {number} text. "


def _make_chunks(count: int) -> list[str]:
    return [make_chunk(number) for number in range(count)]


def answer(ask: BenchmarkRequest) -> BenchmarkAnswer:
    """Return the model's answer to a request."""
    if ask.command[:1] == ("workday",):
        return _answer_workday(ask)
    if not ask.tools:  # a title or a summary: not part of the benchmark
        return HELLO
    match ask.command:
        case ("chunks" | "paced", count, *milliseconds):
            pause_seconds = sum(map(int, milliseconds)) / 1000
            return BenchmarkAnswer(_make_chunks(int(count)), pause_seconds=pause_seconds)
        case ("day", turn):
            return _answer_day_turn(ask, int(turn))
        case ("explore" | "read" | "grow" | "run" | "edits", *_):
            return DONE if ask.step else _answer_first_request(ask)
        case _:
            return HELLO


def _answer_first_request(ask: BenchmarkRequest) -> BenchmarkAnswer:
    match ask.command:
        case ("explore", number):
            name, arguments = call_of(ask.tools, ask.folder, int(number))
            return BenchmarkAnswer(tool_uses=[DialectCall(name, json.dumps(arguments))])
        case ("read",):
            return BenchmarkAnswer(
                tool_uses=[_make_use(ask, "read_file", path="notes.txt", offset=1, limit=20)]
            )
        case ("run", seconds):
            return BenchmarkAnswer(
                tool_uses=[_make_use(ask, "terminal", command=f"sleep {seconds}")]
            )
        case ("edits", count):
            names = [f"edit-{number}.txt" for number in range(int(count))]
            return BenchmarkAnswer(
                tool_uses=[
                    _make_use(ask, "write_file", path=name, content=make_chunk(0)) for name in names
                ]
            )
        case _:
            grown = _make_use(ask, "write_file", path="grown.txt", content=GROWN)
            return BenchmarkAnswer(
                tool_uses=[grown],
                pause_seconds=GROWING_PAUSE_SECONDS,
                argument_piece_count=GROWING_PIECES,
            )


def _answer_workday(ask: BenchmarkRequest) -> BenchmarkAnswer:
    turn, done = (int(word) for word in ask.command[1:])
    step = min(done + ask.step, STEPS - 1)
    if ask.asks_for_summary or (not ask.tools and ask.bytes > SUMMARY_BYTES):
        return BenchmarkAnswer((SUMMARY.format(turn=turn, done=step, folder=ask.folder),))
    if not ask.tools:
        return HELLO
    if step == STEPS - 1:
        return BenchmarkAnswer((f"The test of part {turn} is written and passes.",))
    return BenchmarkAnswer(tool_uses=[workday_call(ask.tools, ask.folder, turn, step)])


def _make_use(ask: BenchmarkRequest, name: str, /, **arguments: str | int) -> DialectCall:
    return translate_call(ask.tools, ask.folder, name, arguments)


@cache
def _day_replies() -> list[list[ScriptedReply]]:
    """Return the answers of the scripted day, turn by turn."""
    replies = iter(make_script().replies)
    return [[next(replies) for _ in [*words.split(), "the end"]] for words in PLAN]


def _answer_day_turn(ask: BenchmarkRequest, turn: int) -> BenchmarkAnswer:
    replies = _day_replies()[turn]
    reply = replies[min(ask.step, len(replies) - 1)]
    return BenchmarkAnswer(
        [block.text for block in reply.blocks if isinstance(block, Say)],
        [_translate_call(ask, block) for block in reply.blocks if isinstance(block, CallTool)],
    )


def _translate_call(ask: BenchmarkRequest, call: CallTool) -> DialectCall:
    arguments: Arguments = json.loads(json.dumps(call.input))
    return translate_call(ask.tools, ask.folder, call.name, arguments)
