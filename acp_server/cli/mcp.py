"""`acp-server mcp`: lists the MCP servers of the settings, and signs in to them or out."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import click

from acp_server.cli.async_runner import run_async
from acp_server.cli.examples import ExampleGroup
from acp_server.cli.options import JSON
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.mcp.lazy_imports import create_connector
from acp_server.mcp.ports import ClientCallbacks, McpConnector, ServerError
from acp_server.mcp.server_configs import describe_transport, enabled_servers
from acp_server.mcp.sign_in_prompt import UserSignInPrompt
from acp_server.mcp.sign_in_store import SignInStore
from acp_server.server.config_mapping import mcp_config
from acp_server.session.ports.elicitation import DecliningElicitor
from acp_server.session.ports.mcp_configs import HttpServerConfig, ServerConfig

CONNECT_SECONDS = 60.0

_Work = Callable[[HttpServerConfig, McpConnector], Awaitable[str]]


@click.group(cls=ExampleGroup)
def command() -> None:
    """List the MCP servers of the settings, and sign in to them or out.

    In a session, `/mcp` does the same, also for the servers of the editor and the workspace.
    """


@command.command("list")
@JSON
def list_servers(*, is_json: bool) -> int:
    """List the enabled servers of config.yaml; none is started.

    With --json: [{"name", "transport", "signed_in"}].
    """
    configuration = settings.load({})
    rows = [
        {
            "name": server.name,
            "transport": describe_transport(server),
            "signed_in": anyio.run(_is_signed_in, configuration, server),
        }
        for server in enabled_servers(configuration.settings.mcp_servers)
    ]
    if is_json:
        click.echo(json.dumps(rows, indent=2))
        return 0
    lines = [
        f"{row['name']}  {row['transport']}{'  signed in' if row['signed_in'] else ''}"
        for row in rows
    ]
    click.echo("\n".join(lines) or "No MCP servers are configured.")
    return 0


@command.command("sign-in")
@click.argument("name")
def sign_in(name: str) -> int:
    """Sign in to a server over HTTP, in your browser."""
    return _run(name, _sign_in)


@command.command("sign-out")
@click.argument("name")
def sign_out(name: str) -> int:
    """Revoke and delete the stored sign-in of a server."""
    return _run(name, _sign_out)


def _find_remote(configuration: Configuration, name: str) -> HttpServerConfig:
    """Return a server of the settings.

    Raises:
        click.BadParameter: No remote server has this name, or it cannot have a sign-in.
    """
    servers = enabled_servers(configuration.settings.mcp_servers)
    remote = [each for each in servers if isinstance(each, HttpServerConfig)]
    found = next((each for each in remote if each.name == name and each.sign_in_config), None)
    if found is None:
        names = ", ".join(each.name for each in remote if each.sign_in_config) or "none"
        reason = f"no server of this name can have a sign-in; those that can: {names}"
        raise click.BadParameter(reason, param_hint="NAME")
    return found


async def _is_signed_in(configuration: Configuration, server: ServerConfig) -> bool:
    if not isinstance(server, HttpServerConfig) or server.sign_in_config is None:
        return False
    return bool((await SignInStore(configuration.home, server).load()).get("tokens"))


def _run(name: str, work: _Work) -> int:
    """Run work on a server of the settings, and print its outcome; return the exit code.

    Raises:
        click.BadParameter: There is none of this name that could have a sign-in.
    """
    configuration = settings.load({})
    server = _find_remote(configuration, name)

    async def run() -> int:
        async with anyio.create_task_group() as tasks:
            connector = create_connector(tasks, mcp_config(configuration))
            try:
                click.echo(await work(server, connector))
            except ServerError as error:
                click.echo(f"acp-server mcp: {error.reason}", err=True)
                return 1
            finally:
                await connector.close()
                tasks.cancel_scope.cancel()
        return 0

    return run_async(run)


async def _sign_in(server: HttpServerConfig, connector: McpConnector) -> str:
    async def show_text(text: str) -> None:
        click.echo(text.rstrip())

    prompt = UserSignInPrompt(server.name, DecliningElicitor(), show_text)
    callbacks = ClientCallbacks(
        (Path.cwd(),),
        DecliningElicitor(),
        on_list_changed=_ignore,
        on_output=_ignore,
        sign_in_prompt=lambda: prompt,
    )
    seconds = CONNECT_SECONDS + (server.sign_in_config.page_seconds if server.sign_in_config else 0)
    with anyio.move_on_after(seconds) as scope:
        async with connector.connect(server, callbacks):
            pass
    if scope.cancelled_caught:
        raise ServerError(f"{server.name} did not answer in time")
    account = connector.account(server)
    if account is None or not account.is_signed_in:
        return f"{server.name} needs no sign-in."
    return f"You are signed in to {server.name}."


async def _sign_out(server: HttpServerConfig, connector: McpConnector) -> str:
    account = connector.account(server)
    if account is not None:
        await account.sign_out()
    return f"You are signed out of {server.name}."


def _ignore(_: str) -> None:
    pass
