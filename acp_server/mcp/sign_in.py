"""Sign-in to remote servers with OAuth: the SDK's flow, with stored tokens.

Knows the SDK. The SDK's provider holds its lock while the server works on a request, so that calls
would wait for each other. It is therefore used for refreshing and signing in only, over a client of
its own; requests to the server get the token here. The provider is created for each use, because
other processes may have replaced the stored tokens meanwhile.
"""

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from ipaddress import ip_address
from pathlib import Path
from typing import cast

import anyio
import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.utils import extract_scope_from_www_auth, issuers_match, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from acp_server.mcp.ports import (
    Json,
    ServerError,
    SignInPage,
    SignInPrompt,
    SignInRequiredError,
)
from acp_server.mcp.sign_in_callback import CallbackListener, open_callback_listener
from acp_server.mcp.sign_in_store import SignInStore
from acp_server.session.ports.mcp_configs import HttpServerConfig, SignInConfig
from acp_server.text.lines import to_single_line

logger = logging.getLogger(__name__)

CLIENT_NAME = "acp-server"
HTTP_SECONDS = 30.0
LATE_ANSWER_SECONDS = 1.0
"""How long a cancelled request waits for the answer of the sign-in server."""
MAX_RESPONSE_BYTES = 1024 * 1024
EXPIRY_MARGIN_SECONDS = 30.0
"""A token is refreshed so long before it expires, but not in the first half of its lifetime."""
LONG_AGO = 1.0
"""An expiry time in the past; the SDK takes 0 for none."""
MAX_KNOWN_SECRETS = 20
TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

SIGN_IN = "it wants you to sign in"
SIGN_IN_AGAIN = "your sign-in has expired or was revoked"
NOT_ENCRYPTED = "its sign-in would not be encrypted: {origin}"
NO_PKCE = "its sign-in is not protected against stolen codes: it has no PKCE with S256"
NO_PAGE = "its sign-in page has an address that cannot be used: {page}"
NO_REGISTRATION = (
    "it does not let this program register itself; give it an `Authorization` header in your "
    "settings, or register a client there and set `oauth: {{client_id: ...}}` ({reason})"
)
NOTHING_GRANTED = "its sign-in gave no token"
STILL_REFUSED = "it refuses the sign-in that was just made"
TOO_LATE = "the sign-in was not completed within {seconds:g} s"
OTHER_ISSUER = (
    "its sign-in is at {issuer} now, but the client secret in your settings belongs to {pinned}, "
    "and is sent nowhere else; if this is right, sign out first"
)
OTHER_CONFIGURED_ISSUER = (
    "its sign-in is at {issuer}, but your settings say that the client secret belongs to {pinned}"
)
MAX_REASON_CHARACTERS = 200
UNAUTHORIZED, FORBIDDEN = 401, 403


class _Stored(BaseModel):
    """The values of one sign-in, as they are stored."""

    tokens: OAuthToken | None = None
    expires_at: float | None = None
    """When the tokens are refreshed, in seconds since the epoch; None if they never expire."""
    client: OAuthClientInformationFull | None = None
    metadata: OAuthMetadata | None = None
    """Says where tokens are refreshed, also after a restart."""
    resource: ProtectedResourceMetadata | None = None
    """Says which server the tokens are for."""

    @property
    def usable_token(self) -> str | None:
        """The access token if it has not expired."""
        if self.tokens is None:
            return None
        is_expired = self.expires_at is not None and time.time() >= self.expires_at
        return None if is_expired else self.tokens.access_token

    @property
    def can_refresh(self) -> bool:
        return bool(self.tokens and self.tokens.refresh_token and self.client)

    @property
    def issuer(self) -> str:
        """The sign-in server that gave the tokens; empty if there are none."""
        if self.client is not None and self.client.issuer:
            return self.client.issuer
        return "" if self.metadata is None else str(self.metadata.issuer)


