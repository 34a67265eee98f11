"""The complete server in memory, between a test editor and a fake API server.

async with messages_api(["Hello!"]) as api, open_desk(api, tmp_path) as desk:
    assert await desk.ask("hi") == "end_turn"
    assert desk.said() == "Hello!"
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast
from unittest.mock import patch

import anyio
from pydantic import JsonValue

from acp_server.config.credentials import Credential, Credentials, KeyStore
from acp_server.handlers.agent_connection import Connection
from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.client_connection import Link as ClientLink
from acp_server.jsonrpc.memory import memory_pair
from acp_server.models.access import Access
from acp_server.models.anthropic.stream import MessageStream
from acp_server.models.endpoint_catalog import EndpointCatalog, Plan
from acp_server.models.lazy_imports import SdkLoader, messages_loader, openai_compatible_loader
from acp_server.models.model_facts import Facts
from acp_server.models.openai_compatible.chat_stream import ChatStream
from acp_server.models.openai_compatible.endpoint_profile import Quirks
from acp_server.models.openai_compatible.responses_stream import ResponsesStream
from acp_server.models.provider_adapter import Speech
from acp_server.models.provider_profiles import ANTHROPIC, CUSTOM, ApiForm
from acp_server.models.retry_policy import RetryPolicy
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.prompting.provider import PlainBriefing
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Equipment, Session
from acp_server.session.steering import Manner
from acp_server.turn.conversation import (
    AssistantMessage,
    Link,
    Message,
    PromptPart,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import CallAppeared, CallChanged
from acp_server.turn.loop import NO_ANSWER, Kit
from acp_server.turn.ports import Outcome, Sink, ToolSpec
from prompt_engine.cache_control import TimeToLive, mark
from tests.support.editor import Editor, Object, Pending, at
from tests.support.messages_api import KEY, MessagesApi, MessagesApiInThread
from tests.support.timeouts import PATIENCE_SECONDS
from tests.turn.turn_harness import PlayedCall

MODEL = "claude-opus-5-5"
OTHER_MODEL = "gpt-5.1"
"""Model id for endpoints with an OpenAI-compatible API."""
SYSTEM = "Be exact, and say no more than you know. " * 200
"""System prompt that is long enough to be cached."""
TURN_UPDATES = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "usage_update"}
)
HOST = "127.0.0.1"


class Tools:
    """Toolbox with two tools: `note` streams its arguments, `look` does not."""

    def __init__(self) -> None:
        self.runs: list[ToolCall] = []
        self.has_begun = anyio.Event()
        self.may_end = anyio.Event()
        self.may_end.set()

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Specs of both tools."""
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": {"text": {"type": "string"}},
        }
        return (
            ToolSpec("note", "Writes something down.", schema, streams_arguments=True),
            ToolSpec("look", "Looks something up.", schema),
        )

    async def open(self, call_id: str, name: str, sink: Sink) -> PlayedCall:
        """Show a call as started."""
        await sink.emit(CallAppeared(call_id, name))
        return PlayedCall(self.run, sink)

    async def run(self, call: ToolCall, sink: Sink) -> Outcome:
        """Record the call and return a result when the test allows it."""
        await sink.emit(CallChanged(call.id, "in_progress"))
        self.runs.append(call)
        self.has_begun.set()
        await self.may_end.wait()
        return Outcome(f"{call.name}: done")

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class Rules:
    """Configuration of the server and of its endpoint."""

    model: str | None = ""
    """Model id; empty for one that the endpoint offers, None for no configured model."""
    idle_seconds: float = 5.0
    retries: int = 3
    retry_seconds: float = 0.004
    go_on_seconds: float = 0.004
    max_turn_requests: int = 100
    shows_notices: bool = True
    api_key: str | None = KEY
    url: str | None = None
    session_count: int = 1
    cache_ttl: TimeToLive = "5m"
    busy_prompt: Manner = "queue"
    searches_web: bool = False
    quirks: Quirks = field(default_factory=Quirks)
    join: Callable[[ModelCatalog], ModelCatalog] | None = None
    """Combines the endpoint's catalog with other providers."""


