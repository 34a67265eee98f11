"""Connector to MCP servers that the client provides over its own connection (MCP over ACP).

Speaks the revision of MCP without a handshake: each request carries the version and the client's
capabilities, and what a server wants to know it asks for in a result, after which the request is
sent again with the answers. Needs no SDK.
Source: https://modelcontextprotocol.io/specification/2026-07-28
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from pydantic import JsonValue

from acp_server.mcp.ports import (
    ClientCallbacks,
    Json,
    McpConnection,
    ProgressCallback,
    ServerError,
)
from acp_server.session.ports.client_servers import ClientServerChannel, ClientServerError
from acp_server.session.ports.elicitation import ElicitationForm, ElicitationUrl
from acp_server.session.ports.mcp_configs import ClientServerConfig, ServerConfig
from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.version import __version__

PROTOCOL_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
"""Prefix of the keys that each request has in `_meta`."""
INPUT_REQUIRED = "input_required"
MAX_ROUNDS = 10
"""How often a server may ask for input before it answers, as in the SDKs of MCP."""
STATE_ONLY_SECONDS = 0.05
"""Wait before a request is repeated for which the server asked nothing, doubled each time."""
MAX_STATE_ONLY_SECONDS = 0.25
MAX_UNREAD = 64
"""Progress notifications that may wait; further ones are dropped."""
NO_OUTCOME = "its answer is neither a result nor an error"
WRONG_VERSION = f"it does not speak MCP {PROTOCOL_VERSION}"
TOO_MANY_ROUNDS = f"it asked for input more than {MAX_ROUNDS} times"
NOT_A_CLIENT_SERVER = "the editor does not provide it"
UNKNOWN_INPUT = "it asks for input by {method}, which is not supported"


class ClientConnector:
    """Connects to servers of the client."""

    def __init__(self, channel: ClientServerChannel) -> None:
        self._channel = channel

    @asynccontextmanager
    async def connect(
        self, server: ServerConfig, host: ClientCallbacks
    ) -> AsyncGenerator[McpConnection]:
        """Connect for the duration of the context; see `ports.McpConnector`."""
        if not isinstance(server, ClientServerConfig):
            raise ServerError(NOT_A_CLIENT_SERVER)
        connection = _ClientServerConnection(server, self._channel, host)
        failures: list[ServerError] = []
        try:
            await connection.discover()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(connection.follow_lists)
                yield connection
                tasks.cancel_scope.cancel()
        except* ServerError as group:
            failures += _leaves(group)
        # Raised outside of `except*`, which would wrap it in an exception group.
        if failures:
            raise failures[0]

    def account(self, server: ServerConfig) -> None:
        """Return None: the client signs in."""
        del server

    async def close(self) -> None:
        """Do nothing: the connection is the client's."""


