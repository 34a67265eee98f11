"""Network policy: the public internet plus the hosts and networks that the user has allowed.

Pure: takes addresses that are already resolved.
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
_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv4 addresses as NAT64 writes them."""
_SPECIAL = (
    # Protocol assignments: Oracle's cloud has its metadata service at 192.0.0.192.
    IPv4Network("192.0.0.0/24"),
    # Relays of 6to4, an anycast address of the local network.
    IPv4Network("192.88.99.0/24"),
    # Documentation.
    IPv6Network("3fff::/20"),
)
"""Special networks that Python counts as global, as a whole or in part."""


def is_public(address: IpAddress) -> bool:
    """Return whether an address, also one embedded in IPv6, is on the public internet.

    >>> is_public(ip_address("::ffff:127.0.0.1")), is_public(ip_address("1.1.1.1"))
    (False, True)
    """
    # Security: ::ffff:127.0.0.1 and its like are private although their IPv6 range may count as
    # global.
    address = _embedded_ipv4(address)
    is_special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or _is_special(address)
    )
    is_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not is_special and not is_local


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """Hosts and networks that are allowed besides the public internet."""

    hosts: frozenset[str] = frozenset()
    """Names that may resolve to a private network, but not to link-local addresses."""
    networks: tuple[IpNetwork, ...] = ()

    def allows(self, host: str, address: IpAddress) -> bool:
        """Return whether a connection for a host may go to an address."""
        if is_public(address):
            return True
        effective_address = _embedded_ipv4(address)
        if any(effective_address in network for network in self.networks):
            return True
        # Security: link-local and special addresses stay forbidden for names: cloud metadata
        # services (169.254.169.254, 192.0.0.192) hand out credentials.
        is_special = effective_address.is_link_local or _is_special(effective_address)
        return host in self.hosts and not is_special


def build_network_policy(entries: Sequence[str]) -> NetworkPolicy:
    """Build the policy from host names, addresses and networks (`10.0.0.0/8`)."""
    hosts, networks = set[str](), list[IpNetwork]()
    for entry in entries:
        try:
            networks.append(ip_network(entry, strict=False))
        except ValueError:
            hosts.add(entry.lower().removesuffix("."))
    return NetworkPolicy(frozenset(hosts), tuple(networks))


def parse_ip_address(text: str) -> IpAddress:
    """Parse an address from a lookup; a zone id after `%` is dropped."""
    return ip_address(text.partition("%")[0])


def _is_special(address: IpAddress) -> bool:
    return any(address in network for network in _SPECIAL)


def _embedded_ipv4(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 address embeds, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address
