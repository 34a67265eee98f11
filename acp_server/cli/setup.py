"""`acp-server setup`: stores a key for its user alone, finds local servers, sets editors up."""

import sys
from pathlib import Path

import anyio
import click

from acp_server import settings
from acp_server.cli.config_files import PRIVATE, prepare
from acp_server.cli.editor_settings import EDITORS
from acp_server.cli.editor_setup import OrEditor
from acp_server.cli.local_servers import LOCAL, LocalServer, find_local_servers
from acp_server.configuration.changing import with_section
from acp_server.credentials import KeyStore
from acp_server.endpoints import Provider, configured_providers, provider_called
from acp_server.models.profiles import ANTHROPIC, PROFILES
from acp_server.settings import Configuration
from skills_store.atomic import write_atomically

EXAMPLES = """\
\b
Examples:
  acp-server setup
  acp-server setup --local
  acp-server setup --provider openrouter --use
  acp-server setup --forget
  echo "$KEY" | acp-server setup
  acp-server setup --editor zed            shows what it would change, then asks
  acp-server setup --editor neovim         prints what belongs into your init.lua
"""
NAMES = [profile.name for profile in PROFILES]


@click.command(cls=OrEditor, epilog=EXAMPLES)
@click.option("--provider", "name", type=click.Choice(NAMES), help="Whose key it is.")
@click.option("--use", "is_used", is_flag=True, help="Let new sessions begin with this provider.")
@click.option("--local", is_flag=True, help="Look for model servers on this machine instead.")
@click.option("--forget", is_flag=True, help="Remove the stored key instead.")
@click.option(
    "--file", "in_file", is_flag=True, help="Keep it in a 0600 file, not the system keyring."
)
@click.option("--editor", type=click.Choice(EDITORS), help="Tell this editor of acp-server.")
@click.option("--yes", "is_sure", is_flag=True, help="With --editor: write without asking.")
@click.option("--print", "only_prints", is_flag=True, help="With --editor: only print it.")
def command(*, name: str | None, is_used: bool, local: bool, forget: bool, in_file: bool) -> int:
    """Store the API key that the server signs in with, or choose a model of this machine.

    The key goes to the system keyring where there is one, else to a file in HERMES_HOME/acp that
    only you can read. It is never shown, logged or handed to a child process. Without --provider
    it is that of the configured provider.

    At a terminal, after asking, and with --local, unasked, model servers are looked for (Ollama, LM
    Studio, llama.cpp, vLLM): at their usual ports of this machine and nowhere else.

    With --editor, an editor's settings are shown as they would become, and written if you say so;
    comments in them stay, and the old file is kept beside the new one.
    """
    configuration = settings.load({})
    provider = _provider(configuration, name)
    if forget:
        return _forget(provider.store)
    if local or (name is None and sys.stdin.isatty() and _wants_local()):
        return _choose_local(configuration.home)
    key = _ask(provider)
    if not key:
        click.echo("No key was given; nothing was stored.", err=True)
        return 1
    store = KeyStore(configuration.home, account=provider.store.account, use_keyring=not in_file)
    try:
        place = store.save(key)
        if is_used and not provider.is_first:
            change_model(configuration.home, provider=provider.profile.name, default=None)
        elif not provider.is_first and provider.profile is not ANTHROPIC:
            others = {*configuration.settings.other_providers, provider.profile.name}
            change_model(configuration.home, others=sorted(others))
    except (OSError, ValueError) as error:
        click.echo(f"The key could not be stored: {error}", err=True)
        return 1
    click.echo(f"Stored in {place}. Your editor can use it at once.", err=True)
    return 0


def change_model(home: Path, **changes: object) -> Path:
    """Change what HERMES_HOME/acp/config.yaml says of the model; return the file.

    Raises:
        OSError: it cannot be read or written.
        ValueError: it is no YAML.
    """
    file = home / "acp" / "config.yaml"
    prepare(file)
    text = with_section(file.read_text(encoding="utf-8"), "model", changes, "default")
    write_atomically(file, text.encode(), PRIVATE)
    return file


def _provider(configuration: Configuration, name: str | None) -> Provider:
    """Return the provider of a name, or the configured one; Anthropic where that is not known."""
    providers = configured_providers(configuration) or ()
    if name is None and providers:
        return providers[0]
    wanted = name or ANTHROPIC.name
    found = next((each for each in providers if each.profile.name == wanted), None)
    return found or provider_called(wanted, configuration)


def _forget(store: KeyStore) -> int:
    try:
        store.forget()
    except OSError as error:
        click.echo(f"The key could not be removed: {error}", err=True)
        return 1
    click.echo("The stored key is gone.", err=True)
    return 0


def _ask(provider: Provider) -> str:
    """Return the key: typed unseen at a terminal, else the first line of the input."""
    if sys.stdin.isatty():
        title = f"{provider.profile.title} API key"
        typed: str = click.prompt(title, hide_input=True, default="", err=True)
        return typed.strip()
    return sys.stdin.readline().strip()


# Servers of this machine.


def _wants_local() -> bool:
    names = ", ".join(f"{profile.title} at port {profile.default_port}" for profile in LOCAL)
    question = f"Look for a model server on this machine ({names})?"
    return click.confirm(question, default=False, err=True)


def _choose_local(home: Path) -> int:
    found: list[LocalServer] = anyio.run(find_local_servers)
    offered = [(server, model.id) for server in found for model in server.models]
    if not offered:
        click.echo("No model server answers on this machine; nothing was changed.", err=True)
        return 1
    for number, (server, model_id) in enumerate(offered, 1):
        click.echo(f"{number:3}  {model_id}  ({server.profile.title})", err=True)
    number = _ask_number(len(offered))
    if number is None:
        click.echo("No model was chosen; nothing was changed.", err=True)
        return 1
    server, model_id = offered[number - 1]
    file = change_model(
        home,
        provider=server.profile.name,
        default=model_id,
        base_url=server.profile.base_url,
    )
    click.echo(f"{model_id} is the model from now on: {file} says so.", err=True)
    return 0


def _ask_number(most: int) -> int | None:
    """Return the number that is typed, or stands in the first line of the input."""
    if sys.stdin.isatty():
        typed: int = click.prompt("Which one", type=click.IntRange(1, most), err=True)
        return typed
    line = sys.stdin.readline().strip()
    return int(line) if line.isdigit() and 1 <= int(line) <= most else None