class SignInAccount:
    """The tokens of one server in this process, shared by the connections of all sessions."""

    def __init__(self, server: HttpServerConfig, config: SignInConfig, home: Path) -> None:
        self._server = server
        self._config = config
        self._store = SignInStore(home, server)
        self._stored = _Stored()
        self._is_loaded = False
        self._lock = anyio.Lock()
        """Held while tokens are read or refreshed."""
        self._sign_in_lock = anyio.Lock()
        self._wanted_scope = ""
        """The rights that a request lacked, and those that the user has granted."""
        self._secrets: dict[str, None] = {}
        self.signed_in = anyio.Event()
        """Set and replaced at each sign-in."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens that this process has seen lately, so that texts can be redacted."""
        return tuple(self._secrets)

    @property
    def is_signed_in(self) -> bool:
        """Whether there is a token that has not been refused."""
        return self._stored.tokens is not None

    async def has_sign_in(self) -> bool:
        """Return whether there is a sign-in to sign out of, also one whose tokens were refused.

        It still says to which sign-in server a configured secret belongs.
        """
        return self.is_signed_in or (await self._read()).tokens is not None

    async def token(self) -> str | None:
        """Return a token for a request, refreshed if it has expired; None before a sign-in.

        Raises:
            ServerError: The token could not be refreshed for now.
        """
        # Most servers need no sign-in: a keyring is not opened before one has asked for it.
        if not self._is_loaded and not self._config.is_expected:
            return None
        await self._load()
        if self._stored.usable_token is not None:
            return self._stored.usable_token
        async with self._lock:
            # Another request may have refreshed it while this one waited.
            if self._stored.usable_token is None:
                await self._refresh(refused=None)
            tokens = self._stored.tokens
        # A fresh token is used even if it expires at once.
        return None if tokens is None else tokens.access_token

    async def renew(
        self, request: httpx2.Request, refusal: httpx2.Response, prompt: SignInPrompt | None
    ) -> str | None:
        """Return another token after the server has refused a request.

        None if the token is good but lacks rights for this request; the next sign-in asks for them.

        Raises:
            SignInRequiredError: The user must sign in, and `prompt` is None.
            ServerError: The sign-in or the refresh failed.
        """
        refused = request.headers.get("authorization", "").removeprefix("Bearer ") or None
        if refusal.status_code == FORBIDDEN:
            granted = self._stored.tokens and self._stored.tokens.scope
            self._wanted_scope = union_scopes(granted, extract_scope_from_www_auth(refusal)) or ""
            if prompt is None:
                return None
        else:
            async with self._lock:
                await self._load()
                if self._stored.usable_token in {None, refused}:
                    await self._refresh(refused)
                tokens = self._stored.tokens
            if tokens is not None and tokens.access_token != refused:
                return tokens.access_token
            if prompt is None:
                raise SignInRequiredError(SIGN_IN_AGAIN if refused else SIGN_IN)
        # Another lock: other sessions must not wait for the user to learn that a sign-in is needed.
        async with self._sign_in_lock:
            token = self._stored.usable_token
            if token is not None and token != refused:  # from another session meanwhile
                return token
            return await self._sign_in(request, refusal, prompt)

    async def sign_out(self) -> None:
        """Revoke the tokens, if the server can, and delete them and the registration.

        Raises:
            ServerError: They could not be deleted.
        """
        async with self._lock:
            await self._load()
            await self._revoke()
            self._stored = _Stored()
            await self._store.delete()

    async def _load(self) -> None:
        if not self._is_loaded:
            self._stored = await self._read()
            self._is_loaded = True
            self._remember_secrets()

    async def _read(self) -> _Stored:
        try:
            stored = _Stored.model_validate(dict(await self._store.load()))
        except ValidationError:  # of another version, or damaged: the user signs in again
            return _Stored()
        is_other_client = (
            self._config.client_id
            and stored.client is not None
            and stored.client.client_id != self._config.client_id
        )
        return _Stored() if is_other_client else stored

    async def _save(self, stored: _Stored) -> None:
        self._stored = stored
        self._remember_secrets()
        values = cast("Json", stored.model_dump(mode="json", exclude_none=True))
        await self._store.save(values)

    def _remember_secrets(self) -> None:
        tokens, client = self._stored.tokens, self._stored.client
        found = (
            tokens and tokens.access_token,
            tokens and tokens.refresh_token,
            client and client.client_secret,
        )
        self._secrets |= dict.fromkeys(each for each in found if each)
        while len(self._secrets) > MAX_KNOWN_SECRETS:
            del self._secrets[next(iter(self._secrets))]

    async def _refresh(self, refused: str | None) -> None:
        """Refresh the tokens, or take those that another process has refreshed.

        Without a usable token afterwards, the user must sign in.

        Raises:
            ServerError: The sign-in server cannot be reached, or has a passing fault.
        """
        stored = await self._read()
        if stored.usable_token in {None, refused} and stored.can_refresh:
            provider, storage = self._provider(stored, stored.client, None)
            provider.context.oauth_metadata = stored.metadata
            # Security: a refreshed token is bound to this server as well (RFC 8707).
            provider.context.protected_resource_metadata = stored.resource
            provider.context.token_expiry_time = LONG_AGO
            await self._exchange(provider, storage)
            if storage.saved is not None:
                return
            # Refused. Another process may have used up the refresh token a moment ago.
            stored = await self._read()
        self._stored = _Stored() if stored.usable_token in {None, refused} else stored
        self._remember_secrets()

    async def _exchange(self, provider: OAuthClientProvider, storage: "_Storage") -> None:
        """Exchange the refresh token, and store what the sign-in server answers.

        A cancelled caller waits for the answer, for a while: the refresh token may be used up, and
        without the new one the user would have to sign in again.

        Raises:
            ServerError: As `_run`.
        """
        work = anyio.CancelScope(shield=True)
        is_done = anyio.Event()
        failures = list[ServerError]()

        async def run() -> None:
            with work:
                try:
                    await self._run(provider, httpx2.Request("GET", self._server.url), None)
                    if storage.saved is not None:
                        await self._save(storage.saved)
                except ServerError as error:
                    failures.append(error)
            is_done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            try:
                await is_done.wait()
            except anyio.get_cancelled_exc_class():
                work.deadline = anyio.current_time() + LATE_ANSWER_SECONDS
                raise
        for failure in failures:
            raise failure

    async def _sign_in(
        self, request: httpx2.Request, refusal: httpx2.Response, prompt: SignInPrompt
    ) -> str:
        """Let the user sign in, as the refusal of a request demands; return the new token.

        The registration is made anew: the old one may have expired, and names another port.

        Raises:
            SignInRequiredError: It failed, or the user declined.
        """
        config = self._config
        challenge = _challenge(refusal, config.scope or self._wanted_scope)
        try:
            _require_encryption(httpx2.URL(self._server.url), self._server)
            # Security: a configured secret belongs to one sign-in server, and the MCP server says
            # which one it is: not another one later than the first time.
            pinned = config.issuer or (await self._read()).issuer
            async with open_callback_listener(config.redirect_host, config.redirect_port) as back:
                client = _configured_client(config, back.url, pinned)
                page = _PageVisit(self._server, config, back, prompt, pinned)
                provider, storage = self._provider(_Stored(), client, page)
                await self._run(provider, request, challenge)
            saved = storage.saved
            if saved is None or saved.tokens is None:
                raise ServerError(NOTHING_GRANTED)
            await self._save(saved)
            self.signed_in.set()
            self.signed_in = anyio.Event()
            return saved.tokens.access_token
        except ServerError as error:
            raise SignInRequiredError(error.reason) from error

    def _provider(
        self, stored: _Stored, client: OAuthClientInformationFull | None, page: "_PageVisit | None"
    ) -> "tuple[OAuthClientProvider, _Storage]":
        config = self._config
        secret = bool(client and client.client_secret)
        metadata = OAuthClientMetadata(
            client_name=config.client_name or CLIENT_NAME,
            redirect_uris=None if page is None else [AnyUrl(page.listener.url)],
            token_endpoint_auth_method="client_secret_post" if secret else "none",
        )
        storage = _Storage(stored.tokens, client)
        provider = OAuthClientProvider(
            self._server.url,
            metadata,
            storage,
            None if page is None else page.show,
            None if page is None else page.wait,
        )
        storage.provider = provider
        if page is not None:
            page.provider = provider
        return provider, storage

    async def _run(
        self,
        provider: OAuthClientProvider,
        request: httpx2.Request,
        refusal: httpx2.Response | None,
    ) -> None:
        """Run the SDK's flow up to the point where it sends `request` with a token, or without.

        `refusal` answers its first attempt to send it, which starts a sign-in.

        Raises:
            ServerError: The flow failed.
        """
        try:
            async with aclosing(provider.async_auth_flow(request)) as flow:
                outgoing = await anext(flow)
                if refusal is not None:
                    outgoing = await flow.asend(refusal)
                while outgoing is not request:
                    outgoing = await flow.asend(await self._send(outgoing))
        except OAuthRegistrationError as error:
            raise ServerError(NO_REGISTRATION.format(reason=_short(error))) from error
        except OAuthTokenError as error:
            raise ServerError(f"{NOTHING_GRANTED}: {_short(error)}") from error
        except (OAuthFlowError, ValueError) as error:
            raise ServerError(f"its sign-in failed: {_short(error)}") from error

    async def _send(self, outgoing: httpx2.Request) -> httpx2.Response:
        """Send a request of the flow to the sign-in server.

        Raises:
            ServerError: It cannot be reached, or has a passing fault.
        """
        _require_encryption(outgoing.url, self._server)
        headers = {**outgoing.headers, "accept-encoding": "identity"}
        try:
            async with httpx2.AsyncClient(timeout=HTTP_SECONDS) as client:
                sent = client.build_request(
                    outgoing.method, outgoing.url, headers=headers, content=outgoing.content
                )
                response = await client.send(sent, stream=True)
                body = await _read_body(response)
        except httpx2.HTTPError as error:
            raise ServerError(f"its sign-in cannot be reached: {_short(error)}") from error
        if response.status_code in TRANSIENT_STATUSES:
            raise ServerError(f"its sign-in answered HTTP {response.status_code}")
        kept = {name: response.headers[name] for name in ("location",) if name in response.headers}
        answer = httpx2.Response(response.status_code, headers=kept, content=body, request=sent)
        answer.next_request = response.next_request
        return answer

    async def _revoke(self) -> None:
        """Revoke the refresh token, or else the access token, if the server can."""
        tokens, metadata = self._stored.tokens, self._stored.metadata
        if tokens is None or metadata is None or metadata.revocation_endpoint is None:
            return
        provider, _ = self._provider(self._stored, self._stored.client, None)
        provider.context.client_info = self._stored.client
        data = {"token": tokens.refresh_token or tokens.access_token}
        client = self._stored.client
        if client is not None:
            data["client_id"] = client.client_id
            if not client.client_secret:  # the same as none, and some servers insist on it
                data["client_secret"] = ""
        try:
            data, headers = provider.context.prepare_token_auth(data, {})
            url = str(metadata.revocation_endpoint)
            await self._send(httpx2.Request("POST", url, data=data, headers=headers))
        except (ServerError, OAuthFlowError) as error:
            # Deleting them here is what the user asked for; they also expire.
            logger.info("could not revoke a token of an MCP server: %s", type(error).__name__)


