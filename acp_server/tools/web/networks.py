"""Which machines may be reached: those of the public internet, and what the user has named besides.

Pure: takes addresses that somebody else has looked up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

IpAddress: TypeAlias = IPv4Address | IPv6Address
IpNetwork: TypeAlias = IPv4Network | IPv6Network
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 addresses as a translating network writes them."""


def is_public(address: IpAddress) -> bool:
    """Whether an address is one of the public internet, also in disguise.

    >>> is_public(ip_address("::ffff:127.0.0.1")), is_public(ip_address("1.1.1.1"))
    (False, True)
    """
    address = _undisguised(address)
    is_special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    )
    is_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not is_special and not is_local


@dataclass(frozen=True, slots=True)
class Reach:
    """What may be reached besides the public internet."""

    hosts: frozenset[str] = frozenset()
    """Names that may lead into a private network, though not to this machine's own services."""
    networks: tuple[IpNetwork, ...] = ()

    def covers(self, host: str, address: IpAddress) -> bool:
        """Whether a connection for a host may go to an address."""
        if is_public(address):
            return True
        plain = _undisguised(address)
        if any(plain in network for network in self.networks):
            return True
        return host in self.hosts and not plain.is_link_local


def reach_of(places: Sequence[str]) -> Reach:
    """Return what names, addresses and networks (`10.0.0.0/8`) let be reached."""
    hosts, networks = set[str](), list[IpNetwork]()
    for place in places:
        try:
            networks.append(ip_network(place, strict=False))
        except ValueError:
            hosts.add(place.lower().removesuffix("."))
    return Reach(frozenset(hosts), tuple(networks))


def parsed_address(text: str) -> IpAddress:
    """Return an address as a lookup gives it, which may name an interface behind a `%`."""
    return ip_address(text.partition("%")[0])


def _undisguised(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 one stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address
