"""`acp-server demo`: drives a real server process over its stdin and stdout, as an editor does.

All files are in one temporary directory that is removed however the demo ends; the user's
configuration is neither read nor written.
"""

import os
import re
import sys
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import click

from acp_server.cli.async_runner import run_async
from acp_server.cli.demo_project import DemoProjectError, create_demo_project, load_demo_script
from acp_server.cli.demo_runner import DemoRunner
from acp_server.cli.examples import ExampleCommand
from acp_server.cli.screen import TerminalScreen
from acp_server.config.settings import child_environment
from acp_server.config.table import names_by_setting
from acp_server.headless.agent import ClientProfile
from acp_server.headless.directory_files import DirectoryFiles
from acp_server.headless.driver import spawn_agent
from acp_server.headless.errors import AgentClientError, AgentResponseError
from acp_server.headless.process import AgentLaunch, serve_command
from acp_server.headless.wire import RecordLine, ignore_line
from acp_server.models.scripted import SCRIPTS

MODEL_SCRIPT = "demo"
FAST_FACTOR = 8
_PACE_PATTERN = re.compile(r"^pace: (\d+)ms$", re.MULTILINE)


@click.command(cls=ExampleCommand)
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
    is_quick = is_fast or not sys.stdout.isatty()
    try:
        with TemporaryDirectory(prefix="acp-demo-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            play = partial(_play, folder, prompts, is_json=is_json, is_quick=is_quick)
            return run_async(play)
    except (AgentClientError, DemoProjectError) as error:
        click.echo(f"acp-server demo: {error}", err=True)
        return 1


async def _play(folder: Path, prompts: tuple[str, ...], *, is_json: bool, is_quick: bool) -> int:
    """Play the demo, or the user's prompts, which have no expected result."""
    script = load_demo_script()
    project = folder / "averages"
    await create_demo_project(project, script.files)
    # With --json, stdout carries the protocol messages alone: the screen is discarded.
    screen = TerminalScreen(file=StringIO() if is_json else None)
    runner = DemoRunner(screen, has_pauses=not is_quick)
    profile = ClientProfile(
        runner.handle_update,
        runner.answer_permission,
        files=DirectoryFiles(project, runner.handle_written_file),
        shows_terminal_output=True,
    )
    model = MODEL_SCRIPT
    if is_quick:
        model = str(folder / f"{MODEL_SCRIPT}.script")
        model_script = (SCRIPTS / f"{MODEL_SCRIPT}.script").read_text(encoding="utf-8")
        faster_script = _PACE_PATTERN.sub(
            lambda found: f"pace: {max(1, int(found[1]) // FAST_FACTOR)}ms", model_script
        )
        await anyio.Path(model).write_text(faster_script, encoding="utf-8")
    home = folder / "home"
    await anyio.Path(home).mkdir()
    launch = AgentLaunch(
        serve_command("--model", f"scripted:{model}"),
        cwd=folder,
        environment=_server_environment(home),
        stderr="inherit" if is_json else "capture",
    )

    record: RecordLine = (lambda line: click.echo(line.to_json())) if is_json else ignore_line
    async with spawn_agent(launch, profile, record) as child:
        try:
            await runner.run(child, project, script, prompts)
        except AgentResponseError:
            await child.close()
            click.echo(child.stderr_text, err=True, nl=False)  # the server's log has the reason
            raise
    if is_json:
        for problem in runner.problems:
            click.echo(f"acp-server demo: problem: {problem}", err=True)
        click.echo(f"acp-server demo: {', '.join(runner.counts)}", err=True)
    return 1 if runner.problems else 0


def _server_environment(home: Path) -> dict[str, str]:
    """Return an environment without settings; its `python3`, for the tests, is this Python."""
    variables = [name for names in names_by_setting("variable").values() for name in names]
    environment = child_environment({**dict.fromkeys(variables), "HERMES_HOME": str(home)})
    path = environment.get("PATH") or os.defpath
    return {**environment, "PATH": os.pathsep.join((str(Path(sys.executable).parent), path))}
