"""Sets up a memory provider: asks what it needs, stores the key, writes the settings."""

import sys
from collections.abc import Mapping, Sequence
from typing import Self

import click
from pydantic import JsonValue

from acp_server.cli.config_files import update_settings
from acp_server.config.settings import Configuration
from acp_server.memory.providers import installed_providers, shipped_providers
from acp_server.memory.stored_keys import key_store, key_variable
from acp_server.startup.fast_dataclass import frozen_dataclass

NONE = "none"
KEYED_PROVIDERS: Mapping[str, str] = {
    "honcho": "honcho.json",
    "mem0": "mem0.json",
}
"""Providers that usually need a key, with the file of Hermes that may have it."""


@frozen_dataclass
class SetupRequest:
    """What the user chose on the command line."""

    provider: str | None
    values: Mapping[str, JsonValue]
    reads_key: bool = False
    in_file: bool = False

    @classmethod
    def from_options(
        cls, provider: str | None, values: Sequence[str], *, reads_key: bool, in_file: bool
    ) -> Self:
        """Return the request.

        Raises:
            ValueError: a value is not KEY=VALUE, or would put a key into a settings file.
        """
        settings: dict[str, JsonValue] = {}
        for each in values:
            name, sign, value = each.partition("=")
            if not sign or not name.strip():
                message = f"--set takes KEY=VALUE, not {each!r}"
                raise ValueError(message)
            if "key" in name.lower():
                message = f"--set {name}: give the key by --key-stdin, it must not be in a file"
                raise ValueError(message)
            settings[name.strip()] = value
        return cls(provider, settings, reads_key, in_file)


def set_up_memory(configuration: Configuration, request: SetupRequest) -> str:
    """Store what was chosen; return the provider's name, empty for none.

    Raises:
        ValueError: there is no such provider, or the settings file cannot be changed.
        OSError: a file cannot be written.
    """
    provider = request.provider or _ask_for_provider(configuration)
    names = (*shipped_providers(), *installed_providers())
    if provider not in (*names, NONE):
        message = f"there is no provider {provider!r}; there are {', '.join(names)}, and {NONE}"
        raise ValueError(message)
    if provider == NONE:
        _write_settings(configuration, {"provider": "", "provider_settings": None})
        return ""
    _store_key(configuration, provider, request)
    changes: dict[str, object] = {"provider": provider}
    if request.values:
        changes["provider_settings"] = dict(request.values)
    _write_settings(configuration, changes)
    return provider


def _ask_for_provider(configuration: Configuration) -> str:
    if not sys.stdin.isatty():
        message = "name a provider: " + ", ".join((*shipped_providers(), *installed_providers()))
        raise ValueError(message)
    for name, description in shipped_providers().items():
        click.echo(f"  {name:12} {description}")
    for name in installed_providers():
        click.echo(f"  {name:12} installed")
    default = configuration.settings.memory.provider or "local"
    return str(click.prompt("Provider", default=default))


def _store_key(configuration: Configuration, provider: str, request: SetupRequest) -> None:
    """Store a key that was given, or ask for one if none is known."""
    variable, file = key_variable(provider), KEYED_PROVIDERS.get(provider)
    if request.reads_key:
        key = sys.stdin.readline().strip()
    elif file is None or (configuration.home / file).exists():
        return  # it needs none, or Hermes' file may have it
    elif configuration.memory_variables.get(variable) or configuration.dotenv.get(variable):
        return
    elif sys.stdin.isatty():
        key = str(click.prompt(f"{variable} (empty: none)", default="", hide_input=True)).strip()
    else:
        return
    if key:
        store = key_store(provider, configuration.home, use_keyring=not request.in_file)
        click.echo(f"The key is stored in {store.save(key)}.")


def _write_settings(configuration: Configuration, changes: Mapping[str, object]) -> None:
    path = update_settings(configuration.home, "memory", "provider", changes)
    click.echo(f"Settings: {path}")
