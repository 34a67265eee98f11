"""Sampling: a server asks the session's model, if the user permits it.

Only while a tool of the server runs, so that every request belongs to something that was asked
for. The model sees what the server sends and nothing of the conversation, and has no tools.
"""

from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from uuid import uuid4

import anyio
from pydantic import JsonValue

from acp_server.mcp.permitted_calls import permitted_call
from acp_server.mcp.ports import AskModel, Json, ServerError
from acp_server.mcp.server_configs import server_identity
from acp_server.mcp.tool_names import SAMPLING
from acp_server.permissions.effects import CallMcpTool
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.text.lines import shorten, to_single_line
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.errors import RefusedError
from acp_server.turn.conversation import AssistantMessage, Message, Text, UserMessage

MAX_CHARACTERS = 100_000
"""All texts of a request."""
CHARACTERS_PER_TOKEN = 4
WINDOW_SECONDS = 60.0
MAX_TITLE_CHARACTERS = 100
NOT_RUNNING = "the model is asked only while a tool of this server runs"
ONLY_TEXT = "only texts can be sent to the model"
NO_TOOLS = "the model has no tools here"
NO_QUESTION = "the messages must begin and end with one of the user"
TOO_LONG = "the messages are longer than {count:,} characters"
TOO_OFTEN = "the model may be asked {count} times a minute; try again later"
REFUSED = "the user does not permit this: {reason}"
LENGTH = "Write at most {count} characters."

_RunningCall = tuple[CallReporter, Gate]


class Sampling:
    """Answers the sampling requests of one server."""

    def __init__(self, server: ServerConfig, ask_model: AskModel) -> None:
        self._server = server
        self._limits = server.sampling
        self._ask_model = ask_model
        self._running: list[_RunningCall] = []
        self._asked_at: deque[float] = deque()
        self._lock = anyio.Lock()
        """Held while a request is answered: a server gets one answer at a time."""

    @contextmanager
    def allowed_during(self, reporter: CallReporter, gate: Gate) -> Generator[None]:
        """Answer requests while a call runs; questions to the user pass its gate."""
        call = (reporter, gate)
        self._running.append(call)
        try:
            yield
        finally:
            self._running.remove(call)

    async def answer(self, request: Json) -> Json:
        """Return the result of `sampling/createMessage`.

        Raises:
            ServerError: The request is refused, or the model failed.
        """
        messages, instructions = _parse(request), as_text(request.get("systemPrompt"))
        async with self._lock:
            if not self._running:
                raise ServerError(NOT_RUNNING)
            # MCP does not say which call a request belongs to; usually there is only one.
            reporter, gate = self._running[-1]
            self._count()
            question = self._question(messages, instructions)
            try:
                async with permitted_call(reporter, gate, SAMPLING, question):
                    return await self._ask(messages, instructions, request.get("maxTokens"))
            except RefusedError as error:
                raise ServerError(REFUSED.format(reason=error.reason)) from error

    def _count(self) -> None:
        """Count a request.

        Raises:
            ServerError: There were too many in the last minute.
        """
        now = anyio.current_time()
        while self._asked_at and self._asked_at[0] <= now - WINDOW_SECONDS:
            self._asked_at.popleft()
        if len(self._asked_at) >= self._limits.max_per_minute:
            raise ServerError(TOO_OFTEN.format(count=self._limits.max_per_minute))
        self._asked_at.append(now)

    def _question(self, messages: Sequence[Message], instructions: str) -> PermissionQuestion:
        server = self._server
        title = f"{to_single_line(server.name, MAX_TITLE_CHARACTERS)}: ask the model"
        # Asking the model changes nothing here, so it may be permitted in plan mode, too.
        effect = CallMcpTool(server.name, server_identity(server), SAMPLING, read_only_hint=True)
        shown = (Text(fenced_block(_describe(messages, instructions))),)
        return PermissionQuestion(f"sampling_{uuid4().hex[:12]}", effect, title, "other", shown)

    async def _ask(
        self, messages: Sequence[Message], instructions: str, max_tokens: JsonValue
    ) -> Json:
        wanted = max_tokens if isinstance(max_tokens, int) and max_tokens > 0 else None
        limit_tokens = min(wanted or self._limits.max_tokens, self._limits.max_tokens)
        limit = limit_tokens * CHARACTERS_PER_TOKEN
        asked = "\n\n".join(filter(None, (instructions, LENGTH.format(count=limit))))
        text, model = await self._ask_model(messages, asked)
        return {
            "role": "assistant",
            "content": {"type": "text", "text": text[:limit]},
            "model": model,
            "stopReason": "endTurn" if len(text) <= limit else "maxTokens",
        }


def _parse(request: Json) -> tuple[Message, ...]:
    """Return the messages of a request; those of one role in a row become one.

    Raises:
        ServerError: They cannot be sent to the model.
    """
    if request.get("tools"):
        raise ServerError(NO_TOOLS)
    texts: list[tuple[str, list[Text]]] = []
    for entry in map(as_object, as_list(request.get("messages"))):
        content = entry.get("content")
        blocks = map(as_object, content if isinstance(content, list) else [content])
        role = as_text(entry.get("role"))
        if not texts or texts[-1][0] != role:
            texts.append((role, []))
        for block in blocks:
            text = as_text(block.get("text"))
            if block.get("type") != "text" or not text.strip():
                raise ServerError(ONLY_TEXT)
            texts[-1][1].append(Text(text))
    size = sum(len(text.text) for _, parts in texts for text in parts)
    if size + len(as_text(request.get("systemPrompt"))) > MAX_CHARACTERS:
        raise ServerError(TOO_LONG.format(count=MAX_CHARACTERS))
    roles = [role for role, _ in texts]
    if not roles or roles[0] != "user" or roles[-1] != "user":
        raise ServerError(NO_QUESTION)
    return tuple(
        UserMessage(tuple(parts)) if role == "user" else AssistantMessage(tuple(parts))
        for role, parts in texts
    )


def _describe(messages: Sequence[Message], instructions: str) -> str:
    """Return all that the model would see, as text."""
    lines = [f"Instructions: {instructions}"] if instructions else []
    for message in messages:
        name = "User" if isinstance(message, UserMessage) else "Assistant"
        lines += [f"{name}: {part.text}" for part in message.parts if isinstance(part, Text)]
    return shorten("\n\n".join(lines), MAX_CHARACTERS)
