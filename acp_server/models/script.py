"""Parser of the script format of scripted models.

    # A comment.
    prompt: greet              the block below is for prompts that contain this; * for all
    think: A greeting.         reasoning
    say: Hello!                the answer; lines indented under it continue the text
      And a second line.
    pace: 20ms                 from here on, the time between two chunks (a chunk is a word)
    pause: 300ms               wait once
    deaf: 5s                   wait once and ignore cancellation, as a broken library does
    chunks: 2000 word          the text repeated as that many chunks
    call: write_file           a tool call; its arguments as YAML under it, streamed at the pace
      path: hello.txt
      content: Hello!
    step:                      the lines below follow once the calls above have their results
    fail: The endpoint is down.
    stop: max_tokens           stop reason: end_turn (the default), max_tokens or refusal

The first block that matches a prompt is played, each time from its start. Times are in ms or s.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

ScriptStop = Literal["end_turn", "max_tokens", "refusal"]


class ScriptError(ValueError):
    """A script is invalid; the message names the line."""

    def __init__(self, line_number: int, problem: str) -> None:
        super().__init__(f"line {line_number}: {problem}")


@dataclass(frozen=True, slots=True)
class SayLine:
    """Stream a text word by word, or the whole text in each of `copies` chunks."""

    text: str
    is_thinking: bool = False
    copies: int = 0


@dataclass(frozen=True, slots=True)
class PaceLine:
    """Set the delay between chunks from this line on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class PauseLine:
    """Wait once."""

    seconds: float


@dataclass(frozen=True, slots=True)
class IgnoreCancelLine:
    """Wait once and ignore cancellation."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CallLine:
    """Call a tool; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class StepLine:
    """End this answer; the next lines answer the results of its calls."""


@dataclass(frozen=True, slots=True)
class FailLine:
    """Fail with a model error."""

    reason: str


@dataclass(frozen=True, slots=True)
class StopLine:
    """End the answer with a stop reason."""

    reason: ScriptStop


ScriptLine = (
    SayLine | PaceLine | PauseLine | IgnoreCancelLine | CallLine | StepLine | FailLine | StopLine
)


@dataclass(frozen=True, slots=True)
class ScriptBlock:
    """Lines to play for the prompts that contain `pattern`."""

    pattern: str
    lines: tuple[ScriptLine, ...]

    def matches(self, prompt: str) -> bool:
        """Return whether this block is for a prompt; ignores case."""
        return self.pattern == "*" or self.pattern.casefold() in prompt.casefold()

    def lines_of_step(self, number: int) -> Sequence[ScriptLine]:
        """Return the lines of answer `number`, counted from 0."""
        steps: list[list[ScriptLine]] = [[]]
        for line in self.lines:
            if isinstance(line, StepLine):
                # A pace holds until the next one, also across steps.
                paces: list[ScriptLine] = [each for each in steps[-1] if isinstance(each, PaceLine)]
                steps.append(paces[-1:])
            else:
                steps[-1].append(line)
        return steps[number] if number < len(steps) else ()


_VERB = re.compile(r"([a-z]+):(?: (.*))?")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")
_CHUNKS = re.compile(r"([1-9]\d{0,6}) (.+)", re.DOTALL)
_SECONDS = {"ms": 0.001, "s": 1.0}


def parse_script(text: str) -> tuple[ScriptBlock, ...]:
    """Return the blocks of a script.

    Raises:
        ScriptError: A line is invalid.
    """
    blocks: list[tuple[str, list[ScriptLine]]] = []
    for number, verb, value in _split_statements(text):
        if verb == "prompt":
            blocks.append((value.strip(), []))
        elif blocks:
            if verb not in _PARSERS:
                raise ScriptError(number, f"there is no verb {verb!r}")
            blocks[-1][1].append(_PARSERS[verb](number, value))
        else:
            raise ScriptError(number, "a script must start with `prompt: TEXT`")
    return tuple(ScriptBlock(pattern, tuple(lines)) for pattern, lines in blocks)


def _split_statements(text: str) -> list[tuple[int, str, str]]:
    """Return (line number, verb, value) for each statement, continuation lines joined."""
    statements: list[tuple[int, str, list[str]]] = []
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if raw.startswith("  ") and statements:
            statements[-1][2].append(raw.removeprefix("  "))
        elif not raw.strip() and statements:
            statements[-1][2].append("")
        elif raw.strip() and not raw.startswith("#"):
            found = _VERB.fullmatch(raw)
            if found is None:
                raise ScriptError(number, f"expected `verb: text`, found {raw!r}")
            statements.append((number, found[1], [found[2] or ""]))
    return [(number, verb, "\n".join(lines).rstrip("\n")) for number, verb, lines in statements]


def _parse_call(number: int, value: str) -> CallLine:
    import yaml

    name, _, text = value.partition("\n")
    try:
        arguments: object = yaml.safe_load(f"{text}\n") or {}
    except (yaml.YAMLError, ValueError) as error:
        raise ScriptError(number, f"the arguments are not YAML: {error}") from None
    if not name.strip() or not isinstance(arguments, dict):
        raise ScriptError(number, "expected `call: TOOL`, and under it its arguments as YAML")
    try:
        return CallLine(name.strip(), json.dumps(cast("object", arguments), ensure_ascii=False))
    except (TypeError, ValueError) as error:
        raise ScriptError(number, f"the arguments cannot be written as JSON: {error}") from None


def _parse_chunks(number: int, value: str) -> SayLine:
    found = _CHUNKS.fullmatch(value)
    if found is None:
        raise ScriptError(number, "expected `chunks: COUNT TEXT`")
    return SayLine(found[2], copies=int(found[1]))


def _parse_seconds(number: int, value: str) -> float:
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ScriptError(number, f"expected a time such as 20ms or 1.5s, found {value!r}")
    return float(found[1]) * _SECONDS[found[2]]


def _parse_stop(number: int, value: str) -> ScriptStop:
    for reason in get_args(ScriptStop):
        if reason == value.strip():
            return reason
    raise ScriptError(number, f"stop is one of {', '.join(get_args(ScriptStop))}")


_PARSERS: Mapping[str, Callable[[int, str], ScriptLine]] = {
    "say": lambda _, value: SayLine(value),
    "think": lambda _, value: SayLine(value, is_thinking=True),
    "chunks": _parse_chunks,
    "pace": lambda number, value: PaceLine(_parse_seconds(number, value)),
    "pause": lambda number, value: PauseLine(_parse_seconds(number, value)),
    "deaf": lambda number, value: IgnoreCancelLine(_parse_seconds(number, value)),
    "call": _parse_call,
    "step": lambda _number, _value: StepLine(),
    "fail": lambda _, value: FailLine(value),
    "stop": lambda number, value: StopLine(_parse_stop(number, value)),
}