@dataclass(slots=True)
class Desk:
    """Editor with an open session on a server whose models are real adapters."""

    editor: Editor
    sessions: SessionRegistry
    tools: Tools
    session_id: str = ""
    translated: list[str] = field(default_factory=list[str])
    """Data of every stream event that the adapter has translated."""

    async def ask(self, text: str = "hi") -> JsonValue:
        """Send a prompt and return the stop reason."""
        return at(await self.editor.prompt(self.session_id, text), "stopReason")

    async def fail(self, text: str = "hi") -> Object:
        """Send a prompt that must fail, and return the error's data."""
        response = await self.begin(text).response()
        data = at(response["error"], "data")
        assert isinstance(data, dict)
        return data

    def begin(self, text: str = "hi") -> Pending:
        """Send a prompt without waiting for the response."""
        return self.editor.begin_prompt(self.session_id, text)

    def cancel(self) -> None:
        """Cancel the turn."""
        self.editor.cancel(self.session_id)

    def said(self) -> str:
        """Return the text of all agent messages."""
        return self.editor.said(self.session_id)

    def updates(self, kind: str) -> list[JsonValue]:
        """Return all updates of a kind."""
        updates = self.editor.updates_of(self.session_id)
        return [update for update in updates if at(update, "sessionUpdate") == kind]

    def notices(self) -> list[str]:
        """Return the titles of all notices."""
        return [str(at(notice, "title")) for notice in self.updates("notice")]

    def thoughts(self) -> str:
        """Return the text of all thoughts."""
        chunks = self.updates("agent_thought_chunk")
        return "".join(str(at(chunk, "content", "text")) for chunk in chunks)

    def message_ids(self) -> set[str]:
        """Return the message ids of all agent messages."""
        return {str(at(chunk, "messageId")) for chunk in self.updates("agent_message_chunk")}

    @property
    def session(self) -> Session:
        """The server's session object."""
        return self.sessions.find(self.session_id)

    def history(self) -> list[Message]:
        """Return the messages of the session's conversation."""
        return list(self.session.conversation)

    async def wait_until_translated(self, count: int) -> None:
        """Wait until the adapter has translated at least `count` stream events."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while len(self.translated) < count:  # noqa: ASYNC110  the patched method signals nothing
                await anyio.sleep(0.001)

    async def turn_updates_after(self, pending: Pending) -> list[Object]:
        """Return the turn's updates that arrived after its response."""
        await pending.response()
        await anyio.wait_all_tasks_blocked()
        messages = self.editor.messages
        place = messages.index(self.editor.responses[pending.id])
        return [each for each in messages[place + 1 :] if _is_of_turn(each)]


def _is_of_turn(message: Object) -> bool:
    is_update = message.get("method") == "session/update"
    return is_update and at(message, "params", "update", "sessionUpdate") in TURN_UPDATES


