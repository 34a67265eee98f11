"""`acp-server setup`: stores an API key, selects a local model server or sets up an editor."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import click

from acp_server.cli.config_files import update_settings
from acp_server.cli.editor_settings import EDITORS
from acp_server.cli.editor_setup import SetupCommand
from acp_server.cli.key_entry import KeyRefusedError, confirm_key, read_key
from acp_server.cli.local_servers import LOCAL_PROFILES, LocalServer, find_local_servers
from acp_server.config import settings
from acp_server.config.credentials import KeyStore
from acp_server.config.settings import Configuration
from acp_server.models.provider_profiles import ANTHROPIC, API_MODES, CUSTOM, PROFILES
from acp_server.server.providers import (
    ConfiguredProvider,
    configured_providers,
    provider_by_name,
    url_host,
)
from acp_server.text.redaction import redact_secrets

NAMES = [profile.name for profile in PROFILES]
API_FORMS = ("chat_completions", "responses", "anthropic_messages")
NO_ENDPOINT: Mapping[str, object] = {"default": None, "base_url": None, "api_mode": None}
"""Changes of the settings that remove what belongs to one endpoint."""


@click.command(cls=SetupCommand)
@click.option("--provider", "name", type=click.Choice(NAMES), help="Provider of the key.")
@click.option("--use", "is_used", is_flag=True, help="Use this provider for new sessions.")
@click.option("--base-url", metavar="URL", help="With --provider custom: the endpoint's address.")
@click.option("--api-mode", type=click.Choice(API_FORMS), help="With --base-url: its API.")
@click.option("--local", is_flag=True, help="Choose a model of a server on this machine.")
@click.option("--forget", is_flag=True, help="Remove the stored key.")
@click.option("--force", "is_forced", is_flag=True, help="Store a key that was not accepted.")
@click.option(
    "--no-keyring",
    "in_file",
    is_flag=True,
    help="Store the key in a file (mode 0600), not the keyring.",
)
@click.option("--file", "in_file_by_old_name", is_flag=True, hidden=True)
@click.option("--editor", type=click.Choice(EDITORS), help="Add acp-server to this editor.")
@click.option("--yes", "is_sure", is_flag=True, help="With --editor: write without asking.")
@click.option("--print", "only_prints", is_flag=True, help="With --editor: print, do not write.")
def command(  # noqa: PLR0913  one for each option
    *,
    name: str | None,
    is_used: bool,
    base_url: str | None,
    api_mode: str | None,
    local: bool,
    forget: bool,
    is_forced: bool,
    in_file: bool,
    in_file_by_old_name: bool,
) -> int:
    """Store an API key, choose a model on this machine, or set up an editor.

    The key is stored in the system keyring if there is one, else in a file in HERMES_HOME/acp that
    only you can read. It is never shown, logged or passed to a child process. Without --provider,
    it is stored for the configured provider. A key that the provider refuses is stored only if you
    confirm it, or with --force.

    --provider custom is any other endpoint: you are asked for its address and API, or give
    --base-url and --api-mode.

    With --local, model servers (Ollama, LM Studio, llama.cpp, vLLM) are searched for at their
    default ports on this machine, and nowhere else. Without --local and --provider, you are asked
    in a terminal whether to search.

    With --editor, the change to the editor's settings is shown, and written after you confirm.
    Comments in the file are preserved, and a backup of the old file is stored next to it.
    """
    configuration = settings.load({})
    provider = _find_provider(configuration, name)
    if forget:
        return _remove_key(provider)
    if local or (name is None and sys.stdin.isatty() and _confirm_local_search()):
        return _choose_local_model(configuration.home)
    provider, changes = _plan_settings(
        configuration, provider, name, _EndpointOptions(base_url, api_mode, is_used)
    )
    try:
        key = read_key(provider)
        remark = confirm_key(provider, key, is_forced=is_forced) if key else ""
    except KeyRefusedError as error:
        click.echo(f"{error}. Nothing was stored.", err=True)
        return 1
    if not key and provider.needs_key:
        click.echo("No key entered; nothing was stored.", err=True)
        return 1
    use_keyring = not (in_file or in_file_by_old_name)
    store = KeyStore(configuration.home, account=provider.store.account, use_keyring=use_keyring)
    try:
        location = store.save(key) if key else ""
        file = update_model_settings(configuration.home, **changes) if changes else None
    except (OSError, ValueError) as error:
        click.echo(f"The key cannot be stored: {error}", err=True)
        return 1
    if location:
        click.echo(" ".join(_describe_stored_key(provider, location, remark)), err=True)
    if file is not None and is_used:
        is_custom = provider.profile.name == CUSTOM.name
        title = redact_secrets(provider.address) if is_custom else provider.profile.title
        click.echo(f"New sessions use {title}, as set in {file}.", err=True)
    return 0


@dataclass(frozen=True, slots=True)
class _EndpointOptions:
    """Options that say which endpoint new sessions use."""

    base_url: str | None
    api_mode: str | None
    is_used: bool


def _plan_settings(
    configuration: Configuration,
    provider: ConfiguredProvider,
    name: str | None,
    options: _EndpointOptions,
) -> tuple[ConfiguredProvider, dict[str, object]]:
    """Return the provider that the key is for, and the changes of the model settings.

    Raises:
        click.UsageError: The options cannot be used together, or something is missing.
    """
    is_described = bool(options.base_url or options.api_mode)
    is_known_custom = provider.is_main and provider.base_url is not None
    if name == CUSTOM.name and (is_described or not is_known_custom):
        return _ask_for_endpoint(configuration, options)
    if is_described:
        raise click.UsageError("--base-url and --api-mode can only be used with --provider custom")
    if provider.is_main:
        return provider, {}
    if options.is_used:
        # The address and the API so far are those of another provider.
        return provider, {**NO_ENDPOINT, "provider": provider.profile.name}
    if provider.profile is ANTHROPIC:
        return provider, {}
    names = {*configuration.settings.additional_providers, provider.profile.name}
    # `others` is the old name of this key: without None, the file would have both.
    return provider, {"additional_providers": sorted(names), "others": None}


def _describe_stored_key(provider: ConfiguredProvider, location: str, remark: str) -> Iterator[str]:
    names_host = provider.profile.name == CUSTOM.name or provider.own_store is not None
    host = f" for {redact_secrets(url_host(provider.base_url))}" if names_host else ""
    yield f"Stored the key{host} in {location}."
    if remark:
        yield remark
    if provider.credential is None:
        yield "New prompts use it at once."
    else:
        yield f"The key from {provider.credential.source} is used before it; remove that one there."


def update_model_settings(home: Path, **changes: object) -> Path:
    """Change the `model` section of HERMES_HOME/acp/config.yaml; return the path of the file.

    Raises:
        OSError: The file cannot be read or written.
        ValueError: The file is not valid YAML.
    """
    return update_settings(home, "model", "default", changes)


def _find_provider(configuration: Configuration, name: str | None) -> ConfiguredProvider:
    """Return the named or the configured provider; Anthropic if that is unknown."""
    providers = configured_providers(configuration) or ()
    if name is None and providers:
        return providers[0]
    provider_name = name or ANTHROPIC.name
    found = next((each for each in providers if each.profile.name == provider_name), None)
    return found or provider_by_name(provider_name, configuration)


# Custom endpoints.


def _ask_for_endpoint(
    configuration: Configuration, options: _EndpointOptions
) -> tuple[ConfiguredProvider, dict[str, object]]:
    """Return a custom endpoint and the settings for it: as given, or asked for in a terminal.

    Raises:
        click.UsageError: Something is missing or invalid.
    """
    base_url, api_mode = options.base_url, options.api_mode
    if not options.is_used:
        reason = (
            "--provider custom needs --use: new sessions use it in place of the provider so far"
        )
        raise click.UsageError(reason)
    is_asking = sys.stdin.isatty()
    while base_url is None and is_asking:
        typed: str = click.prompt("Address of the endpoint (base URL)", err=True)
        base_url = None if _address_problem(typed) else typed
        if base_url is None:
            click.echo(_address_problem(typed), err=True)
    if base_url is None:
        raise click.UsageError("--provider custom needs an address: add --base-url URL")
    if problem := _address_problem(base_url):
        raise click.UsageError(f"--base-url: {problem}")
    implied = _custom_endpoint(configuration, base_url, "")
    if api_mode is None:
        api_mode = next(each for each in API_FORMS if API_MODES[each] == implied.profile.api_format)
        if is_asking:
            forms = click.Choice(API_FORMS)
            api_mode = click.prompt("API of the endpoint", type=forms, default=api_mode, err=True)
    provider = _custom_endpoint(configuration, base_url, api_mode)
    changes: dict[str, object] = {**NO_ENDPOINT, "provider": CUSTOM.name}
    return provider, {**changes, "base_url": provider.address, "api_mode": api_mode}


def _custom_endpoint(
    configuration: Configuration, base_url: str, api_mode: str
) -> ConfiguredProvider:
    """Return the main provider as it is once these settings are written."""
    current = replace(
        configuration.settings,
        provider=CUSTOM.name,
        model_base_url=base_url,
        api_mode=api_mode,
        model=None,
    )
    providers = configured_providers(replace(configuration, settings=current))
    return providers[0] if providers else provider_by_name(CUSTOM.name, configuration)


def _address_problem(text: str) -> str:
    try:
        parts = urlsplit(text.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:  # an invalid IPv6 address
        is_address = False
    return "" if is_address else f"{text!r} is not an address such as https://host/v1"


def _remove_key(provider: ConfiguredProvider) -> int:
    is_stored = provider.store.load() is not None
    try:
        provider.store.delete()
    except OSError as error:
        click.echo(f"The key cannot be removed: {error}", err=True)
        return 1
    host = redact_secrets(url_host(provider.base_url))
    done = "Removed the stored key." if is_stored else f"No key is stored for {host}."
    click.echo(done, err=True)
    return 0


# Local model servers.


def _confirm_local_search() -> bool:
    names = ", ".join(
        f"{profile.title} at port {profile.default_port}" for profile in LOCAL_PROFILES
    )
    question = f"Search for model servers on this machine ({names})?"
    return click.confirm(question, default=False, err=True)


def _choose_local_model(home: Path) -> int:
    found: list[LocalServer] = anyio.run(find_local_servers)
    choices = [(server, model.id) for server in found for model in server.models]
    if not choices:
        click.echo("Found no model server on this machine; nothing was changed.", err=True)
        return 1
    for number, (server, model_id) in enumerate(choices, 1):
        click.echo(f"{number:3}  {model_id}  ({server.profile.title})", err=True)
    number = _read_model_number(len(choices))
    if number is None:
        click.echo("No model chosen; nothing was changed.", err=True)
        return 1
    server, model_id = choices[number - 1]
    file = update_model_settings(
        home,
        provider=server.profile.name,
        default=model_id,
        base_url=server.profile.base_url,
        api_mode=None,
    )
    click.echo(f"New sessions use {model_id}, as set in {file}.", err=True)
    return 0


def _read_model_number(highest: int) -> int | None:
    """Return the number typed in a terminal, or in the first line of stdin; None if invalid."""
    if sys.stdin.isatty():
        typed: int = click.prompt("Number of the model", type=click.IntRange(1, highest), err=True)
        return typed
    line = sys.stdin.readline().strip()
    return int(line) if line.isdigit() and 1 <= int(line) <= highest else None
