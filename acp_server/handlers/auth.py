"""Handlers of authenticate and logout. A stored key signs in; none is sent over the wire."""

from collections.abc import Awaitable, Callable
from typing import Literal

from acp_server.handlers.errors import AUTH_REQUIRED
from acp_server.jsonrpc.dispatching import Reply
from acp_server.jsonrpc.errors import InvalidParamsError, RpcError
from acp_server.protocol.extensions import (
    AuthAccount,
    AuthStatusRequest,
    AuthStatusResponse,
)
from acp_server.protocol.initialize_request import (
    AuthenticateRequest,
    AuthenticateResponse,
    LogoutRequest,
    LogoutResponse,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.handshake import AUTH_METHOD_IDS

NO_KEY = (
    "no API key found: set ANTHROPIC_API_KEY where the editor starts this server, or run "
    "`acp-server setup` in a terminal"
)


@frozen_dataclass
class SignInState:
    """Whether the user must sign in, and the names of the credentials in use."""

    state: Literal["authenticated", "unauthenticated", "not_required", "unknown"]
    accounts: tuple[str, ...] = ()


async def _unknown_state() -> SignInState:
    return SignInState("unknown")


class AuthHandlers:
    """Handlers of the authentication methods."""

    def __init__(
        self,
        sign_in: Callable[[], Awaitable[bool]],
        sign_out: Callable[[], Awaitable[None]],
        hint: str | None = None,
        state: Callable[[], Awaitable[SignInState]] | None = None,
    ) -> None:
        """Take the callbacks that sign in and out; `hint` replaces the usual advice."""
        self._state = state or _unknown_state
        self._sign_in = sign_in
        self._sign_out = sign_out
        self._hint = hint or NO_KEY

    async def authenticate(self, request: AuthenticateRequest) -> Reply:
        """Look for a key again; without one, answer with advice where to put it."""
        if request.method_id not in AUTH_METHOD_IDS:
            known = ", ".join(AUTH_METHOD_IDS)
            reason = f"methodId: unknown method {request.method_id!r}; use one of {known}"
            raise InvalidParamsError(reason)
        if not await self._sign_in():
            message = f"Authentication required: {self._hint}"
            raise RpcError(AUTH_REQUIRED, message, {"details": self._hint})
        return Reply(AuthenticateResponse())

    async def status(self, request: AuthStatusRequest) -> Reply:
        """Say whether the user must sign in; no credential is asked of an endpoint."""
        del request
        found = await self._state()
        accounts = tuple(AuthAccount(label=label, active=True) for label in found.accounts)
        return Reply(AuthStatusResponse(state=found.state, accounts=accounts))

    async def logout(self, request: LogoutRequest) -> Reply:
        """Delete the stored key. Prompts that need a model are refused from then on."""
        del request
        await self._sign_out()
        return Reply(LogoutResponse())
