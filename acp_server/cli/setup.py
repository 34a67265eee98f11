"""`acp-server setup`: stores an API key, selects a local model server or sets up an editor."""

import sys
from pathlib import Path

import anyio
import click

from acp_server.cli.config_files import update_settings
from acp_server.cli.editor_settings import EDITORS
from acp_server.cli.editor_setup import SetupCommand
from acp_server.cli.local_servers import LOCAL_PROFILES, LocalServer, find_local_servers
from acp_server.config import settings
from acp_server.config.credentials import KeyStore
from acp_server.config.settings import Configuration
from acp_server.models.provider_profiles import ANTHROPIC, PROFILES
from acp_server.server.providers import ConfiguredProvider, configured_providers, provider_by_name

NAMES = [profile.name for profile in PROFILES]


@click.command(cls=SetupCommand)
@click.option("--provider", "name", type=click.Choice(NAMES), help="Provider of the key.")
@click.option("--use", "is_used", is_flag=True, help="Use this provider for new sessions.")
@click.option("--local", is_flag=True, help="Choose a model of a server on this machine.")
@click.option("--forget", is_flag=True, help="Remove the stored key.")
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
def command(
    *,
    name: str | None,
    is_used: bool,
    local: bool,
    forget: bool,
    in_file: bool,
    in_file_by_old_name: bool,
) -> int:
    """Store an API key, choose a model on this machine, or set up an editor.

    The key is stored in the system keyring if there is one, else in a file in HERMES_HOME/acp that
    only you can read. It is never shown, logged or passed to a child process. Without --provider,
    it is stored for the configured provider.

    With --local, model servers (Ollama, LM Studio, llama.cpp, vLLM) are searched for at their
    default ports on this machine, and nowhere else. Without --local and --provider, you are asked
    in a terminal whether to search.

    With --editor, the change to the editor's settings is shown, and written after you confirm.
    Comments in the file are preserved, and a backup of the old file is stored next to it.
    """
    configuration = settings.load({})
    provider = _find_provider(configuration, name)
    if forget:
        return _remove_key(provider.store)
    if local or (name is None and sys.stdin.isatty() and _confirm_local_search()):
        return _choose_local_model(configuration.home)
    key = _read_key(provider)
    if not key:
        click.echo("No key entered; nothing was stored.", err=True)
        return 1
    use_keyring = not (in_file or in_file_by_old_name)
    store = KeyStore(configuration.home, account=provider.store.account, use_keyring=use_keyring)
    try:
        location = store.save(key)
        if is_used and not provider.is_main:
            update_model_settings(configuration.home, provider=provider.profile.name, default=None)
        elif not provider.is_main and provider.profile is not ANTHROPIC:
            names = {*configuration.settings.additional_providers, provider.profile.name}
            # `others` is the old name of this key: without None, the file would have both.
            update_model_settings(
                configuration.home, additional_providers=sorted(names), others=None
            )
    except (OSError, ValueError) as error:
        click.echo(f"The key cannot be stored: {error}", err=True)
        return 1
    click.echo(f"Stored the key in {location}. New prompts use it at once.", err=True)
    return 0


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


def _remove_key(store: KeyStore) -> int:
    try:
        store.delete()
    except OSError as error:
        click.echo(f"The key cannot be removed: {error}", err=True)
        return 1
    click.echo("Removed the stored key.", err=True)
    return 0


def _read_key(provider: ConfiguredProvider) -> str:
    """Return the key: typed without echo in a terminal, else the first line of stdin."""
    if sys.stdin.isatty():
        title = f"{provider.profile.title} API key"
        typed: str = click.prompt(title, hide_input=True, default="", err=True)
        return typed.strip()
    return sys.stdin.readline().strip()


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