class SignInAuth(httpx2.Auth):
    """Adds the token of an account to the requests of a connection."""

    def __init__(self, account: SignInAccount, prompt: Callable[[], SignInPrompt | None]) -> None:
        """Prepare; if `prompt` returns none, a request that needs a sign-in fails."""
        self._account = account
        self._prompt = prompt

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token, and once more with another if it is refused.

        Raises:
            SignInRequiredError: The user must sign in, or has not done so.
        """
        _authorize(request, await self._account.token())
        response = yield request
        if not _wants_sign_in(response):
            return
        token = await self._account.renew(request, response, self._prompt())
        if token is None:
            return
        _authorize(request, token)
        response = yield request
        if _wants_sign_in(response):
            raise SignInRequiredError(STILL_REFUSED)


class _Storage:
    """The SDK's token storage for one run of its flow."""

    provider: OAuthClientProvider

    def __init__(
        self, tokens: OAuthToken | None, client: OAuthClientInformationFull | None
    ) -> None:
        self._tokens = tokens
        self._client = client
        self.saved: _Stored | None = None
        """What the flow obtained; None so far."""

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        lifetime = tokens.expires_in
        expires_at = (
            None
            if lifetime is None
            else time.time() + max(lifetime - EXPIRY_MARGIN_SECONDS, lifetime / 2)
        )
        context = self.provider.context
        client = context.client_info
        if client is not None and not client.issuer:
            client = client.model_copy(update={"issuer": _issuer_of(self.provider)})
        self.saved = _Stored(
            tokens=tokens,
            expires_at=expires_at,
            client=client,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class _PageVisit:
    """The part of a sign-in that happens in the user's browser."""

    provider: OAuthClientProvider

    def __init__(
        self,
        server: HttpServerConfig,
        config: SignInConfig,
        listener: CallbackListener,
        prompt: SignInPrompt,
        pinned_issuer: str,
    ) -> None:
        self._server = server
        self._config = config
        self.listener = listener
        self._prompt = prompt
        self._pinned_issuer = pinned_issuer

    async def show(self, url: str) -> None:
        """Let the user open the sign-in page.

        Raises:
            ServerError: It is not safe, or the user declined.
        """
        page = httpx2.URL(url)
        _require_encryption(page, self._server)
        self._require_pinned_issuer()
        metadata = self.provider.context.oauth_metadata
        methods = metadata and metadata.code_challenge_methods_supported
        if methods is not None and "S256" not in methods:
            raise ServerError(NO_PKCE)
        state = page.params.get("state", "")
        if not state:  # its address has a fragment, behind which nothing is sent
            raise ServerError(NO_PAGE.format(page=to_single_line(url, MAX_REASON_CHARACTERS)))
        self.listener.expect(state)
        await self._prompt.show(SignInPage(url, page.host, self.listener.port))

    def _require_pinned_issuer(self) -> None:
        """Check that a configured secret goes to the sign-in server that it belongs to.

        The SDK has already dropped a client of another one.

        Raises:
            ServerError: It would go to another one.
        """
        issuer, pinned = _issuer_of(self.provider), self._pinned_issuer
        if self._config.client_secret and pinned and not issuers_match(issuer, pinned):
            reason = OTHER_CONFIGURED_ISSUER if self._config.issuer else OTHER_ISSUER
            raise ServerError(reason.format(issuer=issuer, pinned=pinned))

    async def wait(self) -> AuthorizationCodeResult:
        """Wait for the browser to come back.

        Raises:
            ServerError: It did not in time, or the sign-in was refused.
        """
        seconds = self._config.page_seconds
        with anyio.move_on_after(seconds):
            redirect = await self.listener.wait()
            return AuthorizationCodeResult(
                code=redirect.code, state=redirect.state, iss=redirect.issuer
            )
        raise ServerError(TOO_LATE.format(seconds=seconds))


def _authorize(request: httpx2.Request, token: str | None) -> None:
    if token is not None:
        request.headers["authorization"] = f"Bearer {token}"


def _wants_sign_in(response: httpx2.Response) -> bool:
    if response.status_code == UNAUTHORIZED:
        return True
    challenge = response.headers.get("www-authenticate", "")
    return response.status_code == FORBIDDEN and "insufficient_scope" in challenge


def _challenge(refusal: httpx2.Response, scope: str) -> httpx2.Response:
    """Return a refusal that starts a sign-in, for this scope if there is one."""
    challenge = refusal.headers.get("www-authenticate", "Bearer")
    if scope:  # the SDK takes the first one that it finds
        kind, _, rest = challenge.partition(" ")
        challenge = f'{kind} scope="{scope}", {rest}'
    headers = {"www-authenticate": challenge}
    return httpx2.Response(UNAUTHORIZED, headers=headers, request=refusal.request)


def _issuer_of(provider: OAuthClientProvider) -> str:
    """Return the sign-in server that a flow has found: without metadata, the MCP server itself."""
    context = provider.context
    if context.oauth_metadata is not None:
        return str(context.oauth_metadata.issuer)
    return context.auth_server_url or context.get_authorization_base_url(context.server_url)


def _configured_client(
    config: SignInConfig, redirect_url: str, issuer: str
) -> OAuthClientInformationFull | None:
    if not config.client_id:
        return None
    return OAuthClientInformationFull(
        issuer=issuer if config.client_secret and issuer else None,
        client_id=config.client_id,
        client_secret=config.client_secret or None,
        redirect_uris=[AnyUrl(redirect_url)],
        token_endpoint_auth_method="client_secret_post" if config.client_secret else "none",
    )


def _require_encryption(url: httpx2.URL, server: HttpServerConfig) -> None:
    """Check that a secret may be sent to an address.

    Security: a server decides where its sign-in is. Only one on this machine may lead to another
    program on this machine, which has no certificate.

    Raises:
        ServerError: It is not encrypted.
    """
    is_local = _is_loopback(url.host) and _is_loopback(httpx2.URL(server.url).host)
    if url.scheme != "https" and not (url.scheme == "http" and is_local):
        raise ServerError(NOT_ENCRYPTED.format(origin=f"{url.scheme}://{url.host}"))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def _read_body(response: httpx2.Response) -> bytes:
    body = b""
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_RESPONSE_BYTES:
                raise ServerError("its sign-in sent too long an answer")
    finally:
        await response.aclose()
    return body


def _short(error: Exception) -> str:
    return to_single_line(str(error), MAX_REASON_CHARACTERS) or type(error).__name__
