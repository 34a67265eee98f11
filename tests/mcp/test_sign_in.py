"""Signing in to servers of the MCP SDK over HTTP, with a user who has a browser."""

import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio import to_thread
from pydantic import AnyUrl, JsonValue

from acp_server.mcp import sign_in as sign_in_module
from acp_server.mcp.sign_in import SignInAccount
from acp_server.session.ports.elicitation import ElicitationForm, ElicitationResult, ElicitationUrl
from acp_server.session.ports.mcp_configs import HttpServerConfig, SignInConfig
from tests.mcp.live_servers import FakeElicitor, LiveServers, LiveServersFactory, open_factory
from tests.mcp.sign_in_server import SignInServer, find_page, sign_in_server, visit
from tests.mcp.test_real_servers import free_port
from tests.support.case_table import named_case
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import PAGE_CAN_BE_CLOSED, WAITING_FOR_SIGN_IN

NEEDS = "The MCP server “s” is not available yet: it wants you to sign in."
SIGNED_IN = "You are signed in to s; the model can use its tools from now on."


class Browser(FakeElicitor):
    """An editor that opens pages; the user signs in at once."""

    async def ask(self, question: ElicitationForm | ElicitationUrl) -> ElicitationResult:
        assert isinstance(question, ElicitationUrl)
        self.questions.append(question)
        await visit(question.url)
        return ElicitationResult("accept")


async def ignore(text: str) -> None:
    del text


async def sign_in(live: LiveServers) -> str:
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        return (await live.servers.run_command("sign-in s", ignore)).text


async def sign_in_by_link(
    live: LiveServers,
    before: Callable[[str], Awaitable[None]] | None = None,
    *,
    is_completed: bool = True,
) -> str:
    """Sign in as the user of an editor that opens no pages; `before` happens to the page first."""
    answers: list[str] = []
    shown = anyio.Event()
    texts: list[str] = []

    async def show(text: str) -> None:
        texts.append(text)
        shown.set()

    async def run() -> None:
        answers.append((await live.servers.run_command("sign-in s", show)).text)

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await shown.wait()
            page = find_page(texts[0])
            if before is not None:
                await before(page)
            if is_completed:
                assert PAGE_CAN_BE_CLOSED in (await visit(page)).text
    return answers[0]


@asynccontextmanager
async def opened(
    tmp_path: Path,
    remote: SignInServer,
    config: SignInConfig | None = None,
    browser: FakeElicitor | None = None,
) -> AsyncGenerator[tuple[LiveServersFactory, LiveServers]]:
    server = HttpServerConfig(
        "s",
        remote.url,
        transport="sse" if remote.path == "/sse" else "http",
        sign_in=config or SignInConfig(),
    )
    async with open_factory(tmp_path) as factory:
        factory.elicitor = browser or Browser()
        async with factory.open_servers(server) as live:
            yield factory, live


@pytest.mark.parametrize("is_sse", [False, True])
async def test_a_user_signs_in_and_the_tokens_outlive_the_process(
    tmp_path: Path, *, is_sse: bool
) -> None:
    with sign_in_server(is_sse=is_sse) as remote:
        async with opened(tmp_path, remote) as (factory, live):
            assert live.notices == [
                f"{NEEDS} Run `/mcp sign-in s` for that; everything else works without it."
            ]
            assert "waiting for you to sign in (`/mcp sign-in s`)" in live.servers.describe()
            assert live.tool_names() == []
            assert await sign_in(live) == SIGNED_IN
            await live.servers.refresh_tools()
            assert (await live.call("s__echo", {"text": "hello"})).text == "hello"
            assert "connected, signed in" in live.servers.describe()
            (question,) = factory.elicitor.questions
            assert isinstance(question, ElicitationUrl)
            assert factory.elicitor.completed == [question.id]
        file = tmp_path / "acp" / "credentials.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        async with opened(tmp_path, remote) as (_, live):
            assert (await live.call("s__echo", {"text": "again"})).text == "again"
            assert live.notices == []
        assert len(remote.provider.clients) == 1


async def test_the_only_server_is_meant_also_while_it_is_still_connecting(tmp_path: Path) -> None:
    with sign_in_server() as remote:
        config = HttpServerConfig("s", remote.url, sign_in=SignInConfig())
        async with open_factory(tmp_path) as factory:
            factory.elicitor = Browser()
            live = factory.create(config)
            live.servers.start(lambda: None)
            assert "connecting" in live.servers.describe()
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                answer = await live.servers.run_command("sign-in", ignore)
            assert answer.text == SIGNED_IN
            await live.servers.close()


