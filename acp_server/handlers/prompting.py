"""session/prompt and session/cancel."""

from functools import partial

from acp_server.handlers.content import user_message
from acp_server.handlers.updates import EditorScreen, Outlet
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import Call
from acp_server.protocol.client import Client
from acp_server.protocol.prompting import CancelNotification, PromptRequest, PromptResponse
from acp_server.session.registry import SessionRegistry


class PromptHandlers:
    """The user's turns."""

    def __init__(self, client: Client, sessions: SessionRegistry, outlet: Outlet) -> None:
        self._client = client
        self._sessions = sessions
        self._outlet = outlet

    def prompt(self, request: PromptRequest, call: Call) -> Job:
        """Answer a prompt. It has its place in the queue before the next message is looked at."""
        session = self._sessions.find(request.session_id)
        message = user_message(request.prompt)
        ticket = session.admit()
        call.on_cancel = ticket.cancel
        screen = EditorScreen(self._client, session.id, self._outlet)
        abandon = partial(call.succeed, PromptResponse(stop_reason="cancelled"))

        async def run() -> Reply:
            reason = await session.prompt(ticket, message, screen, abandon)
            return Reply(PromptResponse(stop_reason=reason))

        return run

    def cancel(self, request: CancelNotification) -> None:
        """Stop a session's work, at once; unknown and idle sessions have none."""
        self._sessions.cancel(request.session_id)
