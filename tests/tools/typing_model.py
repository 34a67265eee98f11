"""A model that types: calls arrive in fragments, with whatever happens between them.

    model = Typist([*typed(call("write_file", path="a", content="…"), 20, wait(0.01))])

Each prompt plays the next round, and when the results of its calls are there, the model says that
it is done.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

import anyio
from pydantic import JsonValue

from acp_server.turn.conversation import ToolCall, ToolResult, UserMessage, text_of
from acp_server.turn.ports import (
    CallArguments,
    CallEnded,
    CallStarted,
    ModelEvent,
    ModelRequest,
    ModelStop,
    Receive,
    TextDelta,
)

Happening = Callable[[], Awaitable[None]]
Action = ModelEvent | Happening

_numbers = count(1)


class Typist:
    """Plays one round for each prompt."""

    def __init__(self, *rounds: Sequence[Action]) -> None:
        self.rounds: list[Sequence[Action]] = list(rounds)
        self.requests: list[ModelRequest] = []
        self.results: list[ToolResult] = []
        """The results of the newest calls, in the order in which they were made."""
        self.parts: dict[str, list[Sequence[Action]]] = {}
        """The rounds of sub-agents, by what their task is."""

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Play; see the port."""
        self.requests.append(request)
        part = self._part(request)
        if part is not None:
            return await _play(part, receive)
        results = [part for part in request.messages[-1].parts if isinstance(part, ToolResult)]
        if results:
            self.results = results
            await receive(TextDelta("Done."))
            return "end_turn"
        return await _play(self.rounds.pop(0), receive)

    def _part(self, request: ModelRequest) -> Sequence[Action] | None:
        """Return the round of a sub-agent, if one asks."""
        first, played = request.messages[0], len(request.messages) // 2
        said = text_of(first.parts) if isinstance(first, UserMessage) else ""
        found = (rounds for task, rounds in self.parts.items() if said.startswith(task))
        rounds = next(found, None)
        return None if rounds is None else rounds[min(played, len(rounds) - 1)]


async def _play(actions: Sequence[Action], receive: Receive) -> ModelStop:
    for action in actions:
        await (action() if callable(action) else receive(action))
    has_calls = any(isinstance(action, CallStarted) for action in actions)
    return "tool_use" if has_calls else "end_turn"


def call(name: str, /, **arguments: JsonValue) -> ToolCall:
    """Return a call with these arguments, under an id of its own."""
    return raw_call(name, json.dumps(arguments, ensure_ascii=False))


def raw_call(name: str, arguments: str) -> ToolCall:
    """Return a call with any text for arguments."""
    return ToolCall(f"call_{next(_numbers)}", name, arguments)


def typed(made: ToolCall, pieces: int = 3, between: Happening | None = None) -> list[Action]:
    """Return what a model streams that makes a call, its arguments in so many pieces."""
    size = max(1, -(-len(made.arguments) // pieces))
    starts = range(0, len(made.arguments), size)
    actions: list[Action] = [CallStarted(made.id, made.name)]
    for start in starts:
        actions += [between] if between else []
        actions.append(CallArguments(made.id, made.arguments[start : start + size]))
    return [*actions, CallEnded(made.id)]


def wait(seconds: float) -> Happening:
    """Return what lets time pass, where time is the subject."""

    async def sleep() -> None:
        await anyio.sleep(seconds)

    return sleep
