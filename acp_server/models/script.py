"""The script format: what a scripted model says, as text that reads like a play.

    # A comment.
    prompt: greet              the block below answers prompts that contain this; * answers all
    think: A greeting.         reasoning
    say: Hello!                the answer; lines indented under it continue the text
      And a second line.
    pace: 20ms                 from here on, the time between two chunks (a chunk is a word)
    pause: 300ms               wait once
    deaf: 5s                   wait once and ignore being cancelled, as a broken library does
    chunks: 2000 word          the text as so many chunks of its own
    fail: The endpoint is down.
    stop: max_tokens           why it ends: end_turn (if nothing is said), max_tokens or refusal

The first block that fits a prompt is played, every time anew. Times are in ms or s.
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

ScriptStop = Literal["end_turn", "max_tokens", "refusal"]


class ScriptError(ValueError):
    """A script that cannot be played; the text names the line."""

    def __init__(self, line_number: int, problem: str) -> None:
        super().__init__(f"line {line_number}: {problem}")


@dataclass(frozen=True, slots=True)
class Say:
    """Stream a text, word by word, or as `copies` chunks of the whole of it."""

    text: str
    is_thought: bool = False
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """Wait so long between chunks from here on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait once."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Deaf:
    """Wait once, and do not let oneself be cancelled."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail as a model does."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the answer."""

    reason: ScriptStop


Line = Say | Pace | Pause | Deaf | Fail | Stop


@dataclass(frozen=True, slots=True)
class Block:
    """What to play for the prompts that contain `pattern`."""

    pattern: str
    lines: tuple[Line, ...]

    def answers(self, prompt: str) -> bool:
        """Whether this block is for that prompt."""
        return self.pattern == "*" or self.pattern.casefold() in prompt.casefold()


_VERB = re.compile(r"([a-z]+):(?: (.*))?")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")
_CHUNKS = re.compile(r"([1-9]\d{0,6}) (.+)", re.DOTALL)
_TIMED = {"pace": Pace, "pause": Pause, "deaf": Deaf}
_SECONDS = {"ms": 0.001, "s": 1.0}


def parse_script(text: str) -> tuple[Block, ...]:
    """Return the blocks of a script.

    Raises:
        ScriptError: a line says nothing that a script can say.
    """
    blocks: list[tuple[str, list[Line]]] = []
    for number, verb, value in _statements(text):
        if verb == "prompt":
            blocks.append((value.strip(), []))
        elif blocks:
            blocks[-1][1].append(_line(number, verb, value))
        else:
            raise ScriptError(number, "a script begins with `prompt:` and what it answers")
    return tuple(Block(pattern, tuple(lines)) for pattern, lines in blocks)


def _statements(text: str) -> list[tuple[int, str, str]]:
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


def _line(number: int, verb: str, value: str) -> Line:
    match verb:
        case "say" | "think":
            return Say(value, is_thought=verb == "think")
        case "chunks":
            return _chunks(number, value)
        case "pace" | "pause" | "deaf":
            return _TIMED[verb](_seconds(number, value))
        case "fail":
            return Fail(value)
        case "stop":
            return Stop(_stop(number, value))
        case _:
            raise ScriptError(number, f"there is no verb {verb!r}")


def _chunks(number: int, value: str) -> Say:
    found = _CHUNKS.fullmatch(value)
    if found is None:
        raise ScriptError(number, "expected `chunks: COUNT TEXT`")
    return Say(found[2], copies=int(found[1]))


def _seconds(number: int, value: str) -> float:
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ScriptError(number, f"expected a time such as 20ms or 1.5s, found {value!r}")
    return float(found[1]) * _SECONDS[found[2]]


def _stop(number: int, value: str) -> ScriptStop:
    for reason in get_args(ScriptStop):
        if reason == value.strip():
            return reason
    raise ScriptError(number, f"stop is one of {', '.join(get_args(ScriptStop))}")
