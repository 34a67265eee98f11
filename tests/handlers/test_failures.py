"""What goes wrong is told: to the client as an error with its cause, to the user in the chat."""

from pathlib import Path
from typing import cast

import pytest

from acp_server.models.fixed_catalog import UnknownProviderModel, unknown_provider_reason
from acp_server.models.scripted import ScriptedModel
from acp_server.session.commands.command import SlashCommand
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from acp_server.turn.errors import (
    CredentialsMissingError,
    ModelFailedError,
    ModelUnavailableError,
)
from acp_server.turn.ports import TurnSink
from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel, FailingModel
from tests.support.editor import Object, json_at
from tests.support.server_parts import make_registry
from tests.support.user_texts import AUTHENTICATION_REQUIRED


async def test_a_model_failure_is_an_error_with_its_cause_and_a_chat_message(
    tmp_path: Path,
) -> None:
    """Trap 1, Trap 19, ACP-ERROR: never a silent end_turn; all updates before the answer."""
    registry = make_scripted_registry(tmp_path)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(tmp_path)
        editor.start_prompt(session, "break")
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert expected.shorten_ids(list(editor.messages[3:])) == [
            expected.session_update("sess_1", expected.message_chunk("msg_1", "So ")),
            expected.session_update("sess_1", expected.message_chunk("msg_1", "far")),
            expected.session_update(
                "sess_1", expected.message_chunk("msg_2", "the endpoint is down")
            ),
            expected.error_response(3, -32603, "", "the endpoint is down", kind="other"),
            expected.session_update("sess_1", expected.message_chunk("msg_3", "Hello.")),
            expected.result_response(4, expected.END_TURN),
        ]
        assert list(registry.find(session).context.conversation) == [
            UserMessage((Text("break"),)),
            AssistantMessage((Text("So far"),)),
            UserMessage((Text("hi"),)),
            AssistantMessage((Text("Hello."),)),
        ]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelFailedError("rate limited, try in 5 s"), "rate limited, try in 5 s"),
        (ModelUnavailableError("no key"), "no key"),
        (
            ValueError("it\nbroke\nbadly"),
            "the model failed unexpectedly: ValueError: it\nbroke\nbadly",
        ),
        (KeyError("choices"), "the model failed unexpectedly: KeyError: 'choices'"),
        (TimeoutError(), "the model failed unexpectedly: TimeoutError: "),
        (
            ExceptionGroup("both", [OSError("a"), OSError("b")]),
            "the model failed unexpectedly: ExceptionGroup: both (2 sub-exceptions)",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_every_model_failure_has_a_cause_and_never_requires_signing_in(
    error: Exception, reason: str
) -> None:
    """Trap 19, ACP-ERROR: one line of message, the cause in data, -32603 and not -32000."""
    async with open_checked_editor(FailingModel(error)) as editor:
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        kind = "unavailable" if isinstance(error, ModelUnavailableError) else "other"
        assert answer == expected.error_response(3, -32603, "", reason, kind=kind)
        assert editor.agent_text(session) == f"So far{reason}"


async def test_an_error_tells_zed_its_cause_without_raw_json() -> None:
    """Zed shows `details` alone, and any other data as raw JSON behind the message."""
    async with open_checked_editor(
        FailingModel(ModelFailedError("slow\ndown", "rate_limit"))
    ) as editor:
        session = await editor.new_session()
        await editor.initialize(clientInfo={"name": "zed", "version": "1.0.0"})
        answer = await editor.start_prompt(session, "hi").response()
        assert answer["error"] == {
            "code": -32603,
            "message": "slow down",
            "data": {"details": "slow\ndown"},
        }
        answer = await editor.call("session/prompt", {"sessionId": "other", "prompt": []})
        assert set(cast("Object", answer["error"])) == {"code", "message"}


async def test_a_server_without_a_key_opens_sessions_and_reports_it_on_a_prompt() -> None:
    """Trap 19: initialize and session/new never check credentials; -32000 means: sign in."""
    reason = "there is nothing to sign in with"
    async with open_checked_editor(
        FailingModel(CredentialsMissingError(reason), text="")
    ) as editor:
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        assert answer == expected.error_response(3, -32000, AUTHENTICATION_REQUIRED, reason)
        assert editor.agent_text(session) == reason
        assert await editor.prompt(session, "/version") == expected.END_TURN


async def test_an_unknown_provider_is_named_with_a_remedy() -> None:
    """Trap 19: a key would not help, so it is not asked for."""
    model = UnknownProviderModel(unknown_provider_reason("nouse", "config.yaml"))
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        reason = (
            "acp-server does not know the configured provider 'nouse' (config.yaml); did you mean "
            "`nous`? If not, set `model.base_url` to its address, or `model.provider` to a name "
            "that `acp-server setup --help` lists, in HERMES_HOME/acp/config.yaml"
        )
        assert answer == expected.error_response(3, -32603, "", reason, kind="unavailable")
        assert editor.agent_text(session) == reason


async def test_a_model_failure_is_reported_with_a_machine_readable_kind() -> None:
    """ACP-ERROR."""
    async with open_checked_editor(
        FailingModel(ModelFailedError("slow down", "rate_limit"))
    ) as editor:
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        assert answer == expected.error_response(3, -32603, "", "slow down", kind="rate_limit")


@pytest.mark.parametrize("source", ["", "missing", "/"])
async def test_a_missing_model_is_named_in_the_response(source: str) -> None:
    """Trap 19."""
    async with open_checked_editor(ScriptedModel(source)) as editor:
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        reason = str(json_at(answer, "error", "data", "details"))
        assert repr(source) in reason
        assert editor.agent_text(session) == reason
        assert await editor.prompt(session, "/version") == expected.END_TURN


async def test_a_command_failure_is_an_error_with_its_cause_and_the_session_continues() -> None:
    """ACP-ERROR."""

    async def divide(arguments: str, sink: TurnSink) -> str:
        del sink
        return str(1 / int(arguments))

    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        registry.find(session).context.commands.add(SlashCommand("divide", "Divide one", divide))
        answer = await editor.start_prompt(session, "/divide 0").response()
        assert answer == expected.error_response(
            3, -32603, "Internal error", "ZeroDivisionError: division by zero"
        )
        assert await editor.prompt(session, "/divide 1") == expected.END_TURN
        assert editor.agent_text(session) == "1.0"
