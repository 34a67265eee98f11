"""Model that streams tool calls in fragments, with callbacks between the fragments.

    made = call("write_file", path="a", content="…")
    model = TypingModel([*stream_call(made, 20, make_pause(0.01))])

Each prompt plays the next round. Once the results of its calls arrive, the model says that it is
done.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

import anyio
from pydantic import JsonValue

from acp_server.turn.conversation import ToolCall, ToolResult, UserMessage, prompt_to_text
from acp_server.turn.ports import (
    ModelEvent,
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)

StreamCallback = Callable[[], Awaitable[None]]
Action = ModelEvent | StreamCallback

_numbers = count(1)


class TypingModel:
    """Plays one round per prompt."""

    def __init__(self, *rounds: Sequence[Action]) -> None:
        self.rounds: list[Sequence[Action]] = list(rounds)
        self.requests: list[ModelRequest] = []
        self.results: list[ToolResult] = []
        """Results of the newest calls, in call order."""
        self.subagent_rounds: dict[str, list[Sequence[Action]]] = {}
        """Rounds of sub-agents, by their task."""

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Play the next round; see `Model.respond`."""
        self.requests.append(request)
        part = self._subagent_round(request)
        if part is not None:
            return await _play(part, receive)
        results = [part for part in request.messages[-1].parts if isinstance(part, ToolResult)]
        if results:
            self.results = results
            await receive(TextDelta("Done."))
            return "end_turn"
        return await _play(self.rounds.pop(0) or [TextDelta("Done.")], receive)

    def _subagent_round(self, request: ModelRequest) -> Sequence[Action] | None:
        """Return the round of a sub-agent if the request comes from one."""
        first, played = request.messages[0], len(request.messages) // 2
        prompt = prompt_to_text(first.parts) if isinstance(first, UserMessage) else ""
        found = (rounds for task, rounds in self.subagent_rounds.items() if prompt.startswith(task))
        rounds = next(found, None)
        return None if rounds is None else rounds[min(played, len(rounds) - 1)]


async def _play(actions: Sequence[Action], receive: ReceiveEvent) -> ModelStop:
    for action in actions:
        await (action() if callable(action) else receive(action))
    has_calls = any(isinstance(action, ToolCallStarted) for action in actions)
    return "tool_use" if has_calls else "end_turn"


def call(name: str, /, **arguments: JsonValue) -> ToolCall:
    """Return a call with these arguments and a new id."""
    return raw_call(name, json.dumps(arguments, ensure_ascii=False))


def raw_call(name: str, arguments: str) -> ToolCall:
    """Return a call with this raw argument text."""
    return ToolCall(f"call_{next(_numbers)}", name, arguments)


def stream_call(
    tool_call: ToolCall, pieces: int = 3, between: StreamCallback | None = None
) -> list[Action]:
    """Return the stream of a call whose arguments arrive in this many pieces."""
    size = max(1, -(-len(tool_call.arguments) // pieces))
    starts = range(0, len(tool_call.arguments), size)
    actions: list[Action] = [ToolCallStarted(tool_call.id, tool_call.name)]
    for start in starts:
        actions += [between] if between else []
        actions.append(ToolCallDelta(tool_call.id, tool_call.arguments[start : start + size]))
    return [*actions, ToolCallCompleted(tool_call.id)]


def make_pause(seconds: float) -> StreamCallback:
    """Return a callback that sleeps, for tests about time."""

    async def sleep() -> None:
        await anyio.sleep(seconds)

    return sleep
