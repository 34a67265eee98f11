"""Reads an API key for `acp-server setup`, and tries it once at the endpoint that it is for."""

import sys

import anyio
import click

from acp_server.cli.endpoint_requests import (
    ENDPOINT_ERRORS,
    KEY_REFUSED,
    can_send_key,
    request_models,
)
from acp_server.config.credentials import Credential
from acp_server.models.provider_profiles import CUSTOM
from acp_server.server.providers import ConfiguredProvider, url_host
from acp_server.text.redaction import redact_secrets

MIN_KEY_CHARACTERS = 8
_ANSWERS = frozenset({"y", "n", "yes", "no", "true", "false", "quit", "exit"})


class KeyRefusedError(Exception):
    """The key is not stored; the text says why, and what to do."""


def read_key(provider: ConfiguredProvider) -> str:
    """Return the key: typed without echo in a terminal, else the first line of stdin.

    In a terminal, what cannot be a key is asked for again. Returns "" if nothing was entered.

    Raises:
        KeyRefusedError: The line of stdin cannot be a key.
    """
    if not sys.stdin.isatty():
        key = sys.stdin.readline().strip()
        if problem := key_problem(key, provider):
            raise KeyRefusedError(problem)
        return key
    title = f"{provider.profile.title} API key"
    if provider.profile.name == CUSTOM.name:
        title = f"API key for {url_host(provider.base_url)}"
    if not provider.needs_key:
        title = f"{title} (Enter if it needs none)"
    while True:
        typed: str = click.prompt(title, hide_input=True, default="", show_default=False, err=True)
        problem = key_problem(typed.strip(), provider)
        if not problem:
            return typed.strip()
        click.echo(f"{problem}. Paste the key, or press Enter to stop.", err=True)


def key_problem(key: str, provider: ConfiguredProvider) -> str:
    """Return why a text cannot be an API key; "" if it can, or if it is empty."""
    if key.lower() in _ANSWERS:
        return f"{key!r} is an answer, not an API key"
    if not key.isascii() or not key.isprintable() or " " in key:
        return "This is not an API key: keys have no spaces and no special characters"
    if key and provider.needs_key and len(key) < MIN_KEY_CHARACTERS:
        return f"This is not an API key: keys have {MIN_KEY_CHARACTERS} characters or more"
    return ""


def confirm_key(provider: ConfiguredProvider, key: str, *, is_forced: bool) -> str:
    """Try a key once; return a remark if it could not be tried.

    Raises:
        KeyRefusedError: The endpoint refuses the key, and the user does not want it stored.
    """
    if is_forced or not can_send_key(provider):
        return ""
    address = redact_secrets(provider.address)
    try:
        status = anyio.run(request_models, provider, Credential("setup", api_key=key))
    except ENDPOINT_ERRORS as error:
        reason = redact_secrets(str(error)) or type(error).__name__
        return f"It was not tried: {address} does not answer ({reason})."
    if status not in KEY_REFUSED:
        return ""
    problem = f"{address} refuses this key (HTTP status {status})"
    if not sys.stdin.isatty():
        raise KeyRefusedError(f"{problem}; add --force to store it anyway")
    click.echo(f"{problem}.", err=True)
    if not click.confirm("Store it anyway?", default=False, err=True):
        raise KeyRefusedError("Check the key at the provider and run the command again")
    return ""
