"""The complete server in memory, between a test editor and a fake API server.

async with messages_api(["Hello!"]) as api, open_model_session(api, tmp_path) as session:
    assert await session.ask("hi") == "end_turn"
    assert session.said() == "Hello!"
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

from acp_server.config.credentials import Credential, CredentialProvider, KeyStore
from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.client_connection import ClientConnection as ClientLink
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.models.access import EndpointAccess
from acp_server.models.anthropic.stream import MessageStream
from acp_server.models.endpoint_catalog import EndpointCatalog, EndpointConfig
from acp_server.models.lazy_imports import (
    ProviderEntryPoint,
    lazy_anthropic_client,
    lazy_openai_compatible_client,
)
from acp_server.models.model_facts import ModelFacts
from acp_server.models.openai_compatible.chat_stream import ChatStream
from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.models.openai_compatible.responses_stream import ResponsesStream
from acp_server.models.provider_adapter import ProviderAdapter
from acp_server.models.provider_profiles import ANTHROPIC, CUSTOM, ApiFormat
from acp_server.models.retry_policy import RetryPolicy
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.prompting.provider import FixedPromptProvider
from acp_server.session.registry import SessionRegistry
from acp_server.session.services import SessionServices
from acp_server.session.session import Session
from acp_server.session.steering import BusyMode
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.context import TurnContext
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
from acp_server.turn.loop import NO_ANSWER
from acp_server.turn.ports import ToolOutcome, ToolSpec, TurnSink
from prompt_engine.cache_control import TimeToLive, add_cache_breakpoints
from tests.support.editor import Editor, Object, PendingResponse, json_at
from tests.support.messages_api import KEY, FakeApiServer, FakeApiServerInThread
from tests.support.server_parts import close_client, fixed_prompts, fixed_toolset
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.turn_harness import FunctionLiveCall

MODEL = "claude-opus-5-5"
OTHER_MODEL = "gpt-5.1"
"""Model id for endpoints with an OpenAI-compatible API."""
SYSTEM = "Be exact, and say no more than you know. " * 200
"""System prompt that is long enough to be cached."""
TURN_UPDATES = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "usage_update"}
)
HOST = "127.0.0.1"


class NoteAndLookTools:
    """Toolbox with two tools: `note` streams its arguments, `look` does not."""

    def __init__(self) -> None:
        self.target_subcommands: list[ToolCall] = []
        self.started = anyio.Event()
        self.allowed_to_end = anyio.Event()
        self.allowed_to_end.set()

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

    async def open(self, call_id: str, name: str, sink: TurnSink) -> FunctionLiveCall:
        """Show a call as started."""
        await sink.emit(CallAppeared(call_id, name))
        return FunctionLiveCall(self.run, sink)

    async def run(self, call: ToolCall, sink: TurnSink) -> ToolOutcome:
        """Record the call and return a result when the test allows it."""
        await sink.emit(CallChanged(call.id, "in_progress"))
        self.target_subcommands.append(call)
        self.started.set()
        await self.allowed_to_end.wait()
        return ToolOutcome(f"{call.name}: done")

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class ModelSessionConfig:
    """Configuration of the server and of its endpoint."""

    model: str | None = ""
    """Model id; empty for one that the endpoint offers, None for no configured model."""
    read_timeout_seconds: float = 5.0
    retries: int = 3
    retry_seconds: float = 0.004
    resume_wait_seconds: float = 0.004
    max_turn_requests: int = 100
    shows_notices: bool = True
    shows_switches: bool = False
    fast_mode: bool = False
    api_key: str | None = KEY
    url: str | None = None
    session_count: int = 1
    cache_ttl: TimeToLive = "5m"
    busy_mode: BusyMode = "queue"
    searches_web: bool = False
    profile: EndpointProfile = field(default_factory=EndpointProfile)
    wrap_catalog: Callable[[ModelCatalog], ModelCatalog] | None = None
    """Combines the endpoint's catalog with other providers."""


