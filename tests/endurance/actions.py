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
    Failure,
    bad_request,
    overloaded,
    rate_limited,
    server_error,
)

ASKED = re.compile(r"soak (\d+) ([a-z_]+)")
WORDS = "Some words that are streamed in chunks, as an answer is."


@dataclass(frozen=True, slots=True)
class Called:
    """Tool call. `%N` in any text of its input is replaced by the turn's number."""

    tool: str
    input: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Act:
    """One kind of turn."""

    weight: int
    steps: Sequence[Sequence[Called]] = ()
    """Calls of each answer; the answer after them is text."""
    failure: Failure | None = None
    """Error response to the first request."""
    is_hopeless: bool = False
    """Whether the failure ends the turn."""
    cut_after_events: int | None = None
    """Number of events after which the first answer's connection is dropped."""
    pause_seconds: float = 0
    """Pause between two pieces of an answer."""


def _again(failure: Failure) -> Failure:
    """Return a failure after which the client may retry immediately."""
    return Failure(failure.status, type=failure.type, message="Later", retry_after_seconds=0)


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

ACTS: Mapping[str, Act] = {
    "talk": Act(60),
    "read": Act(6, [[Called("read_file", {"path": "notes.txt"})]]),
    "search": Act(4, [[Called("search_files", {"pattern": "wor.s"})]]),
    "write": Act(3, [[Called("write_file", {"path": "new %N.txt", "content": _STORY})]]),
    "patch": Act(
        3,
        [
            [Called("write_file", {"path": "story.txt", "content": _STORY})],
            [Called("patch", {"mode": "patch", "patch": _PATCH})],
            [Called("patch", {"path": "story.txt", "old_string": "three", "new_string": "3"})],
        ],
    ),
    "command": Act(3, [[Called("terminal", {"command": "cat notes.txt; echo %N > said.txt"})]]),
    "endless": Act(1, [[Called("terminal", {"command": "sleep 600"})]]),
    "background": Act(
        1,
        [
            [Called("terminal", {"command": "echo begun; sleep 600", "background": True})],
            [Called("process", {"action": "list"})],
        ],
    ),
    "several": Act(
        2,
        [
            [
                Called("read_file", {"path": "notes.txt"}),
                Called("read_file", {"path": "absent.txt"}),
                Called("search_files", {"pattern": "*.txt", "target": "files"}),
                Called("no_such_tool", {}),
            ]
        ],
    ),
    "plan": Act(
        2, [[Called("todo", {"todos": [{"id": "1", "content": "%N", "status": "pending"}]})]]
    ),
    "remember": Act(1, [[Called("memory", {"action": "add", "content": "fact %N"})]]),
    "recall": Act(1, [[Called("session_search", {"query": "streamed chunks"})]]),
    "skills": Act(1, [[Called("skills_list", {})]]),
    "limited": Act(2, failure=_again(rate_limited())),
    "broken": Act(2, failure=_again(server_error())),
    "overloaded": Act(2, failure=_again(overloaded())),
    "refused": Act(1, failure=bad_request("soak: refused"), is_hopeless=True),
    "cut": Act(2, cut_after_events=5),
    "cut_call": Act(
        1, [[Called("read_file", {"path": "notes.txt", "limit": 10})]], cut_after_events=9
    ),
    "slow": Act(1, pause_seconds=0.01),
}


def choose(chance: random.Random) -> str:
    """Return the name of a random act, weighted."""
    return chance.choices(list(ACTS), [act.weight for act in ACTS.values()])[0]


def numbered(value: JsonValue, number: int) -> JsonValue:
    """Return JSON in which every `%N` is replaced by the turn's number."""
    match value:
        case str():
            return value.replace("%N", str(number))
        case list():
            return [numbered(each, number) for each in value]
        case dict():
            return {name: numbered(each, number) for name, each in value.items()}
        case _:
            return value
