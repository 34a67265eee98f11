"""Thinking blocks that come back: where they were, as they were, behind what they were behind."""

from collections.abc import Callable
from contextlib import suppress
from typing import cast

import anthropic
import pytest
from pydantic import JsonValue

from tests.messages_api.clients import (
    NEW,
    NEWEST,
    OLD,
    TOOL,
    Object,
    SdkConversation,
    open_api_and_client,
    text,
    user,
)
from tests.support.messages_api import (
    CallTool,
    MessagesServerConfig,
    ThinkRedacted,
    call,
    reply,
    say,
    think,
)

BETA = "thinking-binding-controls-2026-08-01"
INVALID = "Invalid `signature` in `thinking` block"
BOUND = (
    f"{INVALID}. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    f"`{BETA}` value in the `anthropic-beta` header. "
)
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
SUMMARIZED: JsonValue = {"type": "adaptive", "display": "summarized"}
WITH_A_BUDGET: Object = {"model": OLD, "thinking": {"type": "enabled", "budget_tokens": 1024}}

TWO_TURNS = [
    reply(think("One."), "First."),
    reply(think("Two."), "Second."),
    reply("Third."),
]
Edit = Callable[[SdkConversation], object]


def _blocks(chat: SdkConversation, index: int) -> list[JsonValue]:
    message = cast("Object", chat.messages[index])
    return cast("list[JsonValue]", message["content"])


def _block(chat: SdkConversation, index: int, position: int) -> Object:
    return cast("Object", _blocks(chat, index)[position])


async def _refusal_after(
    edit: Edit, fields: Object | None = None, endpoint: MessagesServerConfig | None = None
) -> str | None:
    """Return why the third request of a talk is refused, whose history was edited before."""
    defaults: Object = {"system": "Be brief.", "tools": [TOOL], "thinking": SUMMARIZED}
    async with open_api_and_client(TWO_TURNS, endpoint) as (api, client):
        chat = SdkConversation(client, {**defaults, **(fields or {})})
        await chat.send_user_message(text("a"), text("b"))
        await chat.send_user_message("c")
        chat.messages.append(user("d"))
        edit(chat)
        with suppress(anthropic.BadRequestError):
            await chat.send()
        return api.model_requests[-1].message or None


def _nothing(_: SdkConversation) -> None:
    pass


def _mark(chat: SdkConversation) -> None:
    mark: JsonValue = {"type": "ephemeral"}
    _block(chat, 0, 1)["cache_control"] = mark
    chat.body["system"] = [text("Be brief.", cache_control=mark)]
    chat.body["tools"] = [{**TOOL, "cache_control": mark}]


def _remove_leading_thinking(chat: SdkConversation) -> None:
    del _blocks(chat, 1)[0]


def _remove_all_thinking(chat: SdkConversation) -> None:
    del _blocks(chat, 1)[0]
    del _blocks(chat, 3)[0]


def _ask_for_other_things(chat: SdkConversation) -> None:
    chat.body |= {"max_tokens": 9, "output_config": {"effort": "low"}, "metadata": {}}
    chat.body |= {"thinking": {"type": "adaptive"}, "tool_choice": {"type": "none"}}


def _write_text_as_string(chat: SdkConversation) -> None:
    chat.messages[4] = user(text("d"))
    chat.messages[2] = {"content": [text("c")], "role": "user"}


@pytest.mark.parametrize(
    "edit",
    [
        _nothing,
        _mark,
        _remove_leading_thinking,
        _remove_all_thinking,
        _ask_for_other_things,
        _write_text_as_string,
    ],
)
async def test_harmless_changes_keep_thinking_valid(edit: Edit) -> None:
    assert await _refusal_after(edit) is None


def _edit_first_message(chat: SdkConversation) -> None:
    _block(chat, 0, 1)["text"] = "B"


def _remove_part_of_a_message(chat: SdkConversation) -> None:
    del _blocks(chat, 0)[1]


def _add_to_a_message(chat: SdkConversation) -> None:
    chat.messages[2] = user(text("c"), text("and hurry"))


def _edit_an_answer(chat: SdkConversation) -> None:
    _block(chat, 1, 1)["text"] = "Foist."


def _drop_the_first_turn(chat: SdkConversation) -> None:
    del chat.messages[:2]


def _change_system(chat: SdkConversation) -> None:
    chat.body["system"] = "Be brief!"


def _add_a_tool(chat: SdkConversation) -> None:
    chat.body["tools"] = [TOOL, {**TOOL, "name": "write_file"}]


def _reorder_a_schema(chat: SdkConversation) -> None:
    schema: JsonValue = {"properties": {}, "type": "object"}
    chat.body["tools"] = [{**TOOL, "input_schema": schema}]


