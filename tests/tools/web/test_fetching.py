"""What sites answer, however hostile, becomes a bounded page or one sentence."""

import gzip
import zlib
from collections.abc import Sequence
from functools import partial

import anyio
import pytest

from acp_server.tools.web.addresses import WebAddress, parse_address
from acp_server.tools.web.errors import FetchError, ForbiddenError, WebError
from acp_server.tools.web.fetching import PageFetcher
from acp_server.tools.web.http_client import HttpWebClient
from acp_server.tools.web.network_backend import CheckedNetworkBackend
from acp_server.tools.web.network_policy import build_network_policy
from acp_server.tools.web.pages import WebPage
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.web.sites import (
    LocalSite,
    Respond,
    Send,
    head,
    make_page,
    make_redirect,
    open_site,
)

MOST_BYTES = 100_000


async def leave(address: WebAddress) -> None:
    """Let everything be fetched."""
    del address


def fetcher(timeout_seconds: float = 5.0) -> PageFetcher:
    network = CheckedNetworkBackend(build_network_policy(["127.0.0.1"]))
    return PageFetcher(HttpWebClient(network, MOST_BYTES), timeout_seconds)


async def fetched(respond: Respond, timeout_seconds: float = 5.0) -> WebPage:
    failure: WebError
    async with open_site({"/": respond}) as site:
        try:
            return await fetcher(timeout_seconds).fetch(parse_address(site.url("/")), leave)
        except WebError as error:  # a task group would wrap it
            failure = error
    raise failure


async def _repeat(start: bytes, more: bytes, send: Send) -> None:
    await send(start)
    while True:
        await send(more)


async def _silence(start: bytes, send: Send) -> None:
    await send(start)
    await anyio.sleep_forever()


def raw(data: bytes) -> Respond:
    """Answer with these bytes."""

    async def respond(send: Send) -> None:
        await send(data)

    return respond


ENDLESS = head("200 OK", {"Content-Type": "text/plain"})


@pytest.mark.parametrize(
    ("respond", "text"),
    [
        pytest.param(make_page("<title>T</title><p>A &amp; B"), "A & B", id="HTML"),
        pytest.param(make_page("<html><p>A</html>", ""), "A", id="HTML of no kind"),
        pytest.param(make_page("a\r\nb", "text/plain"), "a\nb", id="text"),
        pytest.param(make_page('{"a": 1}', "application/json"), '{"a": 1}', id="JSON"),
        pytest.param(make_page("# A", "text/markdown"), "# A", id="Markdown"),
        pytest.param(make_page("\x1b[2Ja", "text/plain"), "\ufffd[2Ja", id="a terminal's signs"),
        pytest.param(make_page("<b>", "text/plain"), "<b>", id="text that looks like HTML"),
        pytest.param(
            make_page(gzip.compress(b"packed"), "text/plain", Content_Encoding="gzip"),
            "packed",
            id="gzip",
        ),
        pytest.param(
            make_page(zlib.compress(b"packed"), "text/plain", Content_Encoding="deflate"),
            "packed",
            id="deflate",
        ),
        pytest.param(
            make_page(zlib.compress(b"packed")[2:-4], "text/plain", Content_Encoding="deflate"),
            "packed",
            id="deflate without a header",
        ),
        pytest.param(
            make_page("é".encode("latin-1"), "text/plain; charset=iso-8859-1"), "é", id="latin"
        ),
        pytest.param(make_page("é!".encode("latin-1"), "text/plain"), "é!", id="latin unsaid"),
        pytest.param(make_page("é", "text/plain; charset=no-such"), "é", id="an unknown charset"),
        pytest.param(
            make_page("é", "text/plain; charset=rot13"), "é", id="a charset of no letters"
        ),
        pytest.param(
            make_page("é".encode("latin-1"), "text/plain; charset=utf-8"),
            "\ufffd",
            id="a wrong charset",
        ),
        pytest.param(make_page("é".encode("utf-16"), "text/plain"), "é", id="UTF-16 by its mark"),
        pytest.param(
            make_page("<meta charset=windows-1251><p>привет".encode("cp1251"), "text/html"),
            "привет",
            id="a charset within",
        ),
        pytest.param(make_page("", "text/plain"), "", id="nothing"),
    ],
)
async def test_a_page_is_read(respond: Respond, text: str) -> None:
    assert (await fetched(respond)).text == text