@dataclass(slots=True)
class ModelSession:
    """Editor with an open session on a server whose models are real adapters."""

    editor: Editor
    sessions: SessionRegistry
    tools: NoteAndLookTools
    session_id: str = ""
    translated: list[str] = field(default_factory=list[str])
    """Data of every stream event that the adapter has translated."""

    async def prompt(self, text: str = "hi") -> JsonValue:
        """Send a prompt and return the stop reason."""
        return json_at(await self.editor.prompt(self.session_id, text), "stopReason")

    async def prompt_expecting_error(self, text: str = "hi") -> Object:
        """Send a prompt that must fail, and return the error's data."""
        response = await self.start_prompt(text).response()
        data = json_at(response["error"], "data")
        assert isinstance(data, dict)
        return data

    def start_prompt(self, text: str = "hi") -> PendingResponse:
        """Send a prompt without waiting for the response."""
        return self.editor.start_prompt(self.session_id, text)

    def cancel(self) -> None:
        """Cancel the turn."""
        self.editor.cancel(self.session_id)

    def agent_text(self) -> str:
        """Return the text of all agent messages."""
        return self.editor.agent_text(self.session_id)

    def updates(self, kind: str) -> list[JsonValue]:
        """Return all updates of a kind."""
        updates = self.editor.updates_of(self.session_id)
        return [update for update in updates if json_at(update, "sessionUpdate") == kind]

    def notices(self) -> list[str]:
        """Return the titles of all notices."""
        return [str(json_at(notice, "title")) for notice in self.updates("notice")]

    def thoughts(self) -> str:
        """Return the text of all thoughts."""
        chunks = self.updates("agent_thought_chunk")
        return "".join(str(json_at(chunk, "content", "text")) for chunk in chunks)

    def message_ids(self) -> set[str]:
        """Return the message ids of all agent messages."""
        return {str(json_at(chunk, "messageId")) for chunk in self.updates("agent_message_chunk")}

    @property
    def session(self) -> Session:
        """The server's session object."""
        return self.sessions.find(self.session_id)

    def history(self) -> list[Message]:
        """Return the messages of the session's conversation."""
        return list(self.session.context.conversation)

    async def wait_until_translated(self, count: int) -> None:
        """Wait until the adapter has translated at least `count` stream events."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while len(self.translated) < count:  # noqa: ASYNC110  the patched method signals nothing
                await anyio.sleep(0.001)

    async def turn_updates_after(self, pending: PendingResponse) -> list[Object]:
        """Return the turn's updates that arrived after its response."""
        await pending.response()
        await anyio.wait_all_tasks_blocked()
        messages = self.editor.messages
        index = messages.index(self.editor.to_responses_part[pending.id])
        return [each for each in messages[index + 1 :] if _is_turn_update(each)]


def _is_turn_update(message: Object) -> bool:
    is_update = message.get("method") == "session/update"
    return is_update and json_at(message, "params", "update", "sessionUpdate") in TURN_UPDATES


