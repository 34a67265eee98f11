"""Conversations that are none, and what a model does not take."""

import pytest
from pydantic import JsonValue

from tests.messages_api.clients import (
    NEW,
    NEWEST,
    OLD,
    TOOL,
    Object,
    assistant,
    get_refusal,
    make_body,
    system,
    text,
    tool_result,
    tool_use,
    user,
)
from tests.support.messages_api import OLD_VERSION, VERSION, MessagesServerConfig

MISSING = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNEXPECTED = (
    "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` "
    "block must have a corresponding `tool_use` block in the previous message."
)
DIRECTIVE = "; the directive-only form (content: [] with output_config) is accepted at any position"
FOLLOWS = (
    "messages.{}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
    f"server tool result{DIRECTIVE}"
)
PRECEDES = (
    f"messages.{{}}: role 'system' must precede an 'assistant' message or end the array{DIRECTIVE}"
)
PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user "
    "message."
)
IMAGE: Object = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}
THINKING: Object = {"type": "thinking", "thinking": "", "signature": "s"}

MESSAGES: list[tuple[list[JsonValue], str]] = [
    ([assistant("a"), user("b")], 'messages: first message must use the "user" role'),
    ([user("")], "messages.0: user messages must have non-empty content"),
    ([user()], "messages.0: user messages must have non-empty content"),
    (
        [user("a"), assistant(""), user("b")],
        (
            "messages.1: all messages must have non-empty content except for the optional final "
            "assistant message"
        ),
    ),
    ([user(text(""))], "messages: text content blocks must be non-empty"),
    ([user(" \n")], "messages: text content blocks must contain non-whitespace text"),
    (
        [user("a"), assistant(text(" ")), user("b")],
        "messages: text content blocks must contain non-whitespace text",
    ),
    (
        [user("a"), assistant(tool_use()), user(tool_result(content=[text("")]))],
        "messages: text content blocks must be non-empty",
    ),
    (
        [user(tool_use())],
        "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    (
        [user("a"), assistant(tool_result())],
        "messages.1.content.0: `tool_result` blocks can only be in `user` messages",
    ),
    (
        [user("a"), assistant(IMAGE), user("b")],
        "messages.1.content.0: `image` blocks can only be in `user` messages",
    ),
    ([user(THINKING)], "messages.0.content: thinking blocks may only be in `assistant` messages"),
    ([user("a"), assistant(tool_use())], MISSING.format("toolu_1")),
    ([user("a"), assistant(tool_use()), user("b")], MISSING.format("toolu_1")),
    ([user("a"), assistant(tool_use()), user(text("b"), tool_result())], MISSING.format("toolu_1")),
    ([user("a"), assistant(tool_use()), user("b"), user(tool_result())], MISSING.format("toolu_1")),
    (
        [user("a"), assistant(tool_use()), assistant("b"), user(tool_result())],
        MISSING.format("toolu_1"),
    ),
    (
        [user("a"), assistant(tool_use("a"), tool_use("b"), tool_use("c")), user(tool_result("b"))],
        MISSING.format("a, c"),
    ),
    (
        [user("a"), assistant(tool_use()), user(tool_result(), text("b"), tool_result())],
        (
            "messages.2.content.2: each tool_use must have a single result. Found multiple "
            "`tool_result` blocks with id: toolu_1"
        ),
    ),
    ([user(tool_result())], UNEXPECTED.format("0.content.0", "toolu_1")),
    (
        [user("a"), assistant(tool_use()), user(tool_result(), tool_result("toolu_2"))],
        UNEXPECTED.format("2.content.1", "toolu_2"),
    ),
    (
        [user("a"), assistant(tool_use(), tool_use()), user(tool_result())],
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    (
        [
            user("a"),
            assistant(tool_use()),
            user(tool_result()),
            assistant(tool_use()),
            user(tool_result()),
        ],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    (
        [system("a"), user("b")],
        (
            "messages.0: use the top-level 'system' parameter for the initial system prompt"
            + DIRECTIVE
        ),
    ),
    ([user("a"), assistant("b"), system("c"), user("d")], FOLLOWS.format(2)),
    ([user("a"), system("b"), system("c"), user("d")], PRECEDES.format(2)),
    ([user("a"), system("")], "messages.1: system content must contain at least one block"),
    (
        [user("a"), system(IMAGE)],
        "messages.1: role 'system' supports text, tool_addition, and tool_removal blocks only",
    ),
    ([user("a"), assistant("b")], PREFILL),
    ([user("a"), assistant("")], PREFILL),
]


@pytest.mark.parametrize(("messages", "message"), MESSAGES, ids=[shown for _, shown in MESSAGES])
async def test_an_invalid_conversation_is_refused(messages: list[JsonValue], message: str) -> None:
    assert await get_refusal(make_body(tools=[TOOL], messages=messages)) == message


@pytest.mark.parametrize(
    "messages",
    [
        [user("a"), system("b")],
        [user("a"), system("b"), system("c"), assistant("d"), user("e")],
        [user("a"), assistant(tool_use()), user(tool_result(), text("b"))],
        [user("a"), assistant(tool_use()), user(tool_result(content="")), system("b")],
        [
            user("a"),
            assistant(tool_use()),
            user(tool_result(content=[text("b"), IMAGE], is_error=True)),
        ],
        [
            user("a"),
            assistant(tool_use("a"), tool_use("b")),
            user(tool_result("b"), tool_result("a")),
        ],
        [user(IMAGE, text("a"))],
    ],
)
async def test_a_valid_conversation_is_answered(messages: list[JsonValue]) -> None:
    assert await get_refusal(make_body(tools=[TOOL], messages=messages)) is None


async def test_a_system_text_must_not_be_blank() -> None:
    assert await get_refusal(make_body(system=" ")) == (
        "system: text content blocks must contain non-whitespace text"
    )


async def test_older_models_accept_prefill_without_trailing_whitespace() -> None:
    good = make_body(OLD, messages=[user("a"), assistant("{")])
    bad = make_body(OLD, messages=[user("a"), assistant("{ ")])

    assert await get_refusal(good) is None
    assert await get_refusal(bad) == (
        "messages: final assistant content cannot end with trailing whitespace"
    )


async def test_a_leading_assistant_message_is_accepted_if_the_endpoint_allows_it() -> None:
    body = make_body(messages=[assistant("a"), user("b")])
    assert (
        await get_refusal(body, endpoint=MessagesServerConfig(takes_leading_assistant=True)) is None
    )


async def test_assistant_documents_are_accepted_only_by_the_old_api_version() -> None:
    document: JsonValue = {"type": "document", "source": {"type": "text", "data": "a"}}
    body = make_body(messages=[user("a"), assistant(document), user("b")])

    assert await get_refusal(body, version=OLD_VERSION) is None
    assert await get_refusal(body) == (
        "messages.1.content.0: `document` blocks can only be in `user` messages"
    )


async def test_user_citations_are_accepted_only_by_the_old_api_version() -> None:
    cited = text("a", citations=[{"type": "char_location"}])
    body = make_body(messages=[user(cited)])

    assert await get_refusal(body, version=OLD_VERSION) is None
    assert await get_refusal(body) == (
        "messages.0.content.0.text.citations: citations are not permitted in `user` messages"
    )


SONNET_5_5 = "claude-sonnet-5-5"
CONTROL = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
UNFORCED = 'tool_choice: type "tool" and "any" are not supported for this model.'
GUIDE = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

MODELS: list[tuple[str, Object, str]] = [
    (
        NEWEST,
        {"max_tokens": 128_001},
        (
            "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for "
            "claude-opus-5-5"
        ),
    ),
    (
        OLD,
        {"max_tokens": 64_001},
        (
            "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for "
            "claude-haiku-4-5"
        ),
    ),
    (
        NEWEST,
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        f'"thinking.type.enabled" is not supported for this model. {CONTROL}',
    ),
    (
        NEWEST,
        {"thinking": {"type": "disabled"}},
        f'"thinking.type.disabled" is not supported for this model. {CONTROL}',
    ),
    (
        SONNET_5_5,
        {"thinking": {"type": "disabled"}},
        (
            'To turn thinking off on this model, send "thinking": {"type": "between_tools"} '
            'instead of {"type": "disabled"}. The model does not think before responding. The '
            "short updates it writes between tool calls come back as thinking blocks."
        ),
    ),
    (
        SONNET_5_5,
        {"thinking": {"type": "between_tools", "display": "omitted"}},
        "thinking.between_tools.display: Extra inputs are not permitted",
    ),
    (
        SONNET_5_5,
        {"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}},
        (
            '"thinking.type.between_tools" is not supported with effort "max" on this model. Use '
            'effort "high" or lower.'
        ),
    ),
    (
        NEW,
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "xhigh"}},
        (
            '"thinking.type.disabled" is not supported with effort "xhigh" on this model. Use '
            'effort "high" or lower.'
        ),
    ),
    (OLD, {"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model"),
    (
        OLD,
        {"thinking": {"type": "enabled", "budget_tokens": 1023}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    (
        OLD,
        {"thinking": {"type": "enabled", "budget_tokens": 2_000}},
        (
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            f"documentation at {GUIDE}#max-tokens-and-context-window-size"
        ),
    ),
    (
        OLD,
        {"output_config": {"effort": "low"}},
        "This model does not support the effort parameter.",
    ),
    (
        "claude-opus-4-5",
        {"output_config": {"effort": "max"}},
        "output_config.effort: effort 'max' is not supported on this model",
    ),
    (NEWEST, {"tools": [TOOL], "tool_choice": {"type": "any"}}, UNFORCED),
    (NEWEST, {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "read_file"}}, UNFORCED),
    (
        OLD,
        {
            "tools": [TOOL],
            "tool_choice": {"type": "any"},
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        "claude-sonnet-5",
        {"messages": [user("a"), system("b")]},
        "messages.1: role 'system' is not supported on this model",
    ),
    ("claude-opus-4-6", {"messages": [user("a"), assistant("b")]}, PREFILL),
    (
        NEWEST,
        {"thinking": {"type": "adaptive", "block_binding": {}}},
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    (NEWEST, {"temperature": 1}, "temperature: Extra inputs are not permitted"),
    (OLD, {"top_p": 0.5}, "top_p: Extra inputs are not permitted"),
    (OLD, {"top_k": 5}, "top_k: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(
    ("model", "fields", "message"),
    MODELS,
    ids=[f"{model}: {shown}" for model, _, shown in MODELS],
)
async def test_fields_a_model_does_not_support_are_refused(
    model: str, fields: Object, message: str
) -> None:
    assert await get_refusal({**make_body(model), **fields}) == message


TEMPERATURE = (
    "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please "
    f"consult our documentation at {GUIDE}#important-considerations-when-using-extended-thinking"
)


@pytest.mark.parametrize(
    ("model", "fields", "message"),
    [
        (NEWEST, {"temperature": 1}, None),
        (NEWEST, {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        ("claude-opus-4-7", {"top_p": 0.9}, "`top_p` is deprecated for this model."),
        (NEW, {"top_k": 9}, "`top_k` is deprecated for this model."),
        ("claude-opus-4-6", {"temperature": 0.5}, None),
        ("claude-opus-4-6", {"temperature": 0.5, "thinking": {"type": "adaptive"}}, TEMPERATURE),
        (OLD, {"temperature": 0, "thinking": {"type": "disabled"}}, None),
        (OLD, {"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
        (
            OLD,
            {"temperature": 0.5, "thinking": {"type": "enabled", "budget_tokens": 1024}},
            TEMPERATURE,
        ),
        (
            OLD,
            {"temperature": 0.5, "top_p": 0.5},
            (
                "`temperature` and `top_p` cannot both be specified for this model. Please use "
                "only one."
            ),
        ),
    ],
)
async def test_the_old_api_version_accepts_sampling_if_the_model_does(
    model: str, fields: Object, message: str | None
) -> None:
    assert await get_refusal({**make_body(model), **fields}, version=OLD_VERSION) == message


async def test_the_two_api_versions_differ() -> None:
    assert OLD_VERSION != VERSION
    assert await get_refusal(make_body(OLD, temperature=0.5), version=VERSION) is not None
    assert await get_refusal(make_body(OLD, temperature=0.5), version=OLD_VERSION) is None
