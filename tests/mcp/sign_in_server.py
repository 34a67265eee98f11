"""A server of the MCP SDK with sign-in, on loopback, and the browser of a user who signs in.

with sign_in_server() as remote:
    HttpServerConfig("s", remote.url)
"""

import re
import secrets
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import anyio
import httpx2
import uvicorn
from anyio import to_thread
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SCOPES = ["notes"]
POLL_SECONDS = 0.01


class _Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Grants everything to everybody; tokens rotate."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refresh_tokens: dict[str, RefreshToken] = {}
        self.issued: list[str] = []
        """All tokens and secrets that clients were given."""
        self.lifetime_seconds = 3600
        self.accepts_used_tokens = False
        """Whether a used refresh token is accepted again, as if its answer had been lost."""
        self.refreshes = 0
        self.may_answer = threading.Event()
        """Whether the answer to a refresh is sent; until then the token is used up already."""
        self.may_answer.set()
        self.was_asked = threading.Event()
        self.revoked: list[str] = []

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info
        if client_info.client_secret:
            self.issued.append(client_info.client_secret)

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or SCOPES,
            expires_at=time.time() + 300,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        del client
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._grant(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        del client
        return self.refresh_tokens.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh_tokens.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        if self.accepts_used_tokens:
            self.refresh_tokens[refresh_token.token] = refresh_token
        granted = self._grant(client, scopes, None)
        self.refreshes += 1
        self.was_asked.set()
        await to_thread.run_sync(self.may_answer.wait, HANG_TIMEOUT_SECONDS)
        return granted

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.revoked.append(token.token)
        self.tokens.clear()
        self.refresh_tokens.clear()

    def _grant(
        self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None
    ) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(12)}", f"refresh-{secrets.token_hex(12)}"
        self.issued += [access, refresh]
        self.tokens[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, resource=resource
        )
        self.refresh_tokens[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes
        )
        return OAuthToken(
            access_token=access,
            refresh_token=refresh,
            expires_in=self.lifetime_seconds,
            scope=" ".join(scopes),
        )


@dataclass(slots=True)
class _TokenWatch:
    """Notes for which server each token is asked, and with which secret."""

    app: ASGIApp
    resources: list[str]
    secrets: list[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/token":
            await self.app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        sent = parse_qs(body.decode())
        self.resources.append(sent.get("resource", [""])[0])
        self.secrets += sent.get("client_secret", [])
        messages: Iterator[Message] = iter([{"type": "http.request", "body": body}])

        async def receive_again() -> Message:
            return next(messages, None) or await receive()

        await self.app(scope, receive_again, send)


@dataclass(slots=True)
class SignInServer:
    """A running server."""

    port: int
    path: str
    provider: _Provider = field(default_factory=_Provider)
    requested_resources: list[str] = field(default_factory=list[str])
    """For which server each token was asked; empty if a request did not say it."""
    received_secrets: list[str] = field(default_factory=list[str])
    """The client secrets that came with requests for tokens."""
    sign_in_issuer: str = ""
    """Where it says that its sign-in is; empty for itself."""

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"


class _QuickServer(uvicorn.Server):
    """A server that ends as soon as it should: the original looks ten times a second."""

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:  # noqa: ASYNC110  another thread sets it
            await anyio.sleep(POLL_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets and connections, and let what still runs end."""
        for server in self.servers:
            server.close()
        for sock in sockets or ():
            sock.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with anyio.move_on_after(1):
            while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110
                await anyio.sleep(POLL_SECONDS)
        for task in list(self.server_state.tasks):
            task.cancel()
        await self.lifespan.shutdown()


@contextmanager
def sign_in_server(
    *,
    is_sse: bool = False,
    metadata: dict[str, JsonValue] | None = None,
    can_register: bool = True,
) -> Generator[SignInServer]:
    """Serve in a thread; `metadata` overrides what the sign-in says of itself."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()  # who connects before the thread serves waits instead of being refused
        remote = SignInServer(sock.getsockname()[1], "/sse" if is_sse else "/mcp")
        server = MCPServer(
            "notes",
            auth_server_provider=remote.provider,
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(remote.issuer),
                resource_server_url=AnyHttpUrl(remote.url),
                client_registration_options=ClientRegistrationOptions(
                    enabled=can_register, valid_scopes=SCOPES, default_scopes=SCOPES
                ),
                revocation_options=RevocationOptions(enabled=True),
                required_scopes=SCOPES,
                validate_token_resource=False,
            ),
            log_level="CRITICAL",
        )

        @server.tool()
        def echo(text: str) -> str:
            """Return a text."""
            return text

        @server.tool()
        def show_tokens() -> str:
            """Return all tokens that were granted, as a careless server would."""
            return " ".join(remote.provider.issued)

        app = server.sse_app() if is_sse else server.streamable_http_app()

        app.router.routes[:0] = _described(remote, metadata)
        config = uvicorn.Config(
            _TokenWatch(app, remote.requested_resources, remote.received_secrets),
            log_level="critical",
        )
        runner = _QuickServer(config)
        thread = threading.Thread(target=runner.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield remote
        finally:
            runner.should_exit = True
            thread.join()


def _described(remote: SignInServer, metadata: dict[str, JsonValue] | None) -> list[Route]:
    """Return what the server says about its sign-in, and the sign-in of itself."""

    async def describe_resource(request: Request) -> JSONResponse:
        del request
        servers: JsonValue = [remote.sign_in_issuer or remote.issuer]
        return JSONResponse({"resource": remote.url, "authorization_servers": servers})

    async def describe_sign_in(request: Request) -> JSONResponse:
        del request
        base: dict[str, JsonValue] = {
            "issuer": remote.issuer,
            "authorization_endpoint": f"{remote.issuer}authorize",
            "token_endpoint": f"{remote.issuer}token",
            "registration_endpoint": f"{remote.issuer}register",
        }
        return JSONResponse(base | (metadata or {}))

    routes = [Route(f"/.well-known/oauth-protected-resource{remote.path}", describe_resource)]
    if metadata is not None:
        routes.append(Route("/.well-known/oauth-authorization-server", describe_sign_in))
    return routes


def find_page(text: str) -> str:
    """Return the address of the sign-in page in a text for the user."""
    found = re.search(r"http://127\.0\.0\.1:\d+/authorize\?\S+", text)
    assert found is not None, text
    return found[0]


async def visit(page: str) -> httpx2.Response:
    """Sign in on a page, and follow it back to the program that waits."""
    async with httpx2.AsyncClient(
        follow_redirects=True, timeout=HANG_TIMEOUT_SECONDS, trust_env=False
    ) as browser:
        return await browser.get(page)
