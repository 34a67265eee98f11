"""The oddities of servers that speak chat completions: borne, or learned from what they refuse."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from acp_server.models.openai_compatible import endpoint_profile
from acp_server.models.openai_compatible.adapter import CHAT, RESPONSES, OpenAiApi
from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.turn.conversation import AssistantMessage, ToolCall
from prompt_engine.context_windows import system_role
from tests.anthropic_model.model_session import (
    ModelSessionConfig,
    check_history,
    open_model_session,
)
from tests.support.editor import json_at
from tests.support.messages_api import ScriptedReply, call, reply, say, think
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api

SCRIPT = (
    reply(think("Hm, which?"), say("I look."), call("look", text="a"), call("note", text="b")),
    reply(think("And now?"), call("look", text="c")),
    "Done.",
)
ODD: dict[str, OpenAiServerConfig] = {
    "calls without ids": OpenAiServerConfig(sends_call_ids=False),
    "calls without indexes": OpenAiServerConfig(sends_call_indexes=False),
    "calls without either": OpenAiServerConfig(
        sends_call_ids=False, sends_call_indexes=False, arguments="whole"
    ),
    "arguments in one piece": OpenAiServerConfig(arguments="whole"),
    "arguments as objects": OpenAiServerConfig(arguments="object"),
    "reasoning in another field": OpenAiServerConfig(reasoning_field="reasoning"),
    "reasoning within the text": OpenAiServerConfig(reasoning_field=None),
    "reasoning that must not come back": OpenAiServerConfig(accepts_reasoning=False),
    "reasoning that must come back": OpenAiServerConfig(requires_reasoning=True),
    "usage with every chunk": OpenAiServerConfig(usage="always"),
    "usage never": OpenAiServerConfig(usage="never"),
    "no word for usage": OpenAiServerConfig(refused_fields=frozenset({"stream_options"})),
    "no word for effort": OpenAiServerConfig(refused_fields=frozenset({"reasoning_effort"})),
    "calls end with stop": OpenAiServerConfig(finish_reasons={"tool_calls": "stop"}),
    "ends of its own": OpenAiServerConfig(finish_reasons={"tool_calls": "tool_use", "stop": "eos"}),
    "ends without a word": OpenAiServerConfig(finish_reasons={"tool_calls": None, "stop": None}),
    "ends without a mark": OpenAiServerConfig(sends_done=False),
    "one call at a time": OpenAiServerConfig(accepts_parallel_calls=False),
    "no developer": OpenAiServerConfig(accepts_developer_role=False),
    "no stream": OpenAiServerConfig(streams=False),
    "no key": OpenAiServerConfig(keys=None),
}


@pytest.mark.parametrize("name", ODD)
async def test_a_nonstandard_endpoint_is_tolerated(tmp_path: Path, name: str) -> None:
    config = ModelSessionConfig(profile=EndpointProfile(system_role=system_role))
    if ODD[name].keys is None:
        config.api_key = None
    async with (
        openai_api(SCRIPT, ODD[name]) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert session.agent_text() == "I look.Done."
        assert session.thoughts() == "Hm, which?And now?"
        assert [run.arguments for run in session.tools.target_subcommands] == [
            '{"text": "a"}',
            '{"text": "b"}',
            '{"text": "c"}',
        ]
        refused = [ask.message for ask in api.model_requests if ask.verdict == "refused"]
        assert len(refused) <= 2, "it is learned, once"
        assert api.remaining_turns == 0
        check_history(session.history())
        ids = [
            part.id
            for message in session.history()
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, ToolCall)
        ]
        assert len(set(ids)) == 3, "no id stands for two calls"
        api.add("Again.")
        before = len(refused)
        assert await session.prompt("again") == "end_turn"
        assert len([ask for ask in api.model_requests if ask.verdict == "refused"]) == before


async def test_an_id_repeated_in_every_answer_is_replaced(tmp_path: Path) -> None:
    from tests.support.messages_api.script import CallTool  # noqa: PLC0415  the class beside `call`

    same = ScriptedReply((CallTool("look", {"text": "x"}, id="call_0"),), "tool_use")
    async with openai_api([same, same, "Done."]) as api, open_model_session(api, tmp_path) as chat:
        assert await chat.prompt() == "end_turn"
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 3
        shown = [json_at(each, "toolCallId") for each in chat.updates("tool_call")]
        assert len(set(map(str, shown))) == 2


@pytest.mark.parametrize("form", ["chat", "responses"])
@pytest.mark.parametrize("usage", ["never", "zero"])
async def test_unreported_usage_is_estimated(
    tmp_path: Path, form: Literal["chat", "responses"], usage: Literal["never", "zero"]
) -> None:
    endpoint = OpenAiServerConfig(form=form, usage=usage)
    async with openai_api(["Hello."], endpoint) as api, open_model_session(api, tmp_path) as chat:
        await chat.prompt()
        assert int(str(json_at(chat.updates("usage_update")[-1], "used"))) > 2_000


@pytest.mark.parametrize(("model", "role"), [("gpt-5.1", "developer"), ("gpt-4.1", "system")])
async def test_the_system_text_has_the_role_the_model_requires(
    tmp_path: Path, model: str, role: str
) -> None:
    config = ModelSessionConfig(model=model, profile=EndpointProfile(system_role=system_role))
    async with openai_api(["Hello."]) as api, open_model_session(api, tmp_path, config) as session:
        await session.prompt()
        assert json_at(api.model_requests[0].body["messages"], 0, "role") == role


async def test_call_signatures_are_sent_back_and_other_models_calls_get_a_placeholder(
    tmp_path: Path,
) -> None:
    endpoint = OpenAiServerConfig(
        signs_calls=True, models=(ServedModel("gemini-3-pro", can_reason=True),)
    )
    config = ModelSessionConfig(model="gemini-3-pro", profile=EndpointProfile(signs_calls=True))
    script = [*SCRIPT[:1], "Done."]
    async with (
        openai_api(script, endpoint) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert [ask.verdict for ask in api.model_requests] == ["answered", "answered"]
        session.session.context.conversation.rebuild(
            [
                replace(
                    message,
                    parts=tuple(p for p in message.parts if isinstance(p, ToolCall)),
                )
                if isinstance(message, AssistantMessage)
                and any(isinstance(p, ToolCall) for p in message.parts)
                else message
                for message in session.history()
            ]
        )
        api.add("Yes.")
        assert await session.prompt("still there?") == "end_turn"
        assert "skip_thought_signature_validator" in str(api.model_requests[-1].body)


@pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=lambda api: api.path)
def test_each_rejection_names_a_feature(api: OpenAiApi) -> None:
    features = {value for value in vars(endpoint_profile).values() if isinstance(value, str)}
    assert set(api.rejections.values()) <= features
