"""Addresses are read in one way only, and what could be read in two is no address."""

import pytest

from acp_server.tools.web.addresses import parse_address, resolve_redirect
from acp_server.tools.web.errors import AddressError
from tests.support.case_table import each_case

READ = {
    "https://example.com": ("https://example.com/", "example.com"),
    " HTTPS://Example.COM:443/A?b=c#d ": ("https://example.com/A?b=c", "example.com"),
    "http://example.com:8080/": ("http://example.com:8080/", "example.com:8080"),
    "http://example.com./": ("http://example.com/", "example.com"),
    "https://bücher.example/é?ü": (
        "https://xn--bcher-kva.example/%C3%A9?%C3%BC",
        "xn--bcher-kva.example",
    ),
    "https://example.com/a%2Fb%20c": ("https://example.com/a%2Fb%20c", "example.com"),
    "http://[2001:DB8:0::1]/": ("http://[2001:db8::1]/", "[2001:db8::1]"),
    "http://[::ffff:127.0.0.1]:81/": ("http://[::ffff:7f00:1]:81/", "[::ffff:7f00:1]:81"),
    "http://127.0.0.1/": ("http://127.0.0.1/", "127.0.0.1"),
    "http://\uff11\uff12\uff17.0.0.1/": ("http://127.0.0.1/", "127.0.0.1"),
    "https://a_b.example/": ("https://a_b.example/", "a_b.example"),
}
REFUSED = {
    "no scheme": "example.com/x",
    "only a path": "/etc/passwd",
    "a file": "file:///etc/passwd",
    "data": "data:text/html,hello",
    "ftp": "ftp://example.com/",
    "gopher": "gopher://example.com/_x",
    "javascript": "javascript:alert(1)",
    "a scheme within": "view-source:https://example.com/",
    "a name": "https://user@example.com/",
    "a name and a password": "https://user:secret@example.com/",
    "a host that looks like a name": "https://example.com@127.0.0.1/",
    "an empty name": "https://@example.com/",
    "a decimal host": "http://2130706433/",
    "a hexadecimal host": "http://0x7f000001/",
    "an octal host": "http://0177.0.0.1/",
    "a mixed host": "http://0x7f.1/",
    "a short host": "http://127.1/",
    "zero": "http://0/",
    "too many numbers": "http://1.2.3.4.5/",
    "numbers too large": "http://256.0.0.1/",
    "no host": "https:///path",
    "an empty label": "https://a..b/",
    "a backslash": "https://example.com\\@127.0.0.1/",
    "a space": "https://exa mple.com/",
    "a line within": "https://example.com/\r\nHost: other",
    "a null": "https://example.com/\0",
    "a tab": "https://exam\tple.com/",
    "port zero": "https://example.com:0/",
    "a port too large": "https://example.com:65536/",
    "a port that is none": "https://example.com:http/",
    "half a bracket": "http://[::1/",
    "an interface": "http://[fe80::1%25eth0]/",
    "a percent in the host": "http://127.0.0%2e1/",
    "a quote in the host": 'http://exa"mple.com/',
    "too long": "https://example.com/" + "a" * 4_000,
    "a host too long": f"https://{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}/",
    "nothing": "",
}


@each_case(("text", "found"), READ.items())
def test_an_address_is_normalized(text: str, found: tuple[str, str]) -> None:
    address = parse_address(text)
    assert (str(address), address.site) == found
    assert parse_address(str(address)) == address


@each_case("text", REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_or_unusual_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        parse_address(text)


def test_a_refusal_does_not_repeat_a_password() -> None:
    with pytest.raises(AddressError) as refused:
        parse_address("https://user:hush@example.com/")
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("/b", "https://example.com/b"),
        ("b?c", "https://example.com/x/b?c"),
        ("//other.example/", "https://other.example/"),
        ("HTTPS://OTHER.example", "https://other.example/"),
    ],
)
def test_a_redirect_is_resolved_against_its_page(location: str, found: str) -> None:
    assert str(resolve_redirect(parse_address("https://example.com/x/y"), location)) == found


@pytest.mark.parametrize(
    "location",
    ["http://example.com/", "file:///etc/passwd", "//me@other.example/", "https://2130706433/"],
)
def test_a_redirect_to_an_invalid_address_is_not_followed(location: str) -> None:
    with pytest.raises(AddressError):
        resolve_redirect(parse_address("https://example.com/"), location)
