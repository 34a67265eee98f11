"""Models that think by a budget: a turn of calls that did not begin so goes on without."""

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.models.anthropic.thinking import accepts_budget
from tests.anthropic_model.model_session import ModelSessionConfig, open_model_session
from tests.support.editor import json_at
from tests.support.messages_api import FakeApiServer, call, messages_api, reply, say, think
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

BUDGETED = ModelSessionConfig(model="claude-haiku-4-5")
THOUGHT: JsonValue = {"type": "thinking", "thinking": "Hm.", "signature": "signature"}
HIDDEN: JsonValue = {"type": "redacted_thinking", "data": "opaque"}
TEXT: JsonValue = {"type": "text", "text": "I look."}
CALL: JsonValue = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
RESULT: JsonValue = {"type": "tool_result", "tool_use_id": "c", "content": "found"}
PROMPT = ("user", TEXT)
RESULTS = ("user", RESULT)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        pytest.param([PROMPT], True, id="nothing was answered yet"),
        pytest.param([PROMPT, ("assistant", THOUGHT, CALL), RESULTS], True, id="it thought"),
        pytest.param([PROMPT, ("assistant", HIDDEN, CALL), RESULTS], True, id="it thought hidden"),
        pytest.param([PROMPT, ("assistant", TEXT, CALL), RESULTS], False, id="it only spoke"),
        pytest.param([PROMPT, ("assistant", CALL), RESULTS, PROMPT], False, id="it was cancelled"),
        pytest.param([PROMPT, ("assistant", TEXT), PROMPT], True, id="the turn is over"),
        pytest.param(
            [PROMPT, ("assistant", THOUGHT, CALL), RESULTS, ("assistant", TEXT, CALL), RESULTS],
            True,
            id="it thought before its first call",
        ),
        pytest.param(
            [PROMPT, ("assistant", CALL), RESULTS, ("assistant", THOUGHT, CALL), RESULTS],
            False,
            id="it thought after its first call",
        ),
        pytest.param(
            [
                *(PROMPT, ("assistant", THOUGHT, CALL), ("user", RESULT, TEXT)),
                *(("assistant", TEXT, CALL), RESULTS),
            ],
            False,
            id="the user said something between",
        ),
    ],
)
def test_a_turn_may_use_thinking_only_if_it_started_with_it(
    said: list[tuple[str, *tuple[JsonValue, ...]]], answer: object
) -> None:
    messages = [{"role": role, "content": blocks} for role, *blocks in said]
    assert accepts_budget(messages) is answer


def asked_to_think(api: FakeApiServer) -> list[JsonValue]:
    return [json_at(ask.body["thinking"], "type") for ask in api.model_requests]


async def test_thinking_stays_enabled_when_later_steps_omit_it(tmp_path: Path) -> None:
    script = [
        reply(think("Why?"), call("look", text="a")),
        reply(say("Now that."), call("look", text="b")),
        "Done.",
    ]
    async with messages_api(script) as api, open_model_session(api, tmp_path, BUDGETED) as session:
        assert await session.prompt() == "end_turn"
        assert asked_to_think(api) == ["enabled"] * 3


async def test_a_turn_whose_first_step_has_no_thinking_continues_without_it(tmp_path: Path) -> None:
    script = [reply(say("I look."), call("look", text="a")), "Done.", reply(think("Why?"), "Yes.")]
    async with messages_api(script) as api, open_model_session(api, tmp_path, BUDGETED) as session:
        assert await session.prompt() == "end_turn"
        assert await session.prompt("and now?") == "end_turn"
        assert asked_to_think(api) == ["enabled", "disabled", "enabled"]


async def test_thinking_can_be_enabled_after_cancelled_tool_calls(tmp_path: Path) -> None:
    calls = [reply(call("look", text="a")), reply(call("look", text="b"))]
    script = [*calls, "Done.", reply(think("Why?"), "Yes.")]
    async with messages_api(script) as api, open_model_session(api, tmp_path, BUDGETED) as session:
        session.session.context.options.set_option("thought_level", "off")
        session.tools.allowed_to_end = anyio.Event()
        pending = session.start_prompt()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await session.tools.started.wait()
        session.cancel()
        await pending.response()
        session.tools.allowed_to_end.set()
        session.session.context.options.set_option("thought_level", "high")
        assert await session.prompt("go on") == "end_turn"
        assert await session.prompt("and now?") == "end_turn"
        assert asked_to_think(api) == ["disabled", "disabled", "disabled", "enabled"]
