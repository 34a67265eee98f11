"""`acp-server setup`: asks for a key and stores it where only this user can read it."""

import sys

import click

from acp_server import settings
from acp_server.credentials import KeyStore

EXAMPLES = """\
\b
Examples:
  acp-server setup
  acp-server setup --forget
  echo "$KEY" | acp-server setup
"""


@click.command(epilog=EXAMPLES)
@click.option("--forget", is_flag=True, help="Remove the stored key instead.")
@click.option(
    "--file", "in_file", is_flag=True, help="Keep it in a 0600 file, not the system keyring."
)
def command(*, forget: bool, in_file: bool) -> int:
    """Store the API key that the server signs in with.

    The key goes to the system keyring where there is one, else to a file in HERMES_HOME/acp that
    only you can read. It is never shown, logged or handed to a child process.
    """
    home = settings.load({}).home
    if forget:
        return _forget(KeyStore(home))
    key = _ask()
    if not key:
        click.echo("No key was given; nothing was stored.", err=True)
        return 1
    try:
        place = KeyStore(home, use_keyring=not in_file).save(key)
    except OSError as error:
        click.echo(f"The key could not be stored: {error}", err=True)
        return 1
    click.echo(f"Stored in {place}. Your editor can use it at once.", err=True)
    return 0


def _forget(store: KeyStore) -> int:
    try:
        store.forget()
    except OSError as error:
        click.echo(f"The key could not be removed: {error}", err=True)
        return 1
    click.echo("The stored key is gone.", err=True)
    return 0


def _ask() -> str:
    """Return the key: typed unseen at a terminal, else the first line of the input."""
    if sys.stdin.isatty():
        typed: str = click.prompt("Anthropic API key", hide_input=True, default="", err=True)
        return typed.strip()
    return sys.stdin.readline().strip()
