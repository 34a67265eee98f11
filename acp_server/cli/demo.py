"""`acp-server demo`: a real server process, driven over its stdin and stdout as an editor does.

Everything it needs is made in one temporary folder, which is removed however the demo ends; the
user's configuration is neither read nor written.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import click

from acp_server.cli.interrupts import run
from acp_server.cli.screen import Screen
from acp_server.cli.tour import STEPS, Show, Step, Tour
from acp_server.cli.tour_shows import ScreenShow, WireShow
from acp_server.cli.workspace import WorkspaceError, make_workspace
from acp_server.headless.agent import Editor
from acp_server.headless.driver import spawn
from acp_server.headless.errors import AgentRefusedError, DriverError
from acp_server.headless.process import Launch, serve_command
from acp_server.headless.wire import Record, WireLine, record_nothing
from acp_server.models.scripted import SCRIPTS
from acp_server.settings import child_environment, sources

MODEL = "scripted:demo"
PAUSE_SECONDS = 0.35
QUICKER = 4
_PACE = re.compile(r"^pace: (\d+)ms$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    steps: Sequence[Step]
    is_json: bool
    is_quick: bool


@click.command(
    epilog="""\
\b
Examples:
  acp-server demo
  acp-server demo --prompt "Give me a tour" --prompt /version
  acp-server demo --json | jq -c .message.method
"""
)
@click.option("--json", "is_json", is_flag=True, help="Print the wire instead: one object a line.")
@click.option("--fast", "is_fast", is_flag=True, help="Type quickly, as in a pipe.")
@click.option(
    "--prompt",
    "prompts",
    metavar="TEXT",
    multiple=True,
    help="Send this instead of the tour's prompts; may be repeated.",
)
def command(*, is_json: bool, is_fast: bool, prompts: tuple[str, ...]) -> int:
    """Watch the server at work, in this terminal.

    Starts a real server with a scripted model in a throw-away git project, and takes you through
    thoughts, answers, slash commands and cancelling. Needs no account and no network. With --json
    each line is {"from": "client" or "agent", "message": ...}.
    """
    steps = [Step(prompt, "a prompt of yours") for prompt in prompts] or STEPS
    request = Request(steps, is_json, is_quick=is_fast or not sys.stdout.isatty())
    try:
        with TemporaryDirectory(prefix="acp-demo-", ignore_cleanup_errors=True) as folder:
            return run(partial(_give_demo, Path(folder).resolve(), request))
    except (DriverError, WorkspaceError) as error:
        click.echo(f"acp-server demo: {error}", err=True)
        return 1


async def _give_demo(folder: Path, request: Request) -> int:
    workspace = await make_workspace(folder / "calculator")
    show: Show = WireShow() if request.is_json else ScreenShow(Screen(), workspace)
    tour = Tour(request.steps, show, 0.0 if request.is_quick else PAUSE_SECONDS)
    launch = await _launch(folder, request)
    async with spawn(launch, Editor(tour.update), _recorder(request)) as child:
        try:
            summary = await tour.run(child, workspace.folder)
        except AgentRefusedError:
            await child.close()
            click.echo(child.stderr_text, err=True, nl=False)  # its log says why
            raise
    return 1 if summary.problems else 0


async def _launch(folder: Path, request: Request) -> Launch:
    home = anyio.Path(folder / "home")
    await home.mkdir()
    model = await _quick_model(folder) if request.is_quick else MODEL
    variables = dict.fromkeys(source.variable for source in sources().values() if source.variable)
    return Launch(
        serve_command("--model", model),
        folder=folder,
        environment=child_environment({**variables, "HERMES_HOME": str(home)}),
        stderr="inherit" if request.is_json else "capture",
    )


async def _quick_model(folder: Path) -> str:
    """Write a copy of the demo's script that is in a hurry."""
    script = await anyio.Path(SCRIPTS / "demo.script").read_text(encoding="utf-8")
    path = anyio.Path(folder / "quick.script")
    quick = _PACE.sub(lambda found: f"pace: {max(1, int(found[1]) // QUICKER)}ms", script)
    await path.write_text(quick, encoding="utf-8")
    return f"scripted:{path}"


def _recorder(request: Request) -> Record:
    def print_line(line: WireLine) -> None:
        click.echo(line.to_json())

    return print_line if request.is_json else record_nothing
