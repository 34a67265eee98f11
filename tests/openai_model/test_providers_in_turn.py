"""One conversation, several providers: each strict endpoint takes what the others have said."""

from pathlib import Path

import pytest

from acp_server.session.user_notices import MODEL_SWITCHED
from tests.anthropic_model.model_session import HOST, check_history
from tests.openai_model.two_providers import TwoProviders, open_two_providers
from tests.support.editor import json_at
from tests.support.messages_api import ScriptedReply, call, reply, say, think

TURN = reply(think("I think of it."), say("I look."), call("look", text="x"))


def script() -> list[str | ScriptedReply]:
    """Return a turn with thinking, text, a call and its end."""
    return [TURN, "Done."]


@pytest.mark.parametrize("form", ["chat", "responses"])
async def test_a_conversation_can_switch_from_claude_to_another_provider_and_back(
    tmp_path: Path, form: str
) -> None:
    async with open_two_providers(
        tmp_path, form, claude=script() * 2, other=script() * 2
    ) as providers:
        for model in ("claude-opus-5-5", "other:gpt-5.1", "claude-opus-5-5", "other:gpt-5.1"):
            await providers.select_model(model)
            assert await providers.session.prompt() == "end_turn"
        _check_answered(providers)
        assert all("claude" not in str(ask.headers) for ask in providers.other.model_requests)
        check_history(providers.session.history())


async def test_switching_reports_lost_reasoning_once(tmp_path: Path) -> None:
    async with open_two_providers(tmp_path, "chat", claude=script(), other=["Hello."]) as providers:
        await providers.session.prompt()
        assert providers.session.notices() == []
        await providers.select_model("other:gpt-5.1")
        await providers.session.prompt()
        notices = [notice for notice in providers.session.notices() if "gpt-5.1" in notice]
        assert notices == [MODEL_SWITCHED.format(model="other:gpt-5.1")]


async def test_the_models_of_all_providers_are_offered(tmp_path: Path) -> None:
    async with open_two_providers(tmp_path, "chat", claude=["Hello."], other=[]) as providers:
        await providers.session.prompt()
        await providers.session.editor.wait_for_response(
            lambda _: "other:gpt-4.1" in str(providers.session.editor.messages)
        )
        options = providers.session.session.context.options.options
        model = next(option for option in options if option.id == "model")
        values = {choice.value: choice.name for choice in model.values}
        assert values["claude-opus-5-5"] == "Claude Opus 5.5"
        assert values["other:gpt-5.1"] == "gpt-5.1 (other)"


async def test_a_key_is_sent_only_to_its_own_endpoint(tmp_path: Path) -> None:
    async with open_two_providers(tmp_path, "chat", claude=script(), other=script()) as providers:
        await providers.session.prompt()
        await providers.select_model("other:gpt-5.1")
        await providers.session.prompt()
        _check_answered(providers)  # each refuses the other's key


def _check_answered(providers: TwoProviders) -> None:
    for api in (providers.claude, providers.other):
        assert api.model_requests
        assert [ask.message for ask in api.model_requests if ask.verdict != "answered"] == []
    assert json_at(providers.session.updates("usage_update")[-1], "size")
    assert HOST in providers.other.url
