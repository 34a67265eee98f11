"""`acp-server demo`: drives a real server process over its stdin and stdout, as an editor does.

All files are in one temporary directory that is removed however the demo ends; the user's
configuration is neither read nor written.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import click

from acp_server.cli.async_runner import run
from acp_server.cli.demo_project import Workspace, WorkspaceError, make_workspace
from acp_server.cli.demo_renderers import ScreenShow, WireShow
from acp_server.cli.demo_runner import MEND, STEPS, Pauses, Show, Step, Tour, Verify, verify_nothing
from acp_server.cli.demo_verification import expected_changes, verify
from acp_server.cli.screen import Screen
from acp_server.config.settings import child_environment, sources
from acp_server.headless.agent import Editor
from acp_server.headless.directory_files import FolderFiles
from acp_server.headless.driver import spawn
from acp_server.headless.errors import AgentRefusedError, DriverError
from acp_server.headless.process import Launch, serve_command
from acp_server.headless.wire import Record, WireLine, record_nothing
from acp_server.models.scripted import SCRIPTS

SCRIPT = "demo"
PAUSES = Pauses(before_prompts=0.35, before_answers=1.2)
QUICKER = 8
_PACE = re.compile(r"^pace: (\d+)ms$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Request:
    """Options of the demo."""

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
@click.option("--json", "is_json", is_flag=True, help="Print the protocol messages as JSON Lines.")
@click.option("--fast", "is_fast", is_flag=True, help="Play without pauses, as in a pipe.")
@click.option(
    "--prompt",
    "prompts",
    metavar="TEXT",
    multiple=True,
    help="Send this prompt instead of the demo's. Repeatable.",
)
def command(*, is_json: bool, is_fast: bool, prompts: tuple[str, ...]) -> int:
    """Watch a demo session in this terminal.

    Starts a real server with a scripted model in a temporary git project, lets it fix a failing
    test, and shows slash commands and cancellation. At the end, the result is verified. Needs no
    account and no network. With --json, each line is {"from": "client" or "agent", "message": ...}.
    """
    steps = [Step(prompt, "your prompt", failing_calls=None) for prompt in prompts] or STEPS
    request = Request(steps, is_json, is_quick=is_fast or not sys.stdout.isatty())
    try:
        with TemporaryDirectory(prefix="acp-demo-", ignore_cleanup_errors=True) as folder:
            return run(partial(_give_demo, Path(folder).resolve(), request))
    except (DriverError, WorkspaceError) as error:
        click.echo(f"acp-server demo: {error}", err=True)
        return 1


async def _give_demo(folder: Path, request: Request) -> int:
    workspace = await make_workspace(folder / "averages")
    show: Show = WireShow() if request.is_json else ScreenShow(Screen(), workspace)
    script = await anyio.Path(SCRIPTS / f"{SCRIPT}.script").read_text(encoding="utf-8")
    pauses = Pauses() if request.is_quick else PAUSES
    tour = Tour(request.steps, show, pauses, _verification(workspace, request, script))
    editor = Editor(
        tour.update,
        tour.decide,
        files=FolderFiles(workspace.folder, tour.wrote),
        shows_terminal_output=True,
    )
    launch = await _launch(folder, request, script)
    async with spawn(launch, editor, _recorder(request)) as child:
        try:
            summary = await tour.run(child, workspace.folder)
        except AgentRefusedError:
            await child.close()
            click.echo(child.stderr_text, err=True, nl=False)  # the server's log has the reason
            raise
    return 1 if summary.problems else 0


def _verification(workspace: Workspace, request: Request, script: str) -> Verify:
    """Return the verification of the project; the user's own prompts have no expected result."""
    if MEND not in request.steps:
        return verify_nothing
    return partial(verify, workspace.folder, expected_changes(script, MEND.prompt))


async def _launch(folder: Path, request: Request, script: str) -> Launch:
    home = anyio.Path(folder / "home")
    await home.mkdir()
    model = await _quick_model(folder, script) if request.is_quick else SCRIPT
    variables = dict.fromkeys(source.variable for source in sources().values() if source.variable)
    environment = child_environment({**variables, "HERMES_HOME": str(home)})
    return Launch(
        serve_command("--model", f"scripted:{model}"),
        folder=folder,
        environment={**environment, "PATH": _path_with_python(environment.get("PATH"))},
        stderr="inherit" if request.is_json else "capture",
    )


def _path_with_python(path: str | None) -> str:
    """Return a PATH on which `python3` is this Python; the project's tests run with it."""
    return os.pathsep.join((str(Path(sys.executable).parent), path or os.defpath))


async def _quick_model(folder: Path, script: str) -> str:
    """Write a faster copy of the demo's script and return its path."""
    path = anyio.Path(folder / f"{SCRIPT}.script")
    quick = _PACE.sub(lambda found: f"pace: {max(1, int(found[1]) // QUICKER)}ms", script)
    await path.write_text(quick, encoding="utf-8")
    return str(path)


def _recorder(request: Request) -> Record:
    def print_line(line: WireLine) -> None:
        click.echo(line.to_json())

    return print_line if request.is_json else record_nothing
