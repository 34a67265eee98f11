"""Checks of `acp-server doctor`; each returns a fact, a status and advice.

Secrets are removed from all texts here.
"""

import os
import platform
import shutil
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread

from acp_server.cli.check_result import CheckResult
from acp_server.cli.config_files import check_all_settings
from acp_server.cli.editor_detection import check_editors, find_editors
from acp_server.cli.endpoint_check import check_endpoint
from acp_server.cli.skills_check import check_skills
from acp_server.cli.state_checks import check_state
from acp_server.config import settings
from acp_server.config.credentials import CredentialProvider
from acp_server.config.settings import Configuration
from acp_server.headless.driver import SpawnedAgent, spawn_agent
from acp_server.headless.errors import AgentClientError
from acp_server.headless.process import AgentLaunch, serve_command
from acp_server.models.fixed_catalog import scripted_catalog
from acp_server.server.endpoints import configured_providers
from acp_server.text.redaction import redact_secrets
from acp_server.version import __version__
from skills_store.programs import find_program

PROGRAM = "acp-server"
ROUND_TRIP_SECONDS = 20.0


async def run_checks(configuration: Configuration, report: Callable[[CheckResult], None]) -> None:
    """Run all checks, fast ones first, and pass each result to `report` immediately."""
    report(check_installation())
    report(check_command())
    report(check_home(configuration.home))
    for finding in check_configuration(configuration):
        report(finding)
    report(await check_model(configuration))
    report(await check_endpoint(configuration))
    for finding in await to_thread.run_sync(check_state, configuration.home):
        report(finding)
    for finding in await to_thread.run_sync(check_skills, configuration):
        report(finding)
    report(check_editors(await to_thread.run_sync(find_editors, Path.home())))
    report(await check_git())
    report(await check_round_trip())


def check_installation() -> CheckResult:
    """Return the versions of this program, Python and the system."""
    python = f"Python {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    return CheckResult("installation", "ok", f"{PROGRAM} {__version__}, {python}, {system}")


def check_command() -> CheckResult:
    """Check that the command on PATH belongs to this installation."""
    found = shutil.which(PROGRAM)
    scripts = Path(sysconfig.get_path("scripts"))
    if found is None:
        advice = f"use the full path in your editor: {scripts / PROGRAM}"
        return CheckResult("command", "warning", f"{PROGRAM} is not on PATH", advice)
    if Path(found).resolve().parent != scripts.resolve():
        advice = f"put the directory of {scripts / PROGRAM} first on PATH, or use its full path"
        return CheckResult("command", "warning", f"{found} belongs to another installation", advice)
    return CheckResult("command", "ok", found)


def check_home(home: Path) -> CheckResult:
    """Check that HERMES_HOME is a writable directory or can be created."""
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    advice = "set HERMES_HOME to a directory that you can write to"
    if not nearest.is_dir():
        return CheckResult("home", "problem", f"{nearest} is not a directory", advice)
    if not os.access(nearest, os.W_OK | os.X_OK):
        return CheckResult("home", "problem", f"{nearest} is not writable", advice)
    fact = str(home) if nearest == home else f"{home} (will be created when needed)"
    return CheckResult("home", "ok", fact)


def check_configuration(configuration: Configuration) -> Iterator[CheckResult]:
    """Yield a result for each problem in the settings, or one that says that there is none."""
    found = check_all_settings(configuration)
    for each in found:
        if each.problem.is_harmless:
            yield CheckResult("configuration", "warning", str(each), f"run `{PROGRAM} config edit`")
        else:
            yield CheckResult("configuration", "problem", str(each), "correct or remove it")
    if not found:
        yield CheckResult("configuration", "ok", "no problems in the settings")


async def check_model(configuration: Configuration) -> CheckResult:
    """Check that a model is configured and that there is a credential for it."""
    current, origins = configuration.settings, configuration.origins
    name = current.model or "the endpoint's first known model"
    if scripted_catalog(current.model or "") is not None:
        return CheckResult("model", "ok", f"{name} ({origins['model']})")
    providers = configured_providers(configuration)
    if providers is None:
        fact = f"unknown provider {current.provider!r} ({origins['provider']})"
        advice = "set `model.base_url` to its address in HERMES_HOME/acp/config.yaml"
        return CheckResult("model", "warning", fact, advice)
    first = providers[0]
    credential = await CredentialProvider(first.credential, first.store).current()
    if credential is None and first.needs_key:
        variables = " or ".join(first.profile.key_variables) or "`model.api_key`"
        advice = f"run `{PROGRAM} setup`, or set {variables}; scripted:demo needs no account"
        return CheckResult("model", "warning", "no API key: prompts will fail", advice)
    if credential is None:
        return CheckResult(
            "model", "ok", f"{name}, at {redact_secrets(first.address)} without a key"
        )
    return CheckResult("model", "ok", f"{name}, with the key from {credential.source}")


async def check_git() -> CheckResult:
    """Check that git is installed and runs."""
    environment = settings.child_environment(dict.fromkeys(settings.secret_variables()))
    # Never run a `git` from the current directory: it may be an untrusted workspace.
    found = find_program("git", environment.get("PATH"), outside=[Path()])
    advice = "install git: the demo and the workspace context use it"
    if found is None:
        return CheckResult("git", "warning", "git is not on PATH", advice)
    try:
        done = await anyio.run_process([found, "--version"], env=environment)
    except (OSError, CalledProcessError) as error:
        return CheckResult("git", "warning", f"{found} does not run: {error}", advice)
    version = done.stdout.decode("utf-8", "replace").strip()
    return CheckResult("git", "ok", f"{version}, {found}")


async def check_round_trip() -> CheckResult:
    """Start the server as an editor does, open and close a session, and stop it."""
    advice = f"run `{PROGRAM} serve --log-level debug` and look at its messages"
    try:
        with anyio.fail_after(ROUND_TRIP_SECONDS):
            return await _run_round_trip(advice)
    except TimeoutError:
        fact = f"no answer within {ROUND_TRIP_SECONDS:.0f} s"
    except (AgentClientError, OSError) as error:
        fact = redact_secrets(str(error))
    return CheckResult("round trip", "problem", fact, advice)


async def _run_round_trip(advice: str) -> CheckResult:
    with TemporaryDirectory(prefix="acp-doctor-", ignore_cleanup_errors=True) as folder:
        async with spawn_agent(AgentLaunch(serve_command(), stderr="capture")) as child:
            milliseconds = await _measure_session(child, await anyio.Path(folder).resolve())
            agent_exit = await child.close()
    milliseconds["exit"] = round(agent_exit.seconds * 1000)
    fact = ", ".join(f"{name} {number} ms" for name, number in milliseconds.items())
    if agent_exit.code != 0:
        fact = f"{fact}, exit code {agent_exit.code}"
        return CheckResult("round trip", "problem", fact, advice, milliseconds)
    return CheckResult("round trip", "ok", fact, milliseconds=milliseconds)


async def _measure_session(child: SpawnedAgent, folder: anyio.Path) -> dict[str, int]:
    await child.agent.initialize()
    initialized_at = time.perf_counter()
    session = await child.agent.new_session(Path(folder))
    opened_at = time.perf_counter()
    await child.agent.close_session(session.session_id)
    return {
        "start and initialize": round((initialized_at - child.started) * 1000),
        "session/new": round((opened_at - initialized_at) * 1000),
    }