async def test_an_expired_token_is_refreshed_also_after_a_restart(tmp_path: Path) -> None:
    with sign_in_server() as remote:
        remote.provider.lifetime_seconds = 0
        # The end of a session may cut off a request that has just used the newest token.
        remote.provider.accepts_used_tokens = True
        async with opened(tmp_path, remote) as (_, live):
            await sign_in(live)
            await live.servers.refresh_tools()
            assert (await live.call("s__echo", {"text": "hello"})).text == "hello"
        before = remote.provider.refreshes
        async with opened(tmp_path, remote) as (_, live):
            assert (await live.call("s__echo", {"text": "hello"})).text == "hello"
        assert remote.provider.refreshes > before > 0
        assert len(remote.provider.clients) == 1
        # Each token is asked for this server alone, also by a process that has found the old one.
        assert set(remote.requested_resources) == {remote.url}
        assert len(remote.requested_resources) == 1 + remote.provider.refreshes


async def test_a_cancelled_request_stores_the_token_that_replaces_a_used_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in_module, "LATE_ANSWER_SECONDS", HANG_TIMEOUT_SECONDS)
    with sign_in_server() as remote:
        async with opened(tmp_path, remote) as (_, live):
            await sign_in(live)
        server = HttpServerConfig("s", remote.url, transport="http", sign_in=SignInConfig())
        account = SignInAccount(server, SignInConfig(is_expected=True), tmp_path)
        assert await account.token()
        remote.provider.tokens.clear()
        remote.provider.may_answer.clear()
        remote.provider.was_asked.clear()
        refusal = httpx2.Response(401)

        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                request = httpx2.Request("GET", remote.url)
                request.headers["authorization"] = f"Bearer {await account.token()}"
                tasks.start_soon(account.renew, request, refusal, None)
                await to_thread.run_sync(remote.provider.was_asked.wait, HANG_TIMEOUT_SECONDS)
                scope.cancel()
                remote.provider.may_answer.set()

        async with opened(tmp_path, remote) as (_, live):
            assert (await live.call("s__echo", {"text": "hello"})).text == "hello"


async def test_a_revoked_token_is_refreshed_and_with_no_other_way_the_user_signs_in_again(
    tmp_path: Path,
) -> None:
    with sign_in_server() as remote:
        async with opened(tmp_path, remote) as (_, live):
            await sign_in(live)
            await live.servers.refresh_tools()
            remote.provider.tokens.clear()
            assert (await live.call("s__echo", {"text": "hello"})).text == "hello"
            assert remote.provider.refreshes == 1
            remote.provider.tokens.clear()
            remote.provider.refresh_tokens.clear()
            assert (await live.call("s__echo")).is_error
            await live.wait_for_description("your sign-in has expired or was revoked")
            assert "your sign-in has expired or was revoked" in live.notices[-1]
            assert await sign_in(live) == SIGNED_IN
            assert (await live.call("s__echo", {"text": "back"})).text == "back"


async def test_a_sign_in_that_did_not_succeed_can_be_repeated(tmp_path: Path) -> None:
    """It is declined, refused on the page and cancelled; then hostile pages interfere."""
    with sign_in_server() as remote:
        async with opened(tmp_path, remote, browser=FakeElicitor()) as (factory, live):
            with named_case("declined"):
                assert await sign_in(live) == "s: you declined the sign-in."
                assert len(live.notices) == 1
            factory.elicitor.shows_pages = False
            with named_case("refused on the page"):
                answer = await sign_in_by_link(live, refuse, is_completed=False)
                assert answer == "s: the sign-in was refused (access_denied: No!)."
            with named_case("cancelled"):
                await cancel_sign_in(live)
            with named_case("only the redirect of the sign-in counts"):
                assert await sign_in_by_link(live, attack) == SIGNED_IN


async def refuse(page: str) -> None:
    """Answer as the page of a user who refuses."""
    query = httpx2.URL(page).params
    back = {"state": query["state"], "error": "access_denied", "error_description": "No!"}
    async with httpx2.AsyncClient(trust_env=False) as client:
        assert "refused" in (await client.get(query["redirect_uri"], params=back)).text


async def cancel_sign_in(live: LiveServers) -> None:
    """Cancel the command once its page is shown; nothing may listen any more."""
    pages: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def show(text: str) -> None:
            pages.append(find_page(text))
            tasks.cancel_scope.cancel()

        tasks.start_soon(live.servers.run_command, "sign-in s", show)
    await live.wait_for_description(WAITING_FOR_SIGN_IN)
    with pytest.raises(httpx2.ConnectError):
        await visit(pages[0])