class _ClientServerConnection:
    """A connection to one server; implements `ports.McpConnection`."""

    def __init__(
        self, server: ClientServerConfig, channel: ClientServerChannel, host: ClientCallbacks
    ) -> None:
        self._server = server
        self._channel = channel
        self._host = host
        self._discovered: Json = {}
        self.closed = anyio.Event()

    @property
    def initialize_result(self) -> Json:
        """The result of `server/discover`, which has the capabilities."""
        return self._discovered

    async def discover(self) -> None:
        """Ask for the server's capabilities.

        Raises:
            ServerError: It does not answer, or speaks another version.
        """
        self._discovered = await self.request("server/discover", {})
        if PROTOCOL_VERSION not in as_list(self._discovered.get("supportedVersions")):
            raise ServerError(WRONG_VERSION)

    async def follow_lists(self) -> None:
        """Report changes of the server's lists, if it announces them; return when it ends that."""
        capabilities = as_object(self._discovered.get("capabilities"))
        wanted: dict[str, JsonValue] = {
            f"{name}ListChanged": True
            for name in ("tools", "prompts")
            if as_object(capabilities.get(name)).get("listChanged") is True
        }
        if not wanted:
            return
        try:
            await self._send("subscriptions/listen", {"notifications": wanted}, self._note_change)
        except ServerError:
            return  # what it needs is in the lists, and a server that is gone is marked as closed

    def _note_change(self, method: str, parameters: Json) -> None:
        del parameters
        if method == "notifications/tools/list_changed":
            self._host.on_list_changed("tools")
        elif method == "notifications/prompts/list_changed":
            self._host.on_list_changed("prompts")

    async def request(
        self, method: str, parameters: Json, progress: ProgressCallback | None = None
    ) -> Json:
        """Send a request, and again with the input that the server asks for.

        Raises:
            ServerError: The request failed, or the server answered with an error.
        """
        sent, wait_seconds = parameters, STATE_ONLY_SECONDS
        for _ in range(MAX_ROUNDS + 1):
            result = await self._send_with_progress(method, sent, progress)
            if result.get("resultType") != INPUT_REQUIRED:
                return result
            questions = as_object(result.get("inputRequests"))
            sent = dict(parameters)
            if questions:
                answers = {key: await self._answer(as_object(q)) for key, q in questions.items()}
                sent["inputResponses"] = cast("JsonValue", answers)
            else:
                await anyio.sleep(wait_seconds)
                wait_seconds = min(2 * wait_seconds, MAX_STATE_ONLY_SECONDS)
            if "requestState" in result:
                sent["requestState"] = result["requestState"]
        raise ServerError(TOO_MANY_ROUNDS, is_answer=True)

    async def _answer(self, question: Json) -> JsonValue:
        """Return the result of a request that a server made in its result."""
        method, parameters = as_text(question.get("method")), as_object(question.get("params"))
        answers: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "elicitation/create": self._elicit,
            "roots/list": self._list_roots,
        }
        if self._host.sample is not None:
            answers["sampling/createMessage"] = self._host.sample
        if method not in answers:
            raise ServerError(UNKNOWN_INPUT.format(method=method or "no method"), is_answer=True)
        return dict(await answers[method](parameters))

    async def _elicit(self, parameters: Json) -> Json:
        message = as_text(parameters.get("message"))
        question: ElicitationForm | ElicitationUrl
        if parameters.get("mode") == "url":
            page_id = as_text(parameters.get("elicitationId"))
            url = as_text(parameters.get("url"))
            question = ElicitationUrl(self._server.name, message, url, page_id)
        else:
            schema = as_object(parameters.get("requestedSchema"))
            question = ElicitationForm(self._server.name, message, schema)
        answer = await self._host.elicitor.ask(question)
        if answer.action != "accept" or answer.content is None:
            return {"action": answer.action}
        return {"action": answer.action, "content": dict(answer.content)}

    async def _list_roots(self, parameters: Json) -> Json:
        del parameters
        return {"roots": [{"uri": root.as_uri(), "name": root.name} for root in self._host.roots]}

    async def _send_with_progress(
        self, method: str, parameters: Json, progress: ProgressCallback | None
    ) -> Json:
        """Send a request once, and report its progress."""
        if progress is None:
            return await self._send(method, parameters, _ignore)
        failures: list[ServerError] = []
        result: Json = {}
        sender, receiver = anyio.create_memory_object_stream[Json](MAX_UNREAD)

        def note(notified: str, values: Json) -> None:
            if notified == "notifications/progress":
                try:
                    sender.send_nowait(values)
                except anyio.WouldBlock:
                    return  # a later one says more

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(_report, receiver, progress))
            with sender:  # its end ends the reports
                try:
                    result = await self._send(method, parameters, note)
                except ServerError as error:
                    failures.append(error)
        if failures:
            raise failures[0]
        return result

    async def _send(
        self, method: str, parameters: Json, receive: Callable[[str, Json], None]
    ) -> Json:
        """Send a request once and return its result."""
        request_id = self._channel.new_request_id()
        meta = {**as_object(parameters.get("_meta")), **self._request_meta(request_id)}
        try:
            outcome = await self._channel.request(
                self._server.server_id, request_id, method, {**parameters, "_meta": meta}, receive
            )
        except ClientServerError as error:
            if error.is_gone:
                self.closed.set()
            raise ServerError(error.reason) from error
        if isinstance(outcome.get("result"), dict):
            return as_object(outcome["result"])
        problem = as_object(outcome.get("error"))
        if not problem:
            raise ServerError(NO_OUTCOME)
        raise ServerError(as_text(problem.get("message")) or NO_OUTCOME, is_answer=True)

    def _request_meta(self, request_id: str) -> dict[str, JsonValue]:
        host = self._host
        capabilities: dict[str, JsonValue] = {"roots": {}}
        if host.elicitor.can_ask:
            modes: dict[str, JsonValue] = {"form": {}}
            capabilities["elicitation"] = modes | ({"url": {}} if host.elicitor.shows_pages else {})
        if host.sample is not None:
            capabilities["sampling"] = {}
        return {
            f"{META}protocolVersion": PROTOCOL_VERSION,
            f"{META}clientCapabilities": capabilities,
            f"{META}clientInfo": {"name": "acp-server", "version": __version__},
            "progressToken": request_id,
        }


def _ignore(method: str, parameters: Json) -> None:
    del method, parameters


async def _report(receiver: MemoryObjectReceiveStream[Json], progress: ProgressCallback) -> None:
    with receiver:
        async for values in receiver:
            done, total = values.get("progress"), values.get("total")
            if isinstance(done, int | float):
                limit = float(total) if isinstance(total, int | float) else None
                await progress(float(done), limit, as_text(values.get("message")) or None)


def _leaves(group: BaseExceptionGroup[ServerError]) -> Iterator[ServerError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