@pytest.mark.parametrize(
    ("respond", "shown"),
    [
        pytest.param(make_page(b"%PDF-1.7 x", "application/pdf"), "it is a PDF", id="a PDF"),
        pytest.param(make_page(b"%PDF-1.7 x", "text/html"), "it is a PDF", id="a PDF in disguise"),
        pytest.param(make_page(b"\x89PNG\r\n\0", "image/png"), "it is no text", id="an image"),
        pytest.param(make_page(b"ELF\0\0\0", "text/plain"), "it is no text", id="a program"),
        pytest.param(make_page(b"\0\0", "application/octet-stream"), "it is no text", id="bytes"),
    ],
)
async def test_content_that_is_not_text_is_named_and_not_read(respond: Respond, shown: str) -> None:
    found = await fetched(respond)
    assert found.text == ""
    assert found.remarks[0].startswith(shown)


@pytest.mark.parametrize(
    "respond",
    [
        pytest.param(make_page("a" * 300_000, "text/plain"), id="huge"),
        pytest.param(partial(_repeat, ENDLESS, b"a" * 1_000), id="endless"),
        pytest.param(
            make_page(gzip.compress(b"a" * 50_000_000), "text/plain", Content_Encoding="gzip"),
            id="a bomb",
        ),
        pytest.param(
            partial(
                _repeat,
                head("200 OK", {"Content-Type": "text/plain", "Content-Encoding": "gzip"})
                + gzip.compress(b"a" * MOST_BYTES),
                b"\0" * 1_000,
            ),
            id="endless behind its end",
        ),
    ],
)
async def test_only_the_beginning_of_an_oversized_page_is_read(respond: Respond) -> None:
    found = await fetched(respond)
    assert found.text == "a" * MOST_BYTES
    assert found.remarks == ("it is too large: only its beginning was read",)


@pytest.mark.parametrize(
    "respond",
    [
        pytest.param(partial(_silence, b""), id="it says nothing"),
        pytest.param(partial(_silence, b"HTTP/1.1 200 OK\r\nA: "), id="it stops in its head"),
        pytest.param(partial(_silence, ENDLESS + b"some"), id="it stops in its body"),
    ],
)
async def test_a_slow_site_times_out(respond: Respond) -> None:
    with (
        pytest.raises(FetchError, match="took longer than"),
        anyio.fail_after(HANG_TIMEOUT_SECONDS),
    ):
        await fetched(respond, timeout_seconds=0.1)


@pytest.mark.parametrize(
    "respond",
    [
        pytest.param(raw(b"220 mail.example\r\n"), id="it does not speak HTTP"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100_000), id="an endless head"),
        pytest.param(make_page(b"x", "text/plain", Content_Encoding="br"), id="packed unasked"),
        pytest.param(
            make_page(b"plain words", "text/plain", Content_Encoding="gzip"), id="not packed at all"
        ),
        pytest.param(
            make_page(b"x", "text/plain", Content_Length="9"), id="less than was promised"
        ),
    ],
)
async def test_an_unreadable_response_is_explained_in_one_sentence(respond: Respond) -> None:
    with pytest.raises(FetchError) as failed:
        await fetched(respond)
    assert "\n" not in str(failed.value)


async def test_nothing_but_the_address_is_sent() -> None:
    async with open_site({"/a?b=c": make_page("x")}) as site:
        await fetcher().fetch(parse_address(site.url("/a?b=c")), leave)
    (sent,) = site.requests
    assert sent.split("\r\n")[0] == "GET /a?b=c HTTP/1.1"
    names = sorted(line.partition(":")[0] for line in sent.split("\r\n")[1:] if line)
    assert names == ["Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"]


