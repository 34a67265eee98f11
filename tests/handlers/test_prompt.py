"""A prompt: what may be in it, what is shown of its answer, and commands, which need no model."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Link,
    Media,
    Text,
    Thinking,
    UserMessage,
)
from acp_server.turn.ports import ModelRequest, ModelStop, ReceiveEvent, TextDelta
from acp_server.version import __version__
from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import Object, prompt_params
from tests.support.server_parts import make_registry
from tests.support.user_texts import SHOW_VERSION


def text(words: str) -> JsonValue:
    return {"type": "text", "text": words}


async def test_all_updates_of_a_turn_arrive_in_order_before_its_response(tmp_path: Path) -> None:
    """Trap 1, ACP-PROMPT, ACP-TRANSPORT: a thought, then a message, each with an id of its own."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        assert await editor.prompt(session, "think") == expected.END_TURN
        assert expected.shorten_ids(list(editor.messages[3:])) == [
            expected.session_update("sess_1", expected.thought_chunk("msg_1", "Hmm.")),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "Hello ")),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "there.")),
            expected.result_response(3, expected.END_TURN),
        ]


async def test_updates_precede_the_response_even_if_the_client_pauses_reading(
    tmp_path: Path,
) -> None:
    """Trap 1: a full queue holds the turn up, and nothing overtakes."""
    script = "prompt: *\nchunks: 200 abcdefghij"
    async with open_checked_editor(
        make_scripted_registry(tmp_path, script), capacity_bytes=1000
    ) as editor:
        session = await editor.new_session(tmp_path)
        editor.stop_reading()
        pending = editor.start_prompt(session, "go")
        await editor.wait_until_full()
        editor.resume_reading()
        assert await pending.response() == expected.result_response(3, expected.END_TURN)
        assert editor.messages[-1] == expected.result_response(3, expected.END_TURN)
        assert editor.agent_text(session) == "abcdefghij" * 200


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal"])
async def test_the_response_contains_the_stop_reason_of_the_model(
    tmp_path: Path, stop: str
) -> None:
    """ACP-PROMPT."""
    async with open_checked_editor(
        make_scripted_registry(tmp_path, f"prompt: *\nstop: {stop}")
    ) as editor:
        session = await editor.new_session(tmp_path)
        assert await editor.prompt(session, "go") == {"stopReason": stop}


async def test_each_turn_sees_the_earlier_messages(tmp_path: Path) -> None:
    """ACP-PROMPT."""
    registry = make_scripted_registry(tmp_path)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "think")
        await editor.prompt(session, [text("two"), text("parts")])
        assert list(registry.find(session).context.conversation) == [
            UserMessage((Text("think"),)),
            AssistantMessage((Thinking("Hmm."), Text("Hello there."))),
            UserMessage((Text("two"), Text("parts"))),
            AssistantMessage((Text("Hello."),)),
        ]


async def test_resource_links_are_part_of_the_prompt_and_their_uris_are_unchanged() -> None:
    """Trap 13, ACP-PROMPTCAP: text and resource_link are always accepted."""
    uri = "file:///srv/a%20b/%E6%97%A5.py#L10-20"
    link: JsonValue = {"type": "resource_link", "uri": uri, "name": "日.py", "size": 5}
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        assert await editor.prompt(session, [text("Look at"), link]) == expected.END_TURN
        assert editor.agent_text(session) == f"Look at\n[日.py]({uri})"
        assert next(iter(registry.find(session).context.conversation)) == UserMessage(
            (Text("Look at"), Link(uri, "日.py"))
        )


ONLY = "only image/png, image/jpeg, image/gif, image/webp"


@pytest.mark.parametrize(
    "image",
    [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {
            "type": "resource",
            "resource": {"uri": "file:///a.png", "blob": "aGk=", "mimeType": "image/png"},
        },
    ],
    ids=["image", "resource"],
)
async def test_an_image_is_part_of_the_prompt(image: JsonValue) -> None:
    """ACP-PROMPTCAP: image."""
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        assert await editor.prompt(session, [text("What is it?"), image]) == expected.END_TURN
        assert next(iter(registry.find(session).context.conversation)) == UserMessage(
            (Text("What is it?"), Media("image/png", "aGk="))
        )


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            "a block of type 'audio' is not accepted",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "blob": "aGk="}},
            f"'bytes of no type' is not accepted, {ONLY}",
        ),
        (
            {"type": "image", "data": "aGk=", "mimeType": "image/tiff"},
            f"'image/tiff' is not accepted, {ONLY}",
        ),
        (
            {"type": "image", "data": "a", "mimeType": "image/png"},
            "the image is not valid base64",
        ),
        (
            {"type": "image", "data": "A" * 5_000_001, "mimeType": "image/png"},
            "an image may have at most 5,000,000 characters of base64",
        ),
    ],
    ids=["sound", "bytes", "another image", "no base64", "too large"],
)
async def test_an_unsupported_content_block_is_refused(block: Object, problem: str) -> None:
    """ACP-PROMPTCAP, Trap 11."""
    reason = f"prompt.1: {problem}; see this agent's promptCapabilities"
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        answer = await editor.call("session/prompt", prompt_params(session, [text("hi"), block]))
        assert answer == expected.invalid_params(3, reason)
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert editor.agent_text(session) == "hi"


