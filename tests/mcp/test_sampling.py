"""Servers that ask the session's model: with the user's permission, and within limits."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from acp_server.mcp.ports import Json, ServerError
from acp_server.mcp.sampling import Sampling
from acp_server.permissions.gate import Refusal
from acp_server.session.ports.mcp_configs import SamplingConfig, StdioServerConfig
from acp_server.tools.call_reporter import CallReporter
from acp_server.turn.conversation import AssistantMessage, Message, Text, UserMessage
from acp_server.turn.events import CallChanged
from tests.mcp.live_servers import EventRecorder, RecordingGate
from tests.support.user_texts import USER_DOES_NOT_PERMIT


class Model:
    """A model that always gives the same answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[Sequence[Message], str]] = []

    async def __call__(self, messages: Sequence[Message], instructions: str) -> tuple[str, str]:
        self.asked.append((messages, instructions))
        return "Because it is so.", "model"


async def ask(
    request: Json,
    limits: SamplingConfig | None = None,
    gate: RecordingGate | None = None,
    *,
    is_running: bool = True,
) -> tuple[Json, Model, EventRecorder]:
    model, recorder = Model(), EventRecorder()
    config = StdioServerConfig("library", "program", sampling=limits or SamplingConfig())
    sampling = Sampling(config, model)
    if not is_running:
        return await sampling.answer(request), model, recorder
    with sampling.allowed_during(CallReporter("call", recorder), gate or RecordingGate()):
        return await sampling.answer(request), model, recorder


def said(role: str, text: str) -> JsonValue:
    return {"role": role, "content": {"type": "text", "text": text}}


def messages(*entries: JsonValue, **more: JsonValue) -> Json:
    return {"messages": [*entries], "maxTokens": 100, **more}


async def test_messages_of_one_role_become_one_and_the_answer_is_cut() -> None:
    several: JsonValue = {"role": "user", "content": [{"type": "text", "text": "c"}]}
    request = messages(said("user", "a"), said("assistant", "b"), several, said("user", "d"))
    answer, model, recorder = await ask({**request, "maxTokens": 2})

    assert answer["content"] == {"type": "text", "text": "Because "}
    assert answer["stopReason"] == "maxTokens"
    ((sent, instructions),) = model.asked
    assert sent == (
        UserMessage((Text("a"),)),
        AssistantMessage((Text("b"),)),
        UserMessage((Text("c"), Text("d"))),
    )
    assert instructions == "Write at most 8 characters."
    last = recorder.events[-1]
    assert isinstance(last, CallChanged)
    assert last.status == "completed"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (messages(), "must begin and end"),
        (messages(said("user", "a"), said("assistant", "b")), "must begin and end"),
        (messages(said("user", " ")), "only texts"),
        (messages({"role": "user", "content": {"type": "image", "data": ""}}), "only texts"),
        (messages(said("user", "x" * 100_001)), "longer than 100,000 characters"),
        (messages(said("user", "x"), systemPrompt="y" * 100_000), "longer than 100,000"),
        (messages(said("user", "x"), tools=[{"name": "t"}]), "the model has no tools here"),
    ],
)
async def test_a_request_that_cannot_be_answered_asks_nobody(request_: Json, expected: str) -> None:
    gate = RecordingGate()
    with pytest.raises(ServerError, match=expected):
        await ask(request_, gate=gate)
    assert gate.questions == []


async def test_requests_are_limited_and_belong_to_a_running_call() -> None:
    request = messages(said("user", "Why?"))
    with pytest.raises(ServerError, match="only while a tool of this server runs"):
        await ask(request, is_running=False)
    with pytest.raises(ServerError, match="0 times a minute"):
        await ask(request, SamplingConfig(max_per_minute=0))
    with pytest.raises(ServerError, match=f"{USER_DOES_NOT_PERMIT}: no"):
        await ask(request, gate=RecordingGate(Refusal("no")))