async def test_an_http_error_is_reported_and_not_cached() -> None:
    async def missing(send: Send) -> None:
        await send(head("404 Not Found", {"Content-Type": "text/plain", "Content-Length": "2"}))
        await send(b"no")

    async with open_site({"/": missing}) as site:
        pages = fetcher()
        for _ in range(2):
            found = await pages.fetch(parse_address(site.url("/")), leave)
            assert (found.status, found.is_error, found.text) == (404, True, "no")
    assert len(site.requests) == 2


async def test_a_page_is_cached_for_a_while() -> None:
    async with open_site({"/": make_page("x")}) as site:
        pages = fetcher()
        first = await pages.fetch(parse_address(site.url("/")), leave)
        assert await pages.fetch(parse_address(site.url("/")), leave) == first
    assert len(site.requests) == 1


async def test_permission_is_asked_once_for_each_site_of_a_redirect_chain() -> None:
    asked: list[str] = []

    async def note(address: WebAddress) -> None:
        asked.append(address.site)

    async with open_site({"/1": make_redirect("/2"), "/3": make_page("there")}) as site:
        site.pages["/2"] = make_redirect(site.url("/3", "localhost"))
        pages = PageFetcher(
            HttpWebClient(
                CheckedNetworkBackend(build_network_policy(["localhost", "127.0.0.1"])), MOST_BYTES
            ),
            5.0,
        )
        found = await pages.fetch(parse_address(site.url("/1")), note)
    assert (found.text, asked) == ("there", [f"127.0.0.1:{site.port}", f"localhost:{site.port}"])


@pytest.mark.parametrize("status", ["301 X", "302 X", "303 X", "307 X", "308 X"])
async def test_a_redirect_into_a_private_network_is_not_followed(status: str) -> None:
    private = ("http://169.254.169.254/", "http://[::1]/", "http://0.0.0.0/", "http://[fd00::1]/")
    for location in private:
        with pytest.raises(ForbiddenError):
            await fetched(make_redirect(location, status))


async def test_endless_redirects_are_abandoned() -> None:
    with pytest.raises(FetchError, match="redirects more than"):
        await fetched(make_redirect("/"))


class ScriptedResolver:
    """A lookup that gives one answer after the other, and the last for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.matches = list(answers)
        self.lookups = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        del host, port
        self.lookups += 1
        return self.matches.pop(0) if len(self.matches) > 1 else self.matches[0]


async def _rebound(site: LocalSite, names: ScriptedResolver, *places: str) -> WebPage:
    network = CheckedNetworkBackend(build_network_policy(places), names)
    pages = PageFetcher(HttpWebClient(network, MOST_BYTES), 2.0)
    return await pages.fetch(parse_address(site.url("/", "site.example")), leave)


async def test_the_checked_address_is_the_one_connected_to() -> None:
    async with open_site({"/": make_page("x")}) as site:
        names = ScriptedResolver(["127.0.0.1"], ["10.0.0.1"])
        assert (await _rebound(site, names, "127.0.0.1")).text == "x"
    assert names.lookups == 1, "a second lookup could have led elsewhere"
    assert f"Host: site.example:{site.port}" in site.requests[0]


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["::1"], ["1.1.1.1", "127.0.0.1"], ["127.0.0.1", "1.1.1.1"], ["fe80::1%lo"]],
    ids=str,
)
async def test_a_host_with_any_private_address_is_refused(
    addresses: Sequence[str],
) -> None:
    async with open_site({"/": make_page("x")}) as site:
        with pytest.raises(ForbiddenError):
            await _rebound(site, ScriptedResolver(addresses))
    assert site.requests == []


async def test_the_first_address_that_responds_is_used() -> None:
    async with open_site({"/": make_page("x")}) as site:
        names = ScriptedResolver(["127.0.0.2", "127.0.0.1"])
        assert (await _rebound(site, names, "127.0.0.0/8")).text == "x"


async def test_an_unresolvable_host_is_explained_in_one_sentence() -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError(host, port)

    pages = PageFetcher(
        HttpWebClient(CheckedNetworkBackend(build_network_policy([]), unknown), MOST_BYTES), 2.0
    )
    with pytest.raises(WebError, match=r"there is no host site\.example"):
        await pages.fetch(parse_address("http://site.example/"), leave)