@asynccontextmanager
async def open_desk(  # noqa: PLR0915  one sequence of set-up steps
    api: MessagesApi | MessagesApiInThread, home: Path, rules: Rules | None = None
) -> AsyncGenerator[Desk]:
    """Start a server whose model endpoint is `api`, and open a session."""
    rules = rules or Rules()
    tools = Tools()
    credential = Credential("the test", api_key=rules.api_key) if rules.api_key else None
    credentials = Credentials(credential, KeyStore(home, use_keyring=False))
    plan = Plan(
        access=Access(rules.url or api.url, idle_seconds=rules.idle_seconds),
        model_id=(MODEL if api.form == "messages" else OTHER_MODEL)
        if rules.model == ""
        else rules.model,
        retry=RetryPolicy(attempts=rules.retries, first_seconds=rules.retry_seconds),
        list_file=home / "acp" / "models.json",
        searches_web=rules.searches_web,
    )
    loader = loader_for(api.form, rules)

    async def given(session: Session) -> Tools:
        del session
        return tools

    endpoint = EndpointCatalog(plan, speech_for(api.form), credentials.current, loader)
    provider = rules.join(endpoint) if rules.join is not None else endpoint
    sessions = SessionRegistry(
        Equipment(
            catalog=provider,
            toolbox=given,
            briefing=lambda _workspace: PlainBriefing(SYSTEM),
            max_turn_requests=rules.max_turn_requests,
            busy_prompt=rules.busy_prompt,
        )
    )
    server_end, editor_end = memory_pair()
    auth = AuthHandlers(credentials.sign_in, credentials.sign_out)
    connection = Connection(ClientLink.over(server_end), sessions, auth)
    provider.on_change(connection.tell_options)
    desk = Desk(Editor(editor_end, server_end), sessions, tools)
    kit = partial(Kit, go_on_seconds=rules.go_on_seconds)
    try:
        with (
            patch("acp_server.session.session.Kit", kit),
            patch.object(MessageStream, "translate", _counting(MessageStream, desk)),
            patch.object(ChatStream, "translate", _counting(ChatStream, desk)),
            patch.object(ResponsesStream, "translate", _counting(ResponsesStream, desk)),
        ):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.editor.serve, connection)
                tasks.start_soon(desk.editor.read)
                capabilities: JsonValue = (
                    {"session": {"notices": {}}} if rules.shows_notices else {}
                )
                await desk.editor.initialize(clientCapabilities=capabilities)
                for _ in range(rules.session_count):
                    desk.session_id = await desk.editor.new_session(home)
                yield desk
                await desk.editor.leave()
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # a failed assertion reads better by itself
        raise _only_one(group) from None
    finally:
        with anyio.CancelScope(shield=True):
            await loader.close()


def _only_one(error: BaseException) -> BaseException:
    exceptions = getattr(error, "exceptions", ())
    return _only_one(exceptions[0]) if len(exceptions) == 1 else error


def loader_for(form: str, rules: Rules) -> SdkLoader:
    """Return the loader of the SDK for an API form."""
    if form == "messages":
        return messages_loader(partial(mark, ttl=rules.cache_ttl))
    quirks = replace(rules.quirks, form="chat" if form == "chat" else "responses")
    return openai_compatible_loader(quirks)


def speech_for(form: str) -> Speech:
    """Return the provider adapter for an API form."""
    if form == "messages":
        return Speech(ANTHROPIC, Facts(no_window), needs_key=True)
    profile = replace(CUSTOM, form=cast("ApiForm", form))
    return Speech(profile, Facts(no_window), needs_key=False)


def no_window(model_id: str) -> int | None:
    """Return None: no context window is known."""
    del model_id
    return None


def _counting(stream: type[MessageStream | ChatStream | ResponsesStream], desk: Desk):  # noqa: ANN202  a replacement method
    translate = stream.translate

    def counting(self: MessageStream, data: str) -> object:
        desk.translated.append(data)
        return translate(self, data)  # pyright: ignore[reportArgumentType]  one of the three

    return counting


def check_history(messages: Sequence[Message]) -> None:
    """Fail unless a provider would accept these messages followed by a user message.

    Consecutive user messages are allowed, since providers merge them: results of a cancelled turn
    and the next prompt.
    """
    for index, message in enumerate(messages):
        following = messages[index + 1] if index + 1 < len(messages) else None
        assert message.parts, f"message {index} is empty"
        if isinstance(message, AssistantMessage):
            assert index, "the model speaks first"
            assert isinstance(following, UserMessage | None), f"{message}, {following}"
            last = message.parts[-1]
            assert not isinstance(last, Thinking | RedactedThinking), message
            _check_calls(message, following)
        elif not any(isinstance(part, ToolResult) for part in message.parts):
            assert isinstance(following, AssistantMessage), f"no answer to {message}"


def _check_calls(message: AssistantMessage, following: Message | None) -> None:
    called = [part.id for part in message.parts if isinstance(part, ToolCall)]
    if not called:
        return
    assert following is not None, f"calls without results: {message}"
    assert [part.call_id for part in following.parts if isinstance(part, ToolResult)] == called


def text_kept(messages: Sequence[Message]) -> str:
    """Return the stored text of the model, without the placeholder for an empty answer."""
    said = (message for message in messages if isinstance(message, AssistantMessage))
    texts = (part.text for each in said for part in each.parts if isinstance(part, Text))
    return "".join(text for text in texts if not text.startswith(NO_ANSWER.split("{")[0]))