@asynccontextmanager
async def open_model_session(  # noqa: PLR0915  one sequence of set-up steps
    api: FakeApiServer | FakeApiServerInThread, home: Path, config: ModelSessionConfig | None = None
) -> AsyncGenerator[ModelSession]:
    """Start a server whose model endpoint is `api`, and open a session."""
    config = config or ModelSessionConfig()
    tools = NoteAndLookTools()
    credential = Credential("the test", api_key=config.api_key) if config.api_key else None
    credentials = CredentialProvider(credential, KeyStore(home, use_keyring=False))
    plan = EndpointConfig(
        access=EndpointAccess(
            config.url or api.url, read_timeout_seconds=config.read_timeout_seconds
        ),
        model_id=(MODEL if api.form == "messages" else OTHER_MODEL)
        if config.model == ""
        else config.model,
        retry=RetryPolicy(max_retries=config.retries, initial_seconds=config.retry_seconds),
        list_file=home / "acp" / "models.json",
        searches_web=config.searches_web,
    )
    loader = make_loader(api.form, config)

    endpoint = EndpointCatalog(plan, make_provider_adapter(api.form), credentials.current, loader)
    provider = config.wrap_catalog(endpoint) if config.wrap_catalog is not None else endpoint
    sessions = SessionRegistry(
        SessionServices(
            catalog=provider,
            toolset=fixed_toolset(tools),
            prompt_provider=fixed_prompts(FixedPromptProvider(SYSTEM)),
            max_turn_requests=config.max_turn_requests,
            busy_mode=config.busy_mode,
            fast_mode=config.fast_mode,
        )
    )
    server_end, editor_end = create_memory_pair()
    auth = AuthHandlers(credentials.sign_in, credentials.sign_out)
    connection = AgentConnection(ClientLink.from_transport(server_end), sessions, auth)
    provider.on_change(connection.send_options)
    session = ModelSession(Editor(editor_end, server_end), sessions, tools)
    turn_context = partial(TurnContext, resume_wait_seconds=config.resume_wait_seconds)
    try:
        with (
            patch("acp_server.session.session_models.TurnContext", turn_context),
            patch.object(MessageStream, "translate", _recording_translate(MessageStream, session)),
            patch.object(ChatStream, "translate", _recording_translate(ChatStream, session)),
            patch.object(
                ResponsesStream, "translate", _recording_translate(ResponsesStream, session)
            ),
        ):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(session.editor.serve, connection)
                tasks.start_soon(session.editor.read)
                updates: Object = {"notices": {}} if config.shows_notices else {}
                if config.shows_switches:
                    updates["configOptions"] = {"boolean": {}}
                capabilities: JsonValue = {"session": updates} if updates else {}
                await session.editor.initialize(clientCapabilities=capabilities)
                for _ in range(config.session_count):
                    session.session_id = await session.editor.new_session(home)
                yield session
                await session.editor.disconnect()
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # a failed assertion reads better by itself
        raise _unwrap_single(group) from None
    finally:
        with anyio.CancelScope(shield=True):
            await close_client(loader)


def _unwrap_single(error: BaseException) -> BaseException:
    exceptions = getattr(error, "exceptions", ())
    return _unwrap_single(exceptions[0]) if len(exceptions) == 1 else error


def make_loader(form: str, config: ModelSessionConfig) -> Lazy[ProviderEntryPoint]:
    """Return the loader of the SDK for an API form."""
    if form == "messages":
        return lazy_anthropic_client(partial(add_cache_breakpoints, ttl=config.cache_ttl))
    profile = replace(config.profile, api_format="chat" if form == "chat" else "responses")
    return lazy_openai_compatible_client(profile)


def make_provider_adapter(form: str) -> ProviderAdapter:
    """Return the provider adapter for an API form."""
    if form == "messages":
        return ProviderAdapter(ANTHROPIC, ModelFacts(unknown_window), needs_key=True)
    profile = replace(CUSTOM, api_format=cast("ApiFormat", form))
    return ProviderAdapter(profile, ModelFacts(unknown_window), needs_key=False)


def unknown_window(model_id: str) -> int | None:
    """Return None: no context window is known."""
    del model_id
    return None


def _recording_translate(
    stream: type[MessageStream | ChatStream | ResponsesStream], session: ModelSession
) -> Callable[..., object]:
    translate = stream.translate

    def counting(self: MessageStream, data: str) -> object:
        session.translated.append(data)
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


def stored_text(messages: Sequence[Message]) -> str:
    """Return the stored text of the model, without the placeholder for an empty answer."""
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    texts = (part.text for each in answers for part in each.parts if isinstance(part, Text))
    return "".join(text for text in texts if not text.startswith(NO_ANSWER.split("{")[0]))
