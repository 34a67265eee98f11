"""`acp-server trust`: trusts a workspace's own settings, skills and programs."""

import json
from pathlib import Path

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.options import JSON
from acp_server.config import settings
from acp_server.permissions.trust import TrustStore

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=ExampleCommand)
@click.argument("folder", type=FOLDER, default=".")
@click.option("--revoke", is_flag=True, help="Revoke the decision; sessions ask again.")
@click.option("--list", "is_list", is_flag=True, help="List the decisions for all directories.")
@JSON
def command(folder: Path, *, revoke: bool, is_list: bool, is_json: bool) -> int:
    """Trust a workspace.

    The settings in its .hermes.md, its skills, hooks and MCP servers are used only if you trust it.
    Your decision is stored in HERMES_HOME/acp/trust.json, by the path with symlinks resolved.
    """
    store = TrustStore(settings.load({}).home / "acp" / "trust.json")
    if is_list:
        found = store.read_all()
        lines = [f"{status:9} {root}" for root, status in found.items()]
        text = "\n".join(lines) or "No decisions yet."
        click.echo(json.dumps(dict(found)) if is_json else text)
        return 0
    root = folder.resolve()
    if not revoke and not root.is_dir():
        raise click.BadParameter(f"{root} does not exist", param_hint="FOLDER")
    try:
        if not revoke:
            store.save(root, "trusted")
            text = f"Trusted {root}"
        elif store.revoke(root):
            text = f"Revoked the trust in {root}"
        else:
            text = f"{root} was not trusted"
    except OSError as error:
        click.echo(f"acp-server trust: the decision cannot be saved: {error}", err=True)
        return 1
    click.echo(json.dumps({"root": str(root), "verdict": store.verdict(root)}) if is_json else text)
    return 0
