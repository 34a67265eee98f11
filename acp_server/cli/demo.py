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

from acp_server.cli.async_runner import run_async
from acp_server.cli.demo_project import DemoProject, DemoProjectError, create_demo_project
from acp_server.cli.demo_renderers import SummaryDemoRenderer, TerminalDemoRenderer
from acp_server.cli.demo_runner import (
    DEMO_STEPS,
    FIX_STEP,
    DemoPauses,
    DemoRenderer,
    DemoRunner,
    DemoStep,
    DemoVerifier,
    verify_nothing,
)
from acp_server.cli.demo_verification import expected_changes, verify_demo
from acp_server.cli.screen import TerminalScreen
from acp_server.config.settings import child_environment
from acp_server.config.table import names_by_setting
from acp_server.headless.agent import ClientProfile
from acp_server.headless.directory_files import DirectoryFiles
from acp_server.headless.driver import spawn_agent
from acp_server.headless.errors import AgentClientError, AgentResponseError
from acp_server.headless.process import AgentLaunch, serve_command
from acp_server.headless.wire import RecordLine, WireLine, ignore_line
from acp_server.models.scripted import SCRIPTS

SCRIPT = "demo"
PAUSES = DemoPauses(before_prompts=0.35, before_answers=1.2)
FAST_FACTOR = 8
_PACE_PATTERN = re.compile(r"^pace: (\d+)ms$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """Options of the demo."""

    steps: Sequence[DemoStep]
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
    steps = [
        DemoStep(prompt, "your prompt", failing_calls=None) for prompt in prompts
    ] or DEMO_STEPS
    request = DemoRequest(steps, is_json, is_quick=is_fast or not sys.stdout.isatty())
    try:
        with TemporaryDirectory(prefix="acp-demo-", ignore_cleanup_errors=True) as folder:
            return run_async(partial(_run_demo, Path(folder).resolve(), request))
    except (AgentClientError, DemoProjectError) as error:
        click.echo(f"acp-server demo: {error}", err=True)
        return 1


async def _run_demo(folder: Path, request: DemoRequest) -> int:
    workspace = await create_demo_project(folder / "averages")
    renderer: DemoRenderer = (
        SummaryDemoRenderer()
        if request.is_json
        else TerminalDemoRenderer(TerminalScreen(), workspace)
    )
    script = await anyio.Path(SCRIPTS / f"{SCRIPT}.script").read_text(encoding="utf-8")
    pauses = DemoPauses() if request.is_quick else PAUSES
    runner = DemoRunner(request.steps, renderer, pauses, _verification(workspace, request, script))
    profile = ClientProfile(
        runner.handle_update,
        runner.decide,
        files=DirectoryFiles(workspace.directory, runner.handle_written_file),
        shows_terminal_output=True,
    )
    launch = await _prepare_launch(folder, request, script)
    async with spawn_agent(launch, profile, _recorder(request)) as child:
        try:
            summary = await runner.run(child, workspace.directory)
        except AgentResponseError:
            await child.close()
            click.echo(child.stderr_text, err=True, nl=False)  # the server's log has the reason
            raise
    return 1 if summary.problems else 0


def _verification(workspace: DemoProject, request: DemoRequest, script: str) -> DemoVerifier:
    """Return the verification of the project; the user's own prompts have no expected result."""
    if FIX_STEP not in request.steps:
        return verify_nothing
    return partial(verify_demo, workspace.directory, expected_changes(script, FIX_STEP.prompt))


async def _prepare_launch(folder: Path, request: DemoRequest, script: str) -> AgentLaunch:
    home = anyio.Path(folder / "home")
    await home.mkdir()
    model = await _write_fast_script(folder, script) if request.is_quick else SCRIPT
    variables = dict.fromkeys(
        name for names in names_by_setting("variable").values() for name in names
    )
    environment = child_environment({**variables, "HERMES_HOME": str(home)})
    return AgentLaunch(
        serve_command("--model", f"scripted:{model}"),
        cwd=folder,
        environment={**environment, "PATH": _path_with_python(environment.get("PATH"))},
        stderr="inherit" if request.is_json else "capture",
    )


def _path_with_python(path: str | None) -> str:
    """Return a PATH on which `python3` is this Python; the project's tests run with it."""
    return os.pathsep.join((str(Path(sys.executable).parent), path or os.defpath))


async def _write_fast_script(folder: Path, script: str) -> str:
    """Write a faster copy of the demo's script and return its path."""
    path = anyio.Path(folder / f"{SCRIPT}.script")
    fast_script = _PACE_PATTERN.sub(
        lambda found: f"pace: {max(1, int(found[1]) // FAST_FACTOR)}ms", script
    )
    await path.write_text(fast_script, encoding="utf-8")
    return str(path)


def _recorder(request: DemoRequest) -> RecordLine:
    def print_line(line: WireLine) -> None:
        click.echo(line.to_json())

    return print_line if request.is_json else ignore_line