async def test_a_sign_in_connects_all_sessions_and_signing_out_revokes_its_tokens(
    tmp_path: Path,
) -> None:
    with sign_in_server() as remote:
        async with opened(tmp_path, remote) as (factory, live):
            other = factory.create(HttpServerConfig("s", remote.url))
            other.servers.start(lambda: None)
            await other.servers.wait_ready()
            await sign_in(live)
            await other.wait_for_description("connected, signed in")
            await other.servers.close()
            with named_case("no text shows a token"):
                await live.servers.refresh_tools()
                shown = (await live.call("s__show_tokens")).text
                assert set(shown.split()) == {"[hidden]"}
                assert not any(token in shown for token in remote.provider.issued)
            answer = await live.servers.run_command("sign-out", ignore)
            assert answer.text == "You are signed out of s, in all sessions."
            await live.wait_for_description(WAITING_FOR_SIGN_IN)
            assert len(remote.provider.revoked) == 1
            assert not (tmp_path / "acp" / "credentials.json").exists()
            assert len(live.notices) == 1  # that of the start
            again = await live.servers.run_command("sign-out s", ignore)
            assert again.text == "s: you are not signed in."


async def test_a_sign_in_ends_when_its_time_is_over(tmp_path: Path) -> None:
    with sign_in_server() as remote:
        config = SignInConfig(page_seconds=0.05)
        person = FakeElicitor(ElicitationResult("accept"))  # and then goes for a coffee
        async with opened(tmp_path, remote, config, person) as (_, live):
            assert await sign_in(live) == "s: the sign-in was not completed within 0.05 s."


async def attack(page: str) -> None:
    """Send the browser to the listener as hostile web pages would."""
    query = httpx2.URL(page).params
    back = httpx2.URL(query["redirect_uri"])
    state = query["state"]
    host = f"{back.host}:{back.port}"
    async with httpx2.AsyncClient(trust_env=False, timeout=HANG_TIMEOUT_SECONDS) as client:
        for method, path, parameters, header in (
            ("GET", "/callback", {"code": "stolen", "state": "another"}, host),
            ("GET", "/callback", {"code": "stolen"}, host),
            ("GET", "/callback", {"error": "access_denied"}, host),
            ("GET", "/callback", {"code": "stolen", "state": state}, "evil.example"),
            ("POST", "/callback", {"code": "stolen", "state": state}, host),
            ("GET", "/", {"code": "stolen", "state": state}, host),
        ):
            url = back.copy_with(path=path)
            answer = await client.request(method, url, params=parameters, headers={"host": header})
            assert answer.status_code in {400, 404}
            assert "stolen" not in answer.text


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        pytest.param(
            {"authorization_endpoint": "http://example.com/authorize"},
            "its sign-in would not be encrypted: http://example.com",
            id="a page without encryption",
        ),
        pytest.param(
            {"token_endpoint": "http://10.0.0.1/token"},
            "its sign-in would not be encrypted: http://10.0.0.1",
            id="tokens without encryption",
        ),
        pytest.param(
            {"code_challenge_methods_supported": ["plain"]},
            "its sign-in is not protected against stolen codes",
            id="no PKCE",
        ),
        pytest.param({"issuer": "https://example.com"}, "issuer mismatch", id="another issuer"),
        pytest.param(
            {"authorization_endpoint": "https://example.com/authorize#top"},
            "its sign-in page has an address that cannot be used",
            id="a page that is sent no state",
        ),
    ],
)
async def test_an_unsafe_sign_in_is_refused(
    tmp_path: Path, metadata: dict[str, JsonValue], problem: str
) -> None:
    with sign_in_server(metadata=metadata) as remote:
        async with opened(tmp_path, remote) as (_, live):
            assert problem in await sign_in(live)
            assert remote.provider.tokens == {}


async def test_a_configured_client_and_scope_are_used(tmp_path: Path) -> None:
    with sign_in_server() as remote:
        async with opened(tmp_path, remote) as (_, live):
            await sign_in(live)
        (client,) = remote.provider.clients.values()
        port = free_port()
        config = SignInConfig(client_id="mine", scope="notes extra", redirect_port=port)
        back = AnyUrl(f"http://127.0.0.1:{port}/callback")
        remote.provider.clients["mine"] = client.model_copy(
            update={"client_id": "mine", "scope": "notes extra", "redirect_uris": [back]}
        )
        async with opened(tmp_path, remote, config) as (factory, live):
            # The tokens of the other client are not used.
            assert await sign_in(live) == SIGNED_IN
            (question,) = factory.elicitor.questions
            assert isinstance(question, ElicitationUrl)
            asked = httpx2.URL(question.url).params
            assert (asked["client_id"], asked["scope"]) == ("mine", "notes extra")


SECRET = "of the first server"  # noqa: S105