async def test_an_embedded_text_resource_is_part_of_the_prompt_and_keeps_its_uri() -> None:
    """Trap 13, ACP-PROMPTCAP: embeddedContext."""
    uri = "file:///srv/a%20b.py#L10-20"
    resource: JsonValue = {"uri": uri, "text": "x = 1\n", "mimeType": "text/x-python"}
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        blocks: list[JsonValue] = [text("Look at"), {"type": "resource", "resource": resource}]
        assert await editor.prompt(session, blocks) == expected.END_TURN
        assert (
            editor.agent_text(session)
            == f'Look at\n<attachment uri="{uri}">\nx = 1\n\n</attachment>'
        )
        assert next(iter(registry.find(session).context.conversation)) == UserMessage(
            (Text("Look at"), Attachment(uri, "x = 1\n"))
        )


UNKNOWN_TYPE = (
    "prompt.0: Input tag 'hologram' found using 'type' does not match any of the expected tags: "
    "'text', 'image', 'audio', 'resource_link', 'resource'"
)


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ([], "prompt: it is empty; send at least one content block"),
        (None, "prompt: Input should be a valid tuple"),
        ("hi", "prompt: Input should be a valid tuple"),
        ({"type": "text", "text": "hi"}, "prompt: Input should be a valid tuple"),
        ([{"type": "hologram"}], UNKNOWN_TYPE),
        ([{"text": "hi"}], "prompt.0: Unable to extract tag using discriminator 'type'"),
        ([{"type": "text"}], "prompt.0.text.text: Field required"),
        ([{"type": "text", "text": 5}], "prompt.0.text.text: Input should be a valid string"),
        (
            [{"type": "resource_link", "name": "x"}],
            "prompt.0.resource_link.uri: Field required",
        ),
    ],
)
async def test_a_malformed_prompt_is_refused_and_the_session_continues(
    prompt: JsonValue, reason: str
) -> None:
    """Trap 11: the prompt is strict."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        params: JsonValue = {"sessionId": session, "prompt": prompt}
        assert await editor.call("session/prompt", params) == expected.invalid_params(3, reason)
        assert await editor.prompt(session, "hi") == expected.END_TURN


@pytest.mark.parametrize("session_id", ["", "sess_nobody", "日本"])
async def test_a_prompt_for_an_unknown_session_is_refused(session_id: str) -> None:
    """ACP-INFO-UNKNOWNSESSION."""
    async with open_checked_editor(EchoModel()) as editor:
        answer = await editor.call("session/prompt", prompt_params(session_id, "hi"))
        assert answer == expected.unknown_session(2, session_id)


@pytest.mark.parametrize("session_id", [None, 5, ["s"]])
async def test_a_non_string_session_id_is_refused(session_id: JsonValue) -> None:
    """Trap 11: sessionId is strict."""
    async with open_checked_editor(EchoModel()) as editor:
        params: JsonValue = {"sessionId": session_id, "prompt": [text("hi")]}
        assert await editor.call("session/prompt", params) == expected.invalid_params(
            2, "sessionId: Input should be a valid string"
        )


@pytest.mark.parametrize(
    "words",
    [
        "ünïcödé 日本 🙂",
        "line\nfeed\r\nand\ttab",
        "\u2028 and \u2029 and \x85 and \0",
        '"quotes" \\ and </script>',
        "x" * 1_000_000,
    ],
    ids=["unicode", "control", "separators", "escapes", "a million characters"],
)
async def test_text_is_echoed_unchanged(words: str) -> None:
    """Trap 7, Trap 8, Trap 9, ACP-TRANSPORT."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        assert await editor.prompt(session, words) == expected.END_TURN
        assert editor.agent_text(session) == words


async def test_a_lone_surrogate_becomes_a_replacement_character_in_both_directions() -> None:
    """Trap 8: no JSON parser of a client's ever sees one."""

    class Halves:
        async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
            assert request.messages == (UserMessage((Text("in \ufffd"),)),)
            await receive(TextDelta("out \udc00, whole \ud83d\ude42"))
            return "end_turn"

    async with open_checked_editor(Halves()) as editor:
        session = await editor.new_session()
        assert await editor.prompt(session, "in \ud800") == expected.END_TURN
        assert editor.agent_text(session) == "out \ufffd, whole 🙂"


HELP = "`/help [command]`: List the commands, or explain one"
VERSION = f"`/version`: {SHOW_VERSION}"


ALL = "Commands:\n\n" + "\n".join(f"- {line}" for line in expected.command_lines())


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("/help", ALL),
        ("  /help \n", ALL),
        ("/help version", VERSION),
        ("/help /version", VERSION),
        ("/help help", HELP),
        (
            "/help versoin",
            "There is no command `/versoin`. Did you mean `/version`? `/help` lists them all.",
        ),
        ("/version", f"acp-server {__version__}"),
        ("/version please", f"acp-server {__version__}"),
        (
            "/hlep",
            "There is no command `/hlep`. Did you mean `/help`? `/help` lists them all.",
        ),
        ("/xyzzy", "There is no command `/xyzzy`. `/help` lists them all."),
    ],
)
async def test_a_command_is_answered_without_the_model(prompt: str, answer: str) -> None:
    """ACP-PROMPT: commands arrive as ordinary prompts; no model is configured here."""
    registry = make_registry(UnusedModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        assert await editor.prompt(session, prompt) == expected.END_TURN
        assert editor.agent_text(session) == answer
        assert list(registry.find(session).context.conversation) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "/etc/hosts is broken",
        "/usr/bin/env",
        "/",
        "/ help",
        "//help",
        "/Help",
        "/1",
        "what does /help do?",
    ],
)
async def test_text_that_only_looks_like_a_command_goes_to_the_model(prompt: str) -> None:
    """ACP-PROMPT."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        assert await editor.prompt(session, prompt) == expected.END_TURN
        assert editor.agent_text(session) == prompt


class UnusedModel:
    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        raise AssertionError((request, receive))
