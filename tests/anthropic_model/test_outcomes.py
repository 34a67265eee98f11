"""How turns end over the wire, what they used, and what they cost."""

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.models.families import family_for
from tests.anthropic_model.model_session import MODEL, ModelSessionConfig, open_model_session
from tests.support.editor import json_at
from tests.support.messages_api import (
    CallTool,
    FakeApiServer,
    HoldUntilGate,
    ResponseGate,
    ScriptedReply,
    ScriptedTurn,
    call,
    messages_api,
    reply,
    say,
    think,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import NOT_VALID_JSON

STOPS: dict[str, tuple[list[ScriptedTurn], str]] = {
    "end_turn": (["Done."], "end_turn"),
    "stop_sequence": ([reply("Done.", stop="stop_sequence", stop_sequence="x")], "end_turn"),
    "max_tokens": ([reply("Do", stop="max_tokens")] * 3, "max_tokens"),
    "a full window": ([reply("Do", stop="model_context_window_exceeded")] * 3, "max_tokens"),
    "refusal": ([reply("No", stop="refusal", refused_category="cyber")], "refusal"),
    "a refusal without a word": ([reply(stop="refusal")], "refusal"),
    "nothing said": ([reply()] * 2, "end_turn"),
    "only a thought": ([reply(think("Hm."))] * 2, "end_turn"),
    "a pause": ([reply("Do", stop="pause_turn"), "ne."], "end_turn"),
    "calls": ([reply(call("look")), reply(call("note")), "Done."], "end_turn"),
    "too many calls": ([reply(call("look"))] * 3, "max_turn_requests"),
}


@pytest.mark.parametrize("name", STOPS)
async def test_a_turn_has_the_stop_reason_of_its_model(tmp_path: Path, name: str) -> None:
    script, reason = STOPS[name]
    config = ModelSessionConfig(max_turn_requests=3)
    async with messages_api(script) as api, open_model_session(api, tmp_path, config) as session:
        assert await session.prompt() == reason
        assert api.remaining_turns == 0
        api.add("And on.")
        assert await session.prompt("more") == "end_turn"
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * (len(script) + 1)


async def test_a_cancelled_turn_has_the_stop_reason_cancelled(tmp_path: Path) -> None:
    paused = reply("Hello.", faults=[HoldUntilGate(4, ResponseGate())])
    async with messages_api([paused]) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        await session.wait_until_translated(4)
        session.cancel()
        assert json_at(await pending.response(), "result", "stopReason") == "cancelled"


async def test_tool_calls_cut_off_by_the_token_limit_are_not_run(tmp_path: Path) -> None:
    cut = ScriptedReply(
        (CallTool("note", {"text": "a"}, raw_arguments='{"text": "a'),), stop_reason="max_tokens"
    )
    async with messages_api([cut, "Done."]) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert session.tools.target_subcommands == []
        assert json_at(session.updates("tool_call_update")[-1], "status") == "failed"


async def test_malformed_arguments_are_reported_to_the_model_and_not_run(tmp_path: Path) -> None:
    wrong = ScriptedReply(
        (CallTool("note", {}, raw_arguments='{"text": "a'),), stop_reason="tool_use"
    )
    async with messages_api([wrong, "Sorry."]) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert session.tools.target_subcommands == []
        assert NOT_VALID_JSON in str(api.model_requests[1].body["messages"])


async def test_the_usage_of_a_turn_is_the_usage_the_endpoint_reported(tmp_path: Path) -> None:
    script = [
        reply(think("Hm."), say("I look."), call("look", text="a")),
        reply(say("And again."), call("look", text="b")),
        "Done.",
        "You are welcome.",
    ]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        for asks in (3, 1):
            response = await session.start_prompt("thanks").response()
            used = json_at(response["result"], "_meta", "hermes", "usage")
            assert isinstance(used, dict)
            assert used.pop("costUsd") == pytest.approx(cost_of(api, asks))
            assert used == expected_usage(api, asks)
            assert int(str(used["cacheReadTokens"])) > 0
        shown = session.updates("usage_update")
        assert len(shown) == 4
        last = api.model_requests[-1].usage
        assert last is not None
        total = last.input.uncached + last.input.read + last.input.written + last.output
        assert json_at(shown[-1], "used") == total
        assert json_at(shown[-1], "size") == 1_000_000
        assert json_at(shown[-1], "cost", "currency") == "USD"
        amount = json_at(shown[-1], "cost", "amount")
        assert amount == pytest.approx(cost_of(api, 4))


async def test_a_one_hour_cache_is_read_after_ten_minutes_and_costs_more(
    tmp_path: Path,
) -> None:
    config = ModelSessionConfig(cache_ttl="1h")
    async with (
        messages_api(["Done.", "And done."]) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        for _ in range(2):
            response = await session.start_prompt().response()
            used = json_at(response["result"], "_meta", "hermes", "usage")
            assert json_at(used, "costUsd") == pytest.approx(cost_of(api, 1))
            api.advance_time(600)
        first, second = (ask.usage for ask in api.model_requests)
        assert first is not None
        assert second is not None
        assert (first.input.written_5m, second.input.written_5m) == (0, 0)
        assert first.input.written_1h == second.input.read > 0


def expected_usage(api: FakeApiServer, count: int) -> JsonValue:
    """Return what the last calls used, as the server under test tells it."""
    usages = [ask.usage for ask in api.model_requests[-count:] if ask.usage is not None]
    return {
        "requests": count,
        "inputTokens": sum(usage.input.uncached for usage in usages),
        "outputTokens": sum(usage.output for usage in usages),
        "cacheReadTokens": sum(usage.input.read for usage in usages),
        "cacheWriteTokens": sum(usage.input.written for usage in usages),
    }


def cost_of(api: FakeApiServer, count: int) -> float:
    """Return what the last calls cost, by the price of the model."""
    price = family_for(MODEL).price
    assert price is not None
    cost = 0.0
    for usage in [ask.usage for ask in api.model_requests[-count:]]:
        assert usage is not None
        cost += usage.input.uncached * price.input_usd + usage.output * price.output_usd
        cost += usage.input.read * price.cache_read_usd
        cost += usage.input.written_5m * price.cache_write_5m_usd
        cost += usage.input.written_1h * price.cache_write_1h_usd
    return cost / 1e6


async def test_the_model_can_be_switched_mid_session(tmp_path: Path) -> None:
    """Thinking of the former model may stand in the history."""
    script = [
        reply(think("Hm."), say("One."), call("look", text="a")),
        "One more.",
        reply(think("Hm?"), say("Two.")),
        "Three.",
    ]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        for model in ("claude-fable-5-2", "claude-haiku-4-5-20251001"):
            await session.editor.wait_for_response(
                lambda _message: bool(session.updates("config_option_update"))
            )
            response = await session.editor.call(
                "session/set_config_option",
                {"sessionId": session.session_id, "configId": "model", "value": model},
            )
            assert "result" in response, response
            assert await session.prompt() == "end_turn"
        assert [ask.body["model"] for ask in api.model_requests] == [
            MODEL,
            MODEL,
            "claude-fable-5-2",
            "claude-haiku-4-5-20251001",
        ]
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 4


@pytest.mark.parametrize(
    ("turns", "share"), [(15, 0.85), pytest.param(50, 0.95, marks=pytest.mark.full)]
)
async def test_many_turns_read_nearly_all_input_from_the_cache(
    tmp_path: Path, turns: int, share: float
) -> None:
    def respond(_ask: object) -> ScriptedReply:
        return reply(think("Hm."), say("I say something of a certain length. " * 5))

    async with messages_api(respond) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            for _ in range(turns):
                await session.prompt("And then? " * 5)
        inputs = [ask.usage.input for ask in api.model_requests if ask.usage]
        read = sum(each.read for each in inputs)
        total = sum(each.read + each.written + each.uncached for each in inputs)
        assert read / total > share