async def configured_client(remotes: Sequence[SignInServer], folder: Path) -> SignInConfig:
    """Return a client with a secret that is registered at all these sign-in servers."""
    port = free_port()
    back = AnyUrl(f"http://127.0.0.1:{port}/callback")
    async with opened(folder, remotes[0]) as (_, live):
        await sign_in(live)
    (registered,) = remotes[0].provider.clients.values()
    changes = {"client_id": "mine", "client_secret": SECRET, "redirect_uris": [back]}
    changes |= {"token_endpoint_auth_method": "client_secret_post"}
    for remote in remotes:
        remote.provider.clients["mine"] = registered.model_copy(update=changes)
    return SignInConfig(client_id="mine", client_secret=SECRET, redirect_port=port)


async def test_a_configured_secret_goes_to_the_sign_in_server_of_the_first_time_only(
    tmp_path: Path,
) -> None:
    with sign_in_server() as remote, sign_in_server() as other:
        config = await configured_client((remote, other), tmp_path / "before")
        async with opened(tmp_path, remote, config) as (_, live):
            assert await sign_in(live) == SIGNED_IN
        assert remote.received_secrets == [SECRET]
        remote.provider.tokens = other.provider.tokens  # those of the first sign-in are revoked
        remote.provider.refresh_tokens.clear()
        remote.sign_in_issuer = other.issuer
        async with opened(tmp_path, remote, config) as (_, live):
            answer = await sign_in(live)
            assert f"its sign-in is at {other.issuer}" in answer
            assert f"belongs to {remote.issuer}" in answer
            assert other.received_secrets == []
            # The user's own decision.
            await live.servers.run_command("sign-out s", ignore)
            assert await sign_in(live) == SIGNED_IN
        assert other.received_secrets == [SECRET]


async def test_a_configured_secret_goes_to_its_configured_sign_in_server_only(
    tmp_path: Path,
) -> None:
    with sign_in_server() as remote, sign_in_server() as other:
        config = await configured_client((remote, other), tmp_path / "before")
        remote.provider.tokens = other.provider.tokens
        remote.sign_in_issuer = other.issuer
        here = replace(config, issuer=remote.issuer)
        async with opened(tmp_path, remote, here) as (_, live):
            assert "your settings say" in await sign_in(live)
        assert other.received_secrets == []
        there = replace(config, issuer=other.issuer)
        async with opened(tmp_path, remote, there) as (_, live):
            assert await sign_in(live) == SIGNED_IN
        assert other.received_secrets == [SECRET]


async def test_a_server_that_registers_no_clients_says_what_to_do(tmp_path: Path) -> None:
    with sign_in_server(metadata={"registration_endpoint": None}, can_register=False) as remote:
        async with opened(tmp_path, remote) as (_, live):
            answer = await sign_in(live)
            assert "give it an `Authorization` header in your settings" in answer


async def test_a_server_with_a_header_of_its_own_is_not_signed_in_to(tmp_path: Path) -> None:
    with sign_in_server() as remote:
        server = HttpServerConfig("s", remote.url, {"Authorization": "Bearer wrong-key"})
        async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
            page = await live.wait_for_description("HTTP 401: it wants a sign-in")
            assert "wrong-key" not in page
            assert "by a header" in await sign_in(live)


async def test_a_request_without_the_rights_fails_alone_and_the_next_sign_in_asks_for_them(
    tmp_path: Path,
) -> None:
    with sign_in_server() as remote:
        async with opened(tmp_path, remote) as (factory, live):
            await sign_in(live)
            await live.servers.refresh_tools()
            for token in remote.provider.tokens.values():
                token.scopes = ["other"]
            refused = await live.call("s__echo", {"text": "hello"})
            assert "HTTP 403: it does not permit this" in refused.text
            assert len(live.notices) == 1  # that of the start
            await live.servers.run_command("sign-out s", ignore)
            await live.wait_for_description(WAITING_FOR_SIGN_IN)
            assert await sign_in(live) == SIGNED_IN
            question = factory.elicitor.questions[-1]
            assert isinstance(question, ElicitationUrl)
            assert httpx2.URL(question.url).params["scope"] == "notes"


async def test_a_session_that_opens_during_a_sign_in_does_not_wait_for_the_user(
    tmp_path: Path,
) -> None:
    with sign_in_server() as remote:
        async with opened(tmp_path, remote) as (factory, live):
            factory.elicitor.shows_pages = False
            config = SignInConfig(is_expected=True)
            other = factory.create(HttpServerConfig("s", remote.url, sign_in=config))

            async def open_another(page: str) -> None:
                del page
                other.servers.start(lambda: None)
                await other.wait_for_description(WAITING_FOR_SIGN_IN)

            assert await sign_in_by_link(live, open_another) == SIGNED_IN
            await other.wait_for_description("connected, signed in")
            await other.servers.close()
