"""Requests that have not the shape of one, tools that could not be called, marks too many."""

import pytest
from pydantic import JsonValue

from tests.messages_api.clients import (
    OLD,
    TOOL,
    Object,
    assistant,
    cache_control_field,
    get_refusal,
    make_body,
    text,
    tool_result,
    tool_use,
    user,
)

EXTRA = "Extra inputs are not permitted"


def _tool(**fields: JsonValue) -> Object:
    return {**TOOL, **fields}


def _schema(**fields: JsonValue) -> Object:
    return {"tools": [_tool(input_schema=fields)]}


def _messages(*messages: JsonValue) -> Object:
    return {"messages": list(messages)}


SHAPES: list[tuple[Object, str]] = [
    ({"max_tokens": None}, "max_tokens: Field required"),
    ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
    ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
    ({"max_tokens": 0, "stream": True}, "max_tokens: Input should be greater than or equal to 1"),
    ({"messages": None}, "messages: Field required"),
    ({"messages": "hi"}, "messages: Input should be a valid list"),
    ({"messages": []}, "messages: at least one message is required"),
    ({"context_management": {}}, f"context_management: {EXTRA}"),
    ({"betas": []}, f"betas: {EXTRA}"),
    ({"stream": "yes"}, "stream: Input should be a valid boolean"),
    (
        _messages({"role": "tool", "content": "a"}),
        "messages.0.role: Input should be 'user', 'assistant' or 'system'",
    ),
    (_messages({"role": "user"}), "messages.0.content: Field required"),
    (_messages({**user("a"), "name": "b"}), f"messages.0.name: {EXTRA}"),
    (_messages(user({"text": "a"})), "messages.0.content.0.type: Field required"),
    (_messages(user({"type": "text"})), "messages.0.content.0.text.text: Field required"),
    (
        _messages(user({"type": "audio"})),
        (
            "messages.0.content.0: Input tag 'audio' found using 'type' does not match any of the "
            "expected tags: 'text', 'image', 'document', 'search_result', 'thinking', "
            "'redacted_thinking', 'tool_use', 'tool_result', 'server_tool_use', "
            "'web_search_tool_result'"
        ),
    ),
    (_messages(user(text("a", id=1))), f"messages.0.content.0.text.id: {EXTRA}"),
    (
        _messages(user("a"), assistant({"type": "thinking", "thinking": ""})),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    (
        _messages(user("a"), assistant(tool_use("a b"))),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        {"thinking": {"type": "deep"}},
        (
            "thinking: Input tag 'deep' found using 'type' does not match any of the expected "
            "tags: 'adaptive', 'enabled', 'disabled', 'between_tools'"
        ),
    ),
    (
        {"output_config": {"effort": "most"}},
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    ({"metadata": {"session": "1"}}, f"metadata.session: {EXTRA}"),
    (
        {"container": "container_1"},
        ("container: Container identifier can only be provided when using the code execution tool"),
    ),
]

TOOLS: list[tuple[Object, str]] = [
    ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field required"),
    ({"tools": [_tool(parameters={})]}, f"tools.0.custom.parameters: {EXTRA}"),
    (
        {"tools": [_tool(name="a.b")]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    (
        {"tools": [_tool(name="a" * 129)]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
    (_schema(), "tools.0.custom.input_schema.type: Field required"),
    (_schema(type="array"), "tools.0.custom.input_schema.type: Input should be 'object'"),
    (
        _schema(type="object", anyOf=[]),
        (
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at "
            "the top level"
        ),
    ),
    (
        _schema(type="object", required="a"),
        (
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft "
            "2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at "
            "https://docs.claude.com/en/docs/tool-use."
        ),
    ),
    (
        {"model": OLD, "tools": [TOOL], "tool_choice": {"type": "tool", "name": "b"}},
        "Tool 'b' not found in provided tools",
    ),
    (
        {"tool_choice": {"type": "auto"}},
        "tool_choice: `tool_choice` may only be specified while providing `tools`.",
    ),
    (
        _messages(user("a"), assistant(tool_use()), user(tool_result())),
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
    ),
]

MARKS: list[tuple[Object, str]] = [
    (
        _messages(user(*[text("a", **cache_control_field())] * 5)),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        {
            "tools": [_tool(**cache_control_field())],
            "system": [text("a", **cache_control_field())],
            "messages": [
                user(text("a", **cache_control_field()), text("a", **cache_control_field()))
            ],
            "cache_control": {"type": "ephemeral"},
        },
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        {
            "system": [text("a", **cache_control_field("5m"))],
            "messages": [user(text("a", **cache_control_field("1h")))],
        },
        (
            "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come "
            "after a ttl='5m' cache_control block. Note that blocks are processed in the following "
            "order: `tools`, `system`, `messages`."
        ),
    ),
    (
        _messages(user(text("", **cache_control_field()))),
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
    ),
    (
        {"system": [text("", **cache_control_field())]},
        "system.0.text: cache_control cannot be set for empty text blocks",
    ),
    (
        _messages(
            user("a"),
            assistant(
                {"type": "thinking", "thinking": "", "signature": "s", **cache_control_field()}
            ),
        ),
        f"messages.1.content.0.thinking.cache_control: {EXTRA}",
    ),
    (
        _messages(
            user("a"),
            assistant({"type": "redacted_thinking", "data": "s", **cache_control_field()}),
        ),
        f"messages.1.content.0.redacted_thinking.cache_control: {EXTRA}",
    ),
    (
        {"system": [text("a", cache_control={"type": "forever"})]},
        "system.0.cache_control.type: Input should be 'ephemeral'",
    ),
    (
        {"system": [text("a", **cache_control_field("1d"))]},
        "system.0.cache_control.ttl: Input should be '5m' or '1h'",
    ),
]


@pytest.mark.parametrize(("fields", "message"), SHAPES, ids=[shown for _, shown in SHAPES])
async def test_a_malformed_request_is_refused(fields: Object, message: str) -> None:
    assert await get_refusal({**_bare(fields), **_given(fields)}) == message


@pytest.mark.parametrize(("fields", "message"), TOOLS, ids=[shown for _, shown in TOOLS])
async def test_invalid_tools_are_refused(fields: Object, message: str) -> None:
    assert await get_refusal({**make_body(), **fields}) == message


@pytest.mark.parametrize(("fields", "message"), MARKS, ids=[shown for _, shown in MARKS])
async def test_cache_markers_are_limited_and_ordered(fields: Object, message: str) -> None:
    assert await get_refusal({**make_body(), **fields}) == message


def _bare(fields: Object) -> Object:
    """Return a request without the fields that are left out."""
    left_out = {name for name, value in fields.items() if value is None}
    return {name: value for name, value in make_body().items() if name not in left_out}


def _given(fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


@pytest.mark.parametrize(
    "fields",
    [
        {"system": ""},
        {"system": []},
        {"tools": []},
        {"tools": [_tool(name="a" * 128, description="", strict=True)]},
        {"tools": [_tool(**cache_control_field())], "cache_control": {"type": "ephemeral"}},
        {
            "system": [text("a", **cache_control_field("1h"))],
            "messages": [user(text("a", **cache_control_field("5m")))],
        },
        {"messages": [user("a"), user("b")]},
        {"messages": [user("a"), assistant("b"), assistant("c"), user("d")]},
        {"messages": [user(text("a", cache_control=None))]},
        {"metadata": {"user_id": "u"}, "service_tier": "auto", "stop_sequences": ["x"]},
        {"stream": False, "thinking": {"type": "adaptive", "display": None}},
        {"output_config": {"effort": "max"}},
        {"tools": [TOOL], "tool_choice": {"type": "none"}},
        {"tools": [TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ],
)
async def test_allowed_requests_are_answered(fields: Object) -> None:
    assert await get_refusal({**make_body(), **fields}) is None