def _first_at(path: str) -> str:
    return f"Content before this block differs from when it was created, first at `{path}`."


SYSTEM_DIFFERS = "The `system` prompt differs from the one this block was created with."
TOOLS_DIFFER = "The `tools` list differs from the one this block was created with."


@pytest.mark.parametrize(
    ("edit", "path", "difference"),
    [
        (_edit_first_message, "messages.1.content.0", _first_at("messages.0.content.1")),
        (_remove_part_of_a_message, "messages.1.content.0", _first_at("messages.0.content.1")),
        (_add_to_a_message, "messages.3.content.0", _first_at("messages.2.content.1")),
        (_edit_an_answer, "messages.3.content.0", _first_at("messages.1.content.1")),
        (_drop_the_first_turn, "messages.1.content.0", _first_at("messages.0.content.0")),
        (_change_system, "messages.1.content.0", SYSTEM_DIFFERS),
        (_add_a_tool, "messages.1.content.0", TOOLS_DIFFER),
        (_reorder_a_schema, "messages.1.content.0", TOOLS_DIFFER),
    ],
)
async def test_thinking_is_bound_to_the_preceding_content(
    edit: Edit, path: str, difference: str
) -> None:
    assert await _refusal_after(edit) == f"{path}: {BOUND}{difference}"


@pytest.mark.parametrize("model", ["claude-fable-5-2", "claude-sonnet-5-5", "claude-haiku-5-5"])
async def test_all_the_newest_models_bind_thinking(model: str) -> None:
    refused = await _refusal_after(_change_system, {"model": model})
    assert refused == f"messages.1.content.0: {BOUND}{SYSTEM_DIFFERS}"


@pytest.mark.parametrize(
    ("fields", "endpoint"),
    [
        ({"model": NEW}, None),
        (WITH_A_BUDGET, None),
        ({}, MessagesServerConfig(checks_prefixes=False)),
    ],
)
async def test_older_models_and_accounts_do_not_bind_thinking(
    fields: Object, endpoint: MessagesServerConfig | None
) -> None:
    assert await _refusal_after(_change_system, fields, endpoint) is None


async def test_thinking_must_not_be_removed_from_the_middle() -> None:
    script = [*TWO_TURNS[:2], reply(think("Three."), "Third."), reply("Fourth.")]
    async with open_api_and_client(script) as (api, client):
        chat = SdkConversation(client)
        for words in ("a", "b", "c"):
            await chat.send_user_message(words)
        del _blocks(chat, 3)[0]
        with pytest.raises(anthropic.BadRequestError):
            await chat.send_user_message("d")

        assert api.model_requests[-1].message == (
            f"messages.5.content.0: {BOUND}The `thinking` block that preceded this one when it was "
            "created is missing from this request."
        )


def _edit_thinking(chat: SdkConversation) -> None:
    _block(chat, 1, 0)["thinking"] = "Won."


def _edit_signature(chat: SdkConversation) -> None:
    _block(chat, 1, 0)["signature"] = "QUJD" + cast("str", _block(chat, 1, 0)["signature"])[4:]


def _replace_signature(chat: SdkConversation) -> None:
    _block(chat, 1, 0)["signature"] = "made up"


def _replace_signature_with_words(chat: SdkConversation) -> None:
    _block(chat, 1, 0)["signature"] = "gemacht für dich"


@pytest.mark.parametrize(
    "edit",
    [_edit_thinking, _edit_signature, _replace_signature, _replace_signature_with_words],
)
@pytest.mark.parametrize("model", [NEWEST, NEW, "claude-opus-4-6"])
async def test_thinking_must_not_be_edited(edit: Edit, model: str) -> None:
    assert await _refusal_after(edit, {"model": model}) == f"messages.1.content.0: {INVALID}"


CALLS = reply(
    think("One."), ThinkRedacted(), say("Let me see."), CallTool("read_file", {}, "toolu_1")
)
RESULT: Object = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}


async def _refusal_in_a_tool_loop(edit: Edit, fields: Object) -> str | None:
    async with open_api_and_client([CALLS, "Done."]) as (api, client):
        chat = SdkConversation(client, {"tools": [TOOL], **fields})
        await chat.send_user_message("a")
        chat.messages.append(user(RESULT))
        edit(chat)
        with suppress(anthropic.BadRequestError):
            await chat.send()
        return api.model_requests[-1].message or None


def _move_thinking_back(chat: SdkConversation) -> None:
    _blocks(chat, 1).insert(2, _blocks(chat, 1).pop(0))


def _remove_redacted(chat: SdkConversation) -> None:
    del _blocks(chat, 1)[1]


def _remove_thinking(chat: SdkConversation) -> None:
    del _blocks(chat, 1)[0]


