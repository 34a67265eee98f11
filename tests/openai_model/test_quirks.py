"""The oddities of servers that speak chat completions: borne, or learned from what they refuse."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from acp_server.models.openai_compatible.endpoint_profile import Quirks
from acp_server.turn.conversation import AssistantMessage, ToolCall
from prompt_engine.context_windows import system_role
from tests.anthropic_model.model_session import Rules, check_history, open_desk
from tests.support.editor import at
from tests.support.messages_api import Reply, call, reply, say, think
from tests.support.openai_api import Endpoint, Listed, openai_api

SCRIPT = (
    reply(think("Hm, which?"), say("I look."), call("look", text="a"), call("note", text="b")),
    reply(think("And now?"), call("look", text="c")),
    "Done.",
)
ODD: dict[str, Endpoint] = {
    "calls without ids": Endpoint(gives_ids=False),
    "calls without indexes": Endpoint(gives_indexes=False),
    "calls without either": Endpoint(gives_ids=False, gives_indexes=False, arguments="whole"),
    "arguments in one piece": Endpoint(arguments="whole"),
    "arguments as objects": Endpoint(arguments="object"),
    "reasoning in another field": Endpoint(reasoning_field="reasoning"),
    "reasoning within the text": Endpoint(reasoning_field=None),
    "reasoning that must not come back": Endpoint(takes_reasoning=False),
    "reasoning that must come back": Endpoint(wants_reasoning=True),
    "usage with every chunk": Endpoint(usage="always"),
    "usage never": Endpoint(usage="never"),
    "no word for usage": Endpoint(refused_fields=frozenset({"stream_options"})),
    "no word for effort": Endpoint(refused_fields=frozenset({"reasoning_effort"})),
    "calls end with stop": Endpoint(finish={"tool_calls": "stop"}),
    "ends of its own": Endpoint(finish={"tool_calls": "tool_use", "stop": "eos"}),
    "ends without a word": Endpoint(finish={"tool_calls": None, "stop": None}),
    "ends without a mark": Endpoint(says_done=False),
    "one call at a time": Endpoint(takes_parallel_calls=False),
    "no developer": Endpoint(takes_developer=False),
    "no stream": Endpoint(streams=False),
    "no key": Endpoint(keys=None),
}


@pytest.mark.parametrize("name", ODD)
async def test_an_oddity_is_borne(tmp_path: Path, name: str) -> None:
    rules = Rules(quirks=Quirks(system_role=system_role))
    if ODD[name].keys is None:
        rules.api_key = None
    async with openai_api(SCRIPT, ODD[name]) as api, open_desk(api, tmp_path, rules) as desk:
        assert await desk.ask() == "end_turn"
        assert desk.said() == "I look.Done."
        assert desk.thoughts() == "Hm, which?And now?"
        assert [run.arguments for run in desk.tools.runs] == [
            '{"text": "a"}',
            '{"text": "b"}',
            '{"text": "c"}',
        ]
        refused = [ask.message for ask in api.asks if ask.verdict == "refused"]
        assert len(refused) <= 2, "it is learned, once"
        assert api.unplayed == 0
        check_history(desk.history())
        ids = [
            part.id
            for message in desk.history()
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, ToolCall)
        ]
        assert len(set(ids)) == 3, "no id stands for two calls"
        api.add("Again.")
        before = len(refused)
        assert await desk.ask("again") == "end_turn"
        assert len([ask for ask in api.asks if ask.verdict == "refused"]) == before


async def test_the_same_id_in_every_answer_is_made_another(tmp_path: Path) -> None:
    from tests.support.messages_api.script import Call  # noqa: PLC0415  the class beside `call`

    same = Reply((Call("look", {"text": "x"}, id="call_0"),), "tool_use")
    async with openai_api([same, same, "Done."]) as api, open_desk(api, tmp_path) as desk:
        assert await desk.ask() == "end_turn"
        assert [ask.verdict for ask in api.asks] == ["answered"] * 3
        shown = [at(each, "toolCallId") for each in desk.updates("tool_call")]
        assert len(set(map(str, shown))) == 2


@pytest.mark.parametrize("form", ["chat", "responses"])
@pytest.mark.parametrize("usage", ["never", "zero"])
async def test_usage_that_is_not_told_is_estimated(
    tmp_path: Path, form: Literal["chat", "responses"], usage: Literal["never", "zero"]
) -> None:
    endpoint = Endpoint(form=form, usage=usage)
    async with openai_api(["Hello."], endpoint) as api, open_desk(api, tmp_path) as desk:
        await desk.ask()
        assert int(str(at(desk.updates("usage_update")[-1], "used"))) > 2_000


@pytest.mark.parametrize(("model", "role"), [("gpt-5.1", "developer"), ("gpt-4.1", "system")])
async def test_the_system_text_has_the_role_that_the_model_wants(
    tmp_path: Path, model: str, role: str
) -> None:
    rules = Rules(model=model, quirks=Quirks(system_role=system_role))
    async with openai_api(["Hello."]) as api, open_desk(api, tmp_path, rules) as desk:
        await desk.ask()
        assert at(api.asks[0].body["messages"], 0, "role") == role


async def test_seals_of_calls_go_back_with_them_and_another_models_calls_get_a_stand_in(
    tmp_path: Path,
) -> None:
    endpoint = Endpoint(seals_calls=True, models=(Listed("gemini-3-pro", reasons=True),))
    rules = Rules(model="gemini-3-pro", quirks=Quirks(seals_calls=True))
    script = [*SCRIPT[:1], "Done."]
    async with openai_api(script, endpoint) as api, open_desk(api, tmp_path, rules) as desk:
        assert await desk.ask() == "end_turn"
        assert [ask.verdict for ask in api.asks] == ["answered", "answered"]
        desk.session.conversation.rebuild(
            [
                replace(
                    message,
                    parts=tuple(p for p in message.parts if isinstance(p, ToolCall)),
                )
                if isinstance(message, AssistantMessage)
                and any(isinstance(p, ToolCall) for p in message.parts)
                else message
                for message in desk.history()
            ]
        )
        api.add("Yes.")
        assert await desk.ask("still there?") == "end_turn"
        assert "skip_thought_signature_validator" in str(api.asks[-1].body)
