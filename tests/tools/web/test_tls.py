"""Pages over TLS: what was checked is connected to, and the certificate is the host's."""

import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
import trustme
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSListener

from acp_server.tools.web.addresses import WebAddress, parse_address
from acp_server.tools.web.errors import FetchError
from acp_server.tools.web.http_client import HttpWebClient
from acp_server.tools.web.network_backend import CheckedNetworkBackend
from acp_server.tools.web.network_policy import build_network_policy
from tests.tools.web.sites import LocalSite, make_page

HOST = "docs.example.org"
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"


@dataclass(slots=True)
class RebindingResolver:
    """A name server that leads elsewhere once it was asked."""

    queries: list[str] = field(default_factory=list[str])

    async def search_index(self, host: str, port: int) -> Sequence[str]:
        del port
        self.queries.append(host)
        return [HERE if len(self.queries) == 1 else ELSEWHERE]


@dataclass(slots=True)
class SecureSite:
    """A site whose certificate is for some name, and what it was called by those who came."""

    site: LocalSite
    expand_calls: list[str | None] = field(default_factory=list[str | None])

    @property
    def address(self) -> WebAddress:
        return parse_address(f"https://{HOST}:{self.site.port}/")


@asynccontextmanager
async def secure_site(authority: trustme.CA, name: str) -> AsyncGenerator[SecureSite]:
    secure = SecureSite(LocalSite({"/": make_page("<p>Hello</p>")}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with authority.issue_cert(name).private_key_and_cert_chain_pem.tempfile() as file:
        context.load_cert_chain(file)

    def note(_: ssl.SSLObject, called: str | None, __: ssl.SSLContext) -> None:
        secure.expand_calls.append(called)

    context.sni_callback = note
    async with (
        await anyio.create_tcp_listener(local_host=HERE) as listener,
        anyio.create_task_group() as tasks,
    ):
        secure.site.port = int(listener.extra(SocketAttribute.local_port))  # noqa: S610 - no database
        secured = TLSListener(listener, context, standard_compatible=False)
        tasks.start_soon(secured.serve, secure.site.serve)
        yield secure
        tasks.cancel_scope.cancel()


def trusting(
    authority: trustme.CA, folder: Path, monkeypatch: pytest.MonkeyPatch, names: RebindingResolver
) -> HttpWebClient:
    """Return what asks sites, trusting this authority alone."""
    file = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return HttpWebClient(
        CheckedNetworkBackend(build_network_policy([HERE]), names.search_index), 10_000
    )


async def test_the_host_is_resolved_once_and_its_certificate_is_checked_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, names = trustme.CA(), RebindingResolver()
    exchange = trusting(authority, tmp_path, monkeypatch, names)
    async with secure_site(authority, HOST) as secure:
        answer = await exchange.get(secure.address, 5)
        assert (answer.status, answer.body) == (200, b"<p>Hello</p>")
    assert (secure.expand_calls, names.queries) == ([HOST], [HOST])
    assert f"Host: {HOST}:{secure.site.port}\r\n" in secure.site.requests[0]


@pytest.mark.parametrize("name", ["other.example.org", "example.org", "*.docs.example.org", HERE])
async def test_a_certificate_for_another_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also one for the very address: that is not what was asked for."""
    authority = trustme.CA()
    exchange = trusting(authority, tmp_path, monkeypatch, RebindingResolver())
    error_text = ""
    async with secure_site(authority, name) as secure:
        try:
            await exchange.get(secure.address, 5)
        except FetchError as error:
            error_text = str(error)
    assert "certificate verify failed" in error_text
    assert secure.site.requests == []


async def test_a_certificate_of_an_untrusted_authority_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = trusting(trustme.CA(), tmp_path, monkeypatch, RebindingResolver())
    error_text = ""
    async with secure_site(trustme.CA(), HOST) as secure:
        try:
            await exchange.get(secure.address, 5)
        except FetchError as error:
            error_text = str(error)
    assert "certificate verify failed" in error_text
    assert secure.site.requests == []
