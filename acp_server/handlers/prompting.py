"""session/prompt and session/cancel."""

from functools import partial

from pydantic import JsonValue

from acp_server.handlers.content import user_message
from acp_server.handlers.link import Link
from acp_server.handlers.updates import EditorScreen, Outlet
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import Call
from acp_server.protocol.prompting import CancelNotification, PromptRequest, PromptResponse
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Answer
from acp_server.session.steering import addressed


class PromptHandlers:
    """The user's turns."""

    def __init__(self, link: Link, sessions: SessionRegistry) -> None:
        self._link = link
        self._sessions = sessions
        self._outlet = Outlet(link)

    def prompt(self, request: PromptRequest, call: Call) -> Job:
        """Answer a prompt. It has its place in the queue before the next message is looked at."""
        session = self._sessions.find(request.session_id)
        manner, message = addressed(user_message(request.prompt), session.busy_prompt)
        ticket = session.admit(message, manner)
        call.on_cancel = ticket.cancel
        screen = EditorScreen(self._link, session.id, self._outlet)
        abandon = partial(call.succeed, PromptResponse(stop_reason="cancelled"))

        async def run() -> Reply:
            return Reply(_response(await session.prompt(ticket, message, screen, abandon)))

        return run

    def cancel(self, request: CancelNotification) -> None:
        """Stop a session's work, at once; unknown and idle sessions have none."""
        self._sessions.cancel(request.session_id)


def _response(answer: Answer) -> PromptResponse:
    """Return the answer to a prompt; what the turn used goes where ACP has no field for it."""
    spent = answer.spent
    if not spent.requests:
        return PromptResponse(stop_reason=answer.reason)
    usage: dict[str, JsonValue] = {
        "requests": spent.requests,
        "inputTokens": spent.usage.input_tokens,
        "outputTokens": spent.usage.output_tokens,
        "cacheReadTokens": spent.usage.cache_read_tokens,
        "cacheWriteTokens": spent.usage.cache_write_5m_tokens + spent.usage.cache_write_1h_tokens,
        "costUsd": spent.cost_usd,
    }
    return PromptResponse(stop_reason=answer.reason, meta={"hermes": {"usage": usage}})
