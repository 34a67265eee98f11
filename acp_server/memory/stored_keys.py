"""What a memory provider is given: the stored key, and the name of the user."""

import getpass
from collections.abc import Mapping
from pathlib import Path

from acp_server.config.credentials import KeyStore

KEYLESS_PROVIDERS = frozenset({"local", "holographic"})


def user_name() -> str:
    """Return the name of the user on this machine, `user` if there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "user"  # such as in a container whose user has no entry


def key_variable(provider: str) -> str:
    """Return the environment variable of a provider's key.

    >>> key_variable("mem0")
    'MEM0_API_KEY'
    """
    return f"{provider.upper().replace('-', '_')}_API_KEY"


def key_store(provider: str, home: Path, *, use_keyring: bool = True) -> KeyStore:
    """Return the store of a provider's key."""
    return KeyStore(home, account=f"memory {provider}", use_keyring=use_keyring)


def with_stored_keys(provider: str, home: Path, keys: Mapping[str, str]) -> Mapping[str, str]:
    """Return a provider's keys with the stored one, unless a variable has it. Blocks."""
    variable = key_variable(provider)
    if provider in KEYLESS_PROVIDERS:
        return keys
    if keys.get(variable):
        return keys
    stored = key_store(provider, home).load()
    return keys if stored is None or stored.api_key is None else {**keys, variable: stored.api_key}
