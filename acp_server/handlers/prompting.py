"""Handlers of session/prompt, session/cancel, _session/steering and _hermes/restore."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial

from anyio import lowlevel
from pydantic import JsonValue

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.content import user_message
from acp_server.handlers.params import answer_with
from acp_server.handlers.updates import AcpEventSink, Backpressure
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import InboundRequest
from acp_server.protocol.content import TextContent
from acp_server.protocol.extensions import (
    CancelTaskNotification,
    RemainingFile,
    RestoreRequest,
    RestoreResponse,
    SteeringRequest,
    SteeringResponse,
)
from acp_server.protocol.prompt_turn import (
    CancelNotification,
    PromptRequest,
    PromptResponse,
    PromptUsage,
)
from acp_server.protocol.updates import AgentMessageChunk, Cost, SessionInfoUpdate, UsageUpdate
from acp_server.session.ports.mcp import UnavailableServer
from acp_server.session.prompt_results import PromptResult
from acp_server.session.prompting.provider import LoadedFile
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Session
from acp_server.session.steering import parse_busy_mode
from acp_server.session.turn_queue import QueuedPrompt
from acp_server.turn.conversation import UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.usage_totals import UsageTotals

FIRST_TURN_MODELS = (
    *(PromptRequest, PromptResponse, SessionInfoUpdate),
    *(TextContent, AgentMessageChunk, Cost, UsageUpdate),
)
"""The models of the simplest possible turn."""


async def build_models() -> None:
    """Build the models of a first turn while the client waits for nothing.

    On the loop, one at a time: each takes some milliseconds, and the loop could not use a model
    that a thread is building.
    """
    for model in FIRST_TURN_MODELS:
        model.model_rebuild()
        await lowlevel.checkpoint()


class PromptHandlers:
    """Handlers of prompts and of their cancellation."""

    def __init__(
        self,
        connection: ClientConnection,
        sessions: SessionRegistry,
        while_answering: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._connection = connection
        self._sessions = sessions
        self._while_answering = while_answering
        self._backpressure = Backpressure(connection)

    def prompt(self, request: PromptRequest, call: InboundRequest) -> Job:
        """Queue and answer a prompt."""
        session = self._sessions.find(request.session_id)
        # Behind a turn, it would not be prepared yet.
        while_preparing = self._while_answering if session.is_idle else nullcontext
        # Everything up to `run` happens before the next message is read: prompts keep their order,
        # and a cancel right behind one finds its place.
        busy_mode, message = parse_busy_mode(user_message(request.prompt), session.busy_mode)
        queued_prompt = session.enqueue(message, busy_mode)
        # Instead of cancelling the task: a cancelled turn must still end cleanly and answer with
        # stopReason "cancelled", not with an error.
        call.on_cancel = queued_prompt.cancel
        sink = AcpEventSink(self._connection, session.id, self._backpressure)
        abandon = partial(call.succeed, PromptResponse(stop_reason="cancelled"))

        async def run() -> Reply:
            with ExitStack() as preparing:
                preparing.enter_context(while_preparing())
                queued_prompt.on_prepared = preparing.close
                result = await session.prompt(queued_prompt, message, sink, abandon)
            return Reply(
                _prompt_response(
                    result,
                    session.prompting.instructions,
                    session.tools.current.skills.loaded,
                    session.tools.current.servers.unavailable(),
                    has_usage=self._connection.reads_usage,
                )
            )

        return run

    def steer(self, request: SteeringRequest, call: InboundRequest) -> Job:
        """Add a message to the running turn, or start a turn with it."""
        del call
        session = self._sessions.find(request.session_id)
        _, message = parse_busy_mode(user_message(request.prompt), "steer")
        is_idle = session.is_idle
        if is_idle and not request.can_start_turn:
            return answer_with(Reply(SteeringResponse(outcome="failed")))
        queued_prompt = session.enqueue(message, "steer")
        # Not in the request's own task: that ends with its answer.
        self._connection.background.start_soon(self._run_detached, session, queued_prompt, message)
        outcome = "startedNewTurn" if is_idle else "injected"
        return answer_with(Reply(SteeringResponse(outcome=outcome)))

    def restore(self, request: RestoreRequest, call: InboundRequest) -> Job:
        """Restore the state before a prompt; refused while a turn runs."""
        session = self._sessions.find(request.session_id)
        queued = session.enqueue_restore()
        call.on_cancel = queued.cancel
        sink = AcpEventSink(self._connection, session.id, self._backpressure)

        async def run() -> Reply:
            report = await session.restore(queued, request.checkpoint, request.scope, sink)
            left = (RemainingFile(path=path, reason=why) for path, why in report.left.items())
            return Reply(
                RestoreResponse(
                    restored=tuple(report.restored),
                    left=tuple(left),
                    meta={"hermes": {"checkpoint": report.checkpoint}},
                )
            )

        return run

    async def _run_detached(
        self, session: Session, queued_prompt: QueuedPrompt, message: UserMessage
    ) -> None:
        """Run a prompt whose request is already answered; errors are shown in the chat."""
        sink = AcpEventSink(self._connection, session.id, self._backpressure)
        with suppress(TurnError):
            await session.prompt(queued_prompt, message, sink, lambda: None)

    def cancel(self, request: CancelNotification) -> None:
        """Stop a session's work at once; ignored for unknown and idle sessions."""
        child = self._connection.children.find(request.session_id)
        if child is not None:
            self._sessions.find(child.session_id).context.tasks.cancel(child.call_id, child.number)
            return
        self._sessions.cancel(request.session_id)

    def cancel_task(self, request: CancelTaskNotification) -> None:
        """Stop one sub-agent task at once; ignored if it does not run."""
        session = self._sessions.get(request.session_id)
        if session is not None:
            session.context.tasks.cancel(request.tool_call_id, request.task)


def _prompt_response(
    result: PromptResult,
    instructions: Sequence[LoadedFile],
    skills: Sequence[str],
    unavailable: Sequence[UnavailableServer],
    *,
    has_usage: bool,
) -> PromptResponse:
    """Return the answer to a prompt; facts without an ACP field go under `_meta`."""
    details: dict[str, JsonValue] = {}
    if result.usage.requests:
        details["usage"] = _usage_meta(result.usage)
    if instructions:
        details["instructions"] = [
            {
                "path": file.path,
                "sha256": file.sha256,
                "characters": file.characters,
                "truncated": file.is_truncated,
            }
            for file in instructions
        ]
    if result.checkpoint:
        details["checkpoint"] = result.checkpoint
    if skills:
        details["skills"] = list(skills)
    if unavailable:
        details["mcpUnavailable"] = [
            {"name": each.name, "reason": each.reason} for each in unavailable
        ]
    return PromptResponse(
        stop_reason=result.reason,
        usage=_usage(result.usage) if has_usage and result.usage.requests else None,
        meta={"hermes": details} if details else None,
    )


def _usage(totals: UsageTotals) -> PromptUsage:
    usage = totals.usage
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return PromptUsage(
        total_tokens=usage.input_tokens + cached + usage.output_tokens,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_read_tokens=usage.cache_read_tokens,
        cached_write_tokens=usage.cache_write_tokens,
    )


def _usage_meta(totals: UsageTotals) -> dict[str, JsonValue]:
    usage = totals.usage
    return {
        "requests": totals.requests,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "costUsd": totals.cost_usd,
    }
