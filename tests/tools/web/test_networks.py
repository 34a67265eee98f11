"""What is reached is the public internet, and what the user has named."""

from ipaddress import ip_address

import pytest

from acp_server.tools.web.network_policy import build_network_policy, is_public, parse_ip_address
from tests.support.case_table import each_case

PRIVATE = (
    "0.0.0.0",  # noqa: S104 - an address that must not be reached
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.0.10",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::c000:c0",
    "64:ff9b:1::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::",
    "2002:c058:6301::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
)
PUBLIC = ("1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101")


@each_case("address", PRIVATE)
def test_a_non_internet_address_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_an_internet_address_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@each_case(
    ("place", "host", "address", "is_covered"),
    [
        ("intranet.example", "intranet.example", "10.0.0.1", True),
        ("Intranet.Example.", "intranet.example", "10.0.0.1", True),
        ("intranet.example", "other.example", "10.0.0.1", False),
        ("intranet.example", "a.intranet.example", "10.0.0.1", False),
        ("intranet.example", "intranet.example", "169.254.169.254", False),
        ("intranet.example", "intranet.example", "192.0.0.192", False),
        ("192.0.0.192", "192.0.0.192", "192.0.0.192", True),
        ("10.0.0.0/8", "any.example", "10.0.0.1", True),
        ("10.0.0.0/8", "any.example", "11.0.0.1", True),  # it is public
        ("10.0.0.0/8", "any.example", "192.168.0.1", False),
        ("10.0.0.0/8", "any.example", "::ffff:10.0.0.1", True),
        ("127.0.0.1", "localhost", "127.0.0.1", True),
        ("127.0.0.1", "localhost", "::1", False),
        ("169.254.0.0/16", "169.254.169.254", "169.254.169.254", True),
        ("fd00::/8", "any.example", "fd00::1", True),
    ],
)
def test_an_address_allowed_by_the_user_is_reachable(
    place: str, host: str, address: str, *, is_covered: bool
) -> None:
    assert build_network_policy([place]).allows(host, ip_address(address)) is is_covered


def test_an_interface_suffix_does_not_make_an_address_public() -> None:
    assert not is_public(parse_ip_address("fe80::1%eth0"))
