"""Kinds of turns in a soak test: the prompt, and the model's behaviour for it.

A prompt contains `soak NUMBER ACT`. The endpoint derives its answer from that text alone, so client
and model share no state.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from tests.support.messages_api.failures import (
    HttpFailure,
    bad_request,
    overloaded,
    rate_limited,
    server_error,
)

PROMPT_PATTERN = re.compile(r"soak (\d+) ([a-z_]+)")
STREAMED_TEXT = "Some words that are streamed in chunks, as an answer is."


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """Tool call. `%N` in any text of its input is replaced by the turn's number."""

    tool: str
    input: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class SoakAction:
    """One kind of turn."""

    weight: int
    steps: Sequence[Sequence[ScriptedCall]] = ()
    """Calls of each answer; the answer after them is text."""
    failure: HttpFailure | None = None
    """Error response to the first request."""
    is_fatal: bool = False
    """Whether the failure ends the turn."""
    cut_after_events: int | None = None
    """Number of events after which the first answer's connection is dropped."""
    pause_seconds: float = 0
    """Pause between two pieces of an answer."""


def _immediately_retryable(failure: HttpFailure) -> HttpFailure:
    """Return a failure after which the client may retry immediately."""
    return HttpFailure(failure.status, type=failure.type, message="Later", retry_after_seconds=0)


_STORY = "one\ntwo\nthree\n"
_PATCH = """\
*** Begin Patch
*** Update File: story.txt
@@
 one
-two
+2 and %N
 three
*** End Patch
"""

ACTIONS: Mapping[str, SoakAction] = {
    "talk": SoakAction(60),
    "read": SoakAction(6, [[ScriptedCall("read_file", {"path": "notes.txt"})]]),
    "search": SoakAction(4, [[ScriptedCall("search_files", {"pattern": "wor.s"})]]),
    "write": SoakAction(
        3, [[ScriptedCall("write_file", {"path": "new %N.txt", "content": _STORY})]]
    ),
    "patch": SoakAction(
        3,
        [
            [ScriptedCall("write_file", {"path": "story.txt", "content": _STORY})],
            [ScriptedCall("patch", {"mode": "patch", "patch": _PATCH})],
            [
                ScriptedCall(
                    "patch", {"path": "story.txt", "old_string": "three", "new_string": "3"}
                )
            ],
        ],
    ),
    "command": SoakAction(
        3, [[ScriptedCall("terminal", {"command": "cat notes.txt; echo %N > said.txt"})]]
    ),
    "endless": SoakAction(1, [[ScriptedCall("terminal", {"command": "sleep 600"})]]),
    "background": SoakAction(
        1,
        [
            [ScriptedCall("terminal", {"command": "echo begun; sleep 600", "background": True})],
            [ScriptedCall("process", {"action": "list"})],
        ],
    ),
    "several": SoakAction(
        2,
        [
            [
                ScriptedCall("read_file", {"path": "notes.txt"}),
                ScriptedCall("read_file", {"path": "absent.txt"}),
                ScriptedCall("search_files", {"pattern": "*.txt", "target": "files"}),
                ScriptedCall("no_such_tool", {}),
            ]
        ],
    ),
    "plan": SoakAction(
        2, [[ScriptedCall("todo", {"todos": [{"id": "1", "content": "%N", "status": "pending"}]})]]
    ),
    "remember": SoakAction(1, [[ScriptedCall("memory", {"action": "add", "content": "fact %N"})]]),
    "recall": SoakAction(1, [[ScriptedCall("session_search", {"query": "streamed chunks"})]]),
    "skills": SoakAction(1, [[ScriptedCall("skills_list", {})]]),
    "limited": SoakAction(2, failure=_immediately_retryable(rate_limited())),
    "broken": SoakAction(2, failure=_immediately_retryable(server_error())),
    "overloaded": SoakAction(2, failure=_immediately_retryable(overloaded())),
    "refused": SoakAction(1, failure=bad_request("soak: refused"), is_fatal=True),
    "cut": SoakAction(2, cut_after_events=5),
    "cut_call": SoakAction(
        1, [[ScriptedCall("read_file", {"path": "notes.txt", "limit": 10})]], cut_after_events=9
    ),
    "slow": SoakAction(1, pause_seconds=0.01),
}


def choose_action(chance: random.Random) -> str:
    """Return the name of a random act, weighted."""
    return chance.choices(list(ACTIONS), [act.weight for act in ACTIONS.values()])[0]


def fill_turn_number(value: JsonValue, number: int) -> JsonValue:
    """Return JSON in which every `%N` is replaced by the turn's number."""
    match value:
        case str():
            return value.replace("%N", str(number))
        case list():
            return [fill_turn_number(each, number) for each in value]
        case dict():
            return {name: fill_turn_number(each, number) for name, each in value.items()}
        case _:
            return value
