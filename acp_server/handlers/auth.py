"""authenticate and logout. The way in is a stored key; nobody types one over the wire."""

from collections.abc import Awaitable, Callable

from acp_server.handlers.errors import AUTH_REQUIRED
from acp_server.handshake import AUTH_METHOD_IDS
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.errors import InvalidParamsError, RpcError
from acp_server.jsonrpc.peer import Call
from acp_server.protocol.lifecycle import (
    AuthenticateRequest,
    AuthenticateResponse,
    LogoutRequest,
    LogoutResponse,
)

NO_KEY = (
    "there is no key yet: set ANTHROPIC_API_KEY where the editor starts this server, or run "
    "`acp-server setup` in a terminal"
)


class AuthHandlers:
    """What a client can do about signing in."""

    def __init__(
        self,
        sign_in: Callable[[], Awaitable[bool]],
        sign_out: Callable[[], Awaitable[None]],
        hint: str | None = None,
    ) -> None:
        """Take what signs in and out; `hint` says what to do without a key, if not the usual."""
        self._sign_in = sign_in
        self._sign_out = sign_out
        self._hint = hint or NO_KEY

    def authenticate(self, request: AuthenticateRequest, call: Call) -> Job:
        """Look for a key again; say where to put one if there is none."""
        del call
        if request.method_id not in AUTH_METHOD_IDS:
            known = ", ".join(AUTH_METHOD_IDS)
            reason = f"methodId: unknown method {request.method_id!r}; there are {known}"
            raise InvalidParamsError(reason)

        async def run() -> Reply:
            if not await self._sign_in():
                raise RpcError(AUTH_REQUIRED, "Authentication required", {"message": self._hint})
            return Reply(AuthenticateResponse())

        return run

    def logout(self, request: LogoutRequest, call: Call) -> Job:
        """Forget the stored key; prompts that need a model are refused from then on."""
        del request, call

        async def run() -> Reply:
            await self._sign_out()
            return Reply(LogoutResponse())

        return run
