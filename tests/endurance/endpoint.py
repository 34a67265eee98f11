"""Endless Messages API: the model does the action that the prompt names (`actions`).

It does not validate requests and remembers only which failures it has already sent, so a soak test
costs it neither time nor memory. `tests.support.messages_api` is the strict one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from pydantic import JsonValue

from tests.endurance.actions import (
    ACTIONS,
    PROMPT_PATTERN,
    STREAMED_TEXT,
    ScriptedCall,
    SoakAction,
    fill_turn_number,
)
from tests.support.editor import Object
from tests.support.messages_api.endpoint import MessagesServerConfig
from tests.support.messages_api.failures import JSON, HttpFailure
from tests.support.messages_api.faults import CutAfterEvents, sse_event
from tests.support.messages_api.records import HttpRequest, RecordedRequest, SendState
from tests.support.messages_api.response_steps import ResponsePlan, ResponseStep, Wait, Write
from tests.support.messages_api.responses import EVENT_STREAM
from tests.support.messages_api.script import ScriptPlayer

CHUNK_CHARACTERS = 12
CHARACTERS_PER_TOKEN = 4
"""By which the input of a request is counted, so that long conversations are compacted."""
NOT_FOUND = HttpFailure(404, type="not_found_error", message="Not Found")
_TALK_ACTION = ACTIONS["talk"]


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """Parsed prompt: the action, the turn's number, and the number of completed steps."""

    number: int
    act: SoakAction
    step: int

    @property
    def calls(self) -> list[ScriptedCall]:
        """Tool calls of this answer."""
        steps = self.act.steps
        return list(steps[self.step]) if self.step < len(steps) else []


class SoakEndpoint:
    """API of one soak test, as `serve_api` accepts it."""

    form = "messages"
    model_path = "/v1/messages"

    def __init__(self) -> None:
        self.endpoint = MessagesServerConfig()
        self.player = ScriptPlayer(())
        self.requests: list[RecordedRequest] = []
        """Always empty."""
        self.answered = 0
        self._failed_turns: set[int] = set()
        self._ids = count(1)

    def advance_time(self, seconds: float) -> None:
        """Do nothing; there is no cache."""

    def respond(self, request: HttpRequest) -> tuple[ResponsePlan, SendState]:
        """Return the response to a request."""
        if request.method != "POST" or not request.target.startswith(self.model_path):
            return _error_answer(NOT_FOUND), SendState()
        if request.target.partition("?")[0].endswith("/count_tokens"):
            return ResponsePlan(
                200, (("content-type", JSON),), (Write(b'{"input_tokens":9}'),)
            ), SendState()
        self.answered += 1
        tokens = len(request.body or b"") // CHARACTERS_PER_TOKEN
        return self._answer(json.loads(request.body or b"{}"), tokens), SendState()

    def _answer(self, body: Object, tokens: int) -> ResponsePlan:
        asked = parse_action(body["messages"])
        is_first = asked.step == 0 and asked.number not in self._failed_turns
        if is_first and asked.act.failure is not None:
            self._fail_once(asked)
            return _error_answer(asked.act.failure)
        if body.get("stream") is not True:
            return ResponsePlan(
                200,
                (("content-type", JSON),),
                (Write(_unstreamed_answer(str(body["model"]), tokens)),),
            )
        steps = list(self._events(asked, _message(str(body["model"]), tokens)))
        if is_first and asked.act.cut_after_events is not None:
            self._fail_once(asked)
            steps = CutAfterEvents(asked.act.cut_after_events).apply(steps)
        return ResponsePlan(200, (("content-type", EVENT_STREAM),), tuple(steps), is_chunked=True)

    def _fail_once(self, asked: ActionRequest) -> None:
        if not asked.act.is_fatal:
            self._failed_turns.add(asked.number)

    def _events(self, asked: ActionRequest, message: Object) -> Iterator[ResponseStep]:
        yield sse_event("message_start", {"type": "message_start", "message": message})
        calls = asked.calls
        for index, part in enumerate((STREAMED_TEXT, *calls)):
            opening, deltas = self._block(part, asked.number)
            start: Object = {"type": "content_block_start", "index": index}
            yield sse_event("content_block_start", {**start, "content_block": opening})
            for delta in deltas:
                if asked.act.pause_seconds:
                    yield Wait(asked.act.pause_seconds)
                carried: Object = {"type": "content_block_delta", "index": index, "delta": delta}
                yield sse_event("content_block_delta", carried)
            yield sse_event("content_block_stop", {"type": "content_block_stop", "index": index})
        ending: Object = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        usage: Object = {"output_tokens": 20}
        yield sse_event("message_delta", {"type": "message_delta", "delta": ending, "usage": usage})
        yield sse_event("message_stop", {"type": "message_stop"})

    def _block(self, part: str | ScriptedCall, number: int) -> tuple[Object, list[Object]]:
        if isinstance(part, str):
            texts: list[Object] = [
                {"type": "text_delta", "text": part[start : start + CHUNK_CHARACTERS]}
                for start in range(0, len(part), CHUNK_CHARACTERS)
            ]
            return {"type": "text", "text": ""}, texts
        written = json.dumps(fill_turn_number(dict(part.input), number))
        halves = (written[: len(written) // 2], written[len(written) // 2 :])
        head: Object = {"type": "tool_use", "id": f"toolu_{next(self._ids)}", "name": part.tool}
        return {**head, "input": {}}, [
            {"type": "input_json_delta", "partial_json": half} for half in halves
        ]


def parse_action(messages: JsonValue) -> ActionRequest:
    """Parse the newest user message; text without an action counts as `talk`."""
    assert isinstance(messages, list)
    step = 0
    for message in reversed(messages):
        if not isinstance(message, dict) or message["role"] != "user":
            continue
        content = message["content"]
        blocks: list[JsonValue] = [content] if isinstance(content, str) else _listed(content)
        if any(isinstance(each, dict) and each.get("type") == "tool_result" for each in blocks):
            step += 1
            continue
        found = PROMPT_PATTERN.search(json.dumps(blocks))
        return (
            ActionRequest(int(found[1]), ACTIONS[found[2]], step)
            if found
            else ActionRequest(0, _TALK_ACTION, 0)
        )
    return ActionRequest(0, _TALK_ACTION, 0)


def _listed(content: JsonValue) -> list[JsonValue]:
    assert isinstance(content, list)
    return content


def _message(model: str, tokens: int) -> Object:
    usage: Object = {"input_tokens": tokens, "output_tokens": 1}
    head: Object = {"id": "msg_soak", "type": "message", "role": "assistant", "model": model}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _unstreamed_answer(model: str, tokens: int) -> bytes:
    content: list[JsonValue] = [{"type": "text", "text": STREAMED_TEXT}]
    return json.dumps(
        {**_message(model, tokens), "content": content, "stop_reason": "end_turn"}
    ).encode()


def _error_answer(failure: HttpFailure) -> ResponsePlan:
    headers = [("content-type", failure.content_type)]
    if failure.retry_after_seconds is not None:
        headers.append(("retry-after", f"{failure.retry_after_seconds:g}"))
    return ResponsePlan(failure.status, tuple(headers), (Write(failure.body_for("req_soak")),))