def _remove_both(chat: SdkConversation) -> None:
    del _blocks(chat, 1)[:2]


@pytest.mark.parametrize(
    ("edit", "refused"),
    [
        (_nothing, None),
        (_edit_thinking, f"messages.1.content.0: {MODIFIED}"),
        (_move_thinking_back, f"messages.1.content.0: {MODIFIED}"),
        (_remove_redacted, f"messages.1.content.2: {MODIFIED}"),
        (_remove_thinking, f"messages.1.content.0: {MODIFIED}"),
        (_remove_both, None),
    ],
)
async def test_the_latest_answer_is_sent_back_complete_or_without_thinking(
    edit: Edit, refused: str | None
) -> None:
    assert await _refusal_in_a_tool_loop(edit, {"thinking": SUMMARIZED}) == refused


async def test_with_a_budget_the_latest_answer_must_start_with_thinking() -> None:
    refused = await _refusal_in_a_tool_loop(_remove_both, WITH_A_BUDGET)

    assert refused is not None
    assert refused.startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block"
    )


def _say_something_first(chat: SdkConversation) -> None:
    _blocks(chat, 1).insert(0, text("Well."))


async def test_with_a_budget_thinking_must_come_first() -> None:
    refused = await _refusal_in_a_tool_loop(_say_something_first, WITH_A_BUDGET)

    assert refused == (
        "messages.1.content.0: If an assistant message contains any thinking blocks, the first "
        "block must be `thinking` or `redacted_thinking`. Found `text`."
    )


async def test_thinking_between_calls_is_bound_to_the_calls() -> None:
    script = [
        reply(think("One."), CallTool("read_file", {"path": "a"}, "toolu_1")),
        reply(think("Two."), call("read_file", path="b")),
        "Done.",
    ]
    async with open_api_and_client(script) as (api, client):
        chat = SdkConversation(client, {"tools": [TOOL]})
        await chat.send_user_message("a")
        second = await chat.send_user_message(RESULT)
        called = second.content[1]
        assert called.type == "tool_use"
        _block(chat, 2, 0)["content"] = "changed"
        with pytest.raises(anthropic.BadRequestError):
            await chat.send_user_message({**RESULT, "tool_use_id": called.id})

        assert api.model_requests[-1].message == (
            f"messages.3.content.0: {BOUND}{_first_at('messages.2.content.0')}"
        )


async def test_a_message_in_the_middle_does_not_invalidate_earlier_content() -> None:
    async with open_api_and_client(TWO_TURNS) as (api, client):
        chat = SdkConversation(client)
        await chat.send_user_message("a")
        chat.messages.append(user("b"))
        chat.messages.append({"role": "system", "content": "It is Tuesday."})
        await chat.send()
        await chat.send_user_message("c")

        assert [each.verdict for each in api.model_requests] == ["answered"] * 3


async def test_blocks_after_a_change_can_be_dropped() -> None:
    thinking: JsonValue = {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    async with open_api_and_client(TWO_TURNS) as (api, client):
        chat = SdkConversation(client, {"system": "a", "thinking": thinking})
        for words in ("a", "b"):
            chat.messages.append(user(words))
            await chat.send({"anthropic-beta": BETA})
        chat.messages.append(user("c"))
        chat.body["system"] = "b"
        answer = await chat.send({"anthropic-beta": BETA})

        dropped: list[JsonValue] = [
            {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
            for path in ("messages.1.content.0", "messages.3.content.0")
        ]
        assert (answer.model_extra or {})["input_transformations"] == dropped
        assert [drop.as_json() for drop in api.model_requests[-1].dropped_thinking] == dropped


async def test_another_model_rejects_bound_thinking() -> None:
    async with open_api_and_client(TWO_TURNS) as (api, client):
        chat = SdkConversation(client)
        await chat.send_user_message("a")
        chat.body["model"] = NEW
        await chat.send_user_message("b")

        (dropped,) = api.model_requests[-1].dropped_thinking
        assert (dropped.path, dropped.reason) == ("messages.1.content.0", "model_binding_mismatch")


async def test_a_newer_model_accepts_older_thinking() -> None:
    async with open_api_and_client(TWO_TURNS) as (api, client):
        chat = SdkConversation(client, {"model": NEW})
        await chat.send_user_message("a")
        chat.body |= {"model": NEWEST, "system": "anything"}
        await chat.send_user_message("b")

        assert api.model_requests[-1].dropped_thinking == ()


async def test_a_paused_answer_is_sent_back_unchanged() -> None:
    async with open_api_and_client([reply("Wait.", stop="pause_turn"), "Done."]) as (api, client):
        chat = SdkConversation(client)
        await chat.send_user_message("a")
        await chat.send()

        assert [each.verdict for each in api.model_requests] == ["answered"] * 2
