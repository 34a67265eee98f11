"""Checks of `acp-server doctor`; each returns a fact, a status and advice.

Secrets are removed from all texts here.
"""

import json
import os
import platform
import shutil
import sqlite3
import stat
import sys
import sysconfig
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import anyio
from anyio import to_thread

from acp_server.cli.config_files import check_all_settings
from acp_server.cli.editor_detection import FoundEditor, find_editors
from acp_server.cli.endpoint_requests import (
    ENDPOINT_ERRORS,
    KEY_REFUSED,
    can_send_key,
    request_models,
)
from acp_server.config import settings
from acp_server.config.profiles import DEFAULT_PROFILE, ChosenHome, list_profiles
from acp_server.config.settings import Configuration
from acp_server.config.unused_keys import describe_unused_keys
from acp_server.headless.driver import spawn_agent
from acp_server.headless.errors import AgentClientError
from acp_server.headless.process import AgentLaunch, serve_command
from acp_server.models.fixed_catalog import scripted_catalog
from acp_server.models.provider_profiles import CUSTOM, find_profile
from acp_server.server.endpoints import provider_adapter
from acp_server.server.providers import ConfiguredProvider, configured_providers
from acp_server.skills.service import SkillService
from acp_server.text.redaction import redact_secrets
from acp_server.tools.shell.confinement.launchers import MissingLauncher, find_launcher
from acp_server.version import __version__
from skills_store.programs import find_program

PROGRAM = "acp-server"
ROUND_TRIP_SECONDS = 20.0
CREDENTIALS = "credentials.json"
DATABASE = "sessions.db"
DATABASE_CHECK_SECONDS = 5.0
_DAMAGED_ADVICE = "make a copy; at its next start the server moves it aside and creates a new one"
_PROGRESS_STEPS = 10_000
_BYTES_PER_MEGABYTE = 1_000_000
FIRST_SERVER_ERROR = 500
MAX_LISTED_PROBLEMS = 5


CheckStatus: TypeAlias = Literal["ok", "warning", "problem"]
STATUSES: tuple[CheckStatus, ...] = ("ok", "warning", "problem")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check."""

    name: str
    status: CheckStatus
    fact: str
    advice: str = ""
    milliseconds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Measured times, by name."""


def worst_status(findings: Sequence[CheckResult]) -> CheckStatus:
    """Return the worst status among the findings; "ok" without any."""
    return STATUSES[max((STATUSES.index(each.status) for each in findings), default=0)]


async def run_checks(configuration: Configuration, report: Callable[[CheckResult], None]) -> None:
    """Run all checks, fast ones first, and pass each result to `report` immediately."""
    python = f"Python {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    versions = f"{PROGRAM} {__version__}, {python}, {system}"
    report(CheckResult("installation", "ok", versions))
    report(check_command())
    report(check_home(configuration.home))
    if (profiles := check_profiles(configuration.home)) is not None:
        report(profiles)
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
    report(await check_sandbox(configuration))
    report(await check_round_trip())


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


def check_profiles(home: Path) -> CheckResult | None:
    """Return the profiles of a home; None if it is the only one."""
    chosen = ChosenHome(home)
    names = list_profiles(chosen.root)
    if len(names) == 1:
        return None
    current = DEFAULT_PROFILE if chosen.root == home else home.name
    listed = ", ".join(f"{each} (in use)" if each == current else each for each in names)
    return CheckResult("profiles", "ok", listed, f"choose another one with `{PROGRAM} --profile`")


def check_configuration(configuration: Configuration) -> Iterator[CheckResult]:
    """Yield a result for each problem in the settings, or one that says that there is none."""
    found = check_all_settings(configuration)
    for line in describe_unused_keys(configuration.unused_keys):
        fact = f"{configuration.home / 'config.yaml'}: {line}"
        advice = "look whether this server has a setting for it: docs or `config show`"
        yield CheckResult("configuration", "warning", fact, advice)
    unused = {each.key for each in configuration.unused_keys}
    for each in found:
        if each.problem.key in unused:
            continue
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
        if find_profile(current.provider) is CUSTOM:
            fact = f"the provider {current.provider!r} ({origins['provider']}) has no address"
            advice = f"run `{PROGRAM} setup --provider custom --use`, or set `model.base_url`"
        return CheckResult("model", "warning", fact, advice)
    first = providers[0]
    credential = await first.credentials().current()
    if credential is None and first.note:
        return CheckResult("model", "warning", "the key is not sent", first.note)
    if credential is None and first.needs_key:
        variables = " or ".join(first.profile.key_variables) or "`model.api_key`"
        advice = f"run `{PROGRAM} setup`, or set {variables}; scripted:demo needs no account"
        if first.profile.sign_in_command:
            advice = provider_adapter(first).sign_in_message
        advice = await to_thread.run_sync(first.explain_missing_key) or advice
        return CheckResult("model", "warning", "no API key: prompts will fail", advice)
    if credential is None:
        return CheckResult(
            "model", "ok", f"{name}, at {redact_secrets(first.address)} without a key"
        )
    return CheckResult("model", "ok", f"{name}, with the key from {credential.source}")


def check_state(home: Path) -> Sequence[CheckResult]:
    """Check the documents and the database. Blocks, at most `DATABASE_CHECK_SECONDS` there."""
    return [*_check_documents(home / "acp"), check_database(home / "acp" / DATABASE)]


def _check_documents(folder: Path) -> Iterator[CheckResult]:
    readable: list[str] = []
    table = Path(__file__).with_name("documents.toml").read_text(encoding="utf-8")
    for name, consequence in tomllib.loads(table).items():
        file = folder / name
        try:
            document: object = json.loads(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not valid JSON"
            yield _unusable_result(file, reason or "it cannot be read", consequence)
            continue
        if not isinstance(document, dict):
            yield _unusable_result(file, "it is not a JSON object", consequence)
        elif (
            name == CREDENTIALS
            and sys.platform != "win32"
            and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        ):
            advice = f"chmod 600 {file}"
            yield CheckResult("state", "warning", f"other users can read {file}", advice)
        else:
            readable.append(name)
    if readable:
        yield CheckResult("state", "ok", f"{', '.join(readable)} can be read")


def _unusable_result(file: Path, reason: str, consequence: str) -> CheckResult:
    advice = f"repair it or move it away; until then, {consequence}"
    return CheckResult("state", "problem", f"{file} cannot be used: {reason}", advice)


def check_database(file: Path) -> CheckResult:
    """Check the sessions database; return its size and whether it is intact."""
    if not file.is_file():
        return CheckResult("database", "ok", f"{file}: not created yet")
    try:
        size = f"{file.stat().st_size / _BYTES_PER_MEGABYTE:.1f} MB"
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return _quick_check(database, f"{file}, {size}")
    except sqlite3.OperationalError as error:
        advice = "another program may have locked it; try again"
        return CheckResult("database", "warning", f"{file} could not be checked: {error}", advice)
    except (sqlite3.DatabaseError, OSError) as error:
        fact = f"{file} is damaged: {error}"
        return CheckResult("database", "problem", fact, _DAMAGED_ADVICE)


def _quick_check(database: sqlite3.Connection, fact: str) -> CheckResult:
    """Return the result of SQLite's quick_check, aborted after `DATABASE_CHECK_SECONDS`."""
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    fact = f"{fact}, version {version}"
    deadline = time.monotonic() + DATABASE_CHECK_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
    try:
        verdict: str = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        if time.monotonic() <= deadline:
            raise
        return CheckResult("database", "ok", f"{fact}, too large to check completely")
    if verdict != "ok":
        return CheckResult("database", "problem", f"{fact}, is damaged: {verdict}", _DAMAGED_ADVICE)
    return CheckResult("database", "ok", f"{fact}, intact")


async def check_endpoint(configuration: Configuration) -> CheckResult:
    """Ask the endpoint for its models, with the key if there is one.

    Without a key any answer below 500 counts as reachable, even a 401.
    """
    if scripted_catalog(configuration.settings.model or "") is not None:
        return CheckResult("endpoint", "ok", "not needed: the model is scripted")
    providers = configured_providers(configuration)
    if providers is None:
        return CheckResult("endpoint", "ok", "not checked: the provider is unknown")
    first = providers[0]
    address = first.address.rstrip("/")
    credential = await first.credentials().current() if can_send_key(first) else None
    began = time.perf_counter()
    try:
        status = await request_models(first, credential)
    except ENDPOINT_ERRORS as error:
        fact = redact_secrets(f"{address} does not answer: {str(error) or type(error).__name__}")
        advice = "check the network, the proxy (HTTPS_PROXY) and the base URL"
        return CheckResult("endpoint", "warning", fact, advice)
    milliseconds = {"answer": round((time.perf_counter() - began) * 1000)}
    fact = f"{redact_secrets(address)} answers in {milliseconds['answer']} ms"
    if credential is not None and status in KEY_REFUSED:
        fact = f"{redact_secrets(address)} refuses the key from {credential.source} ({status})"
        advice = f"store another key with `{PROGRAM} setup`"
        if credential.source != (await to_thread.run_sync(_stored_key_source, first)):
            advice = f"correct it there, or remove it there and run `{PROGRAM} setup`"
        return CheckResult("endpoint", "problem", fact, advice, milliseconds)
    if status >= FIRST_SERVER_ERROR:
        fact = f"{fact}, with HTTP status {status}"
        advice = "the provider has a problem; try again later"
        return CheckResult("endpoint", "warning", fact, advice, milliseconds)
    return CheckResult("endpoint", "ok", fact, milliseconds=milliseconds)


def _stored_key_source(provider: ConfiguredProvider) -> str:
    stored = provider.store.load()
    return "" if stored is None else stored.source


def check_skills(configuration: Configuration) -> Sequence[CheckResult]:
    """Check the user's own and the bundled skills, without any workspace. Blocks on disk reads."""
    skill_service = SkillService(configuration.home, Path.home(), configuration.settings.skills)
    library = skill_service.skill_roots(None).library
    skipped = [each for each in library.problems() if each.is_skipped]
    shadowed = len(library.shadowed())
    summary = f"{len(library.skills())} skills"
    summary += f", {shadowed} shadowed by others" if shadowed else ""
    reasons = [str(problem) for problem in skipped[:MAX_LISTED_PROBLEMS]]
    if len(skipped) > MAX_LISTED_PROBLEMS:
        reasons.append(f"{len(skipped) - MAX_LISTED_PROBLEMS} more cannot be loaded")
    advice = f"fix the file; `{PROGRAM} skills list` shows all problems"
    warnings = [CheckResult("skills", "warning", reason, advice) for reason in reasons]
    return [CheckResult("skills", "ok", summary), *warnings]


def check_editors(found: Sequence[FoundEditor]) -> CheckResult:
    """Return the check result for the found editors."""
    names = [f"{each.name}{' (set up)' if each.names_us else ''}" for each in found]
    return CheckResult("editors", "ok", ", ".join(names) or "no known editor found")


async def check_git() -> CheckResult:
    """Check that git is installed and runs."""
    environment = settings.child_environment(dict.fromkeys(settings.load({}).secret_variables))
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


async def check_sandbox(configuration: Configuration) -> CheckResult:
    """Check that commands can be confined on this machine, as the server does at its start."""
    mode = configuration.settings.sandbox.mode
    if mode == "off":
        return CheckResult("sandbox", "ok", "off, as set by `sandbox.mode`")
    environment = settings.child_environment(dict.fromkeys(configuration.secret_variables))
    found = await to_thread.run_sync(find_launcher, environment)
    if isinstance(found, MissingLauncher):
        advice = found.remedy or "until it works, you are asked about every command"
        return CheckResult("sandbox", "warning", found.reason, advice)
    return CheckResult("sandbox", "ok", f"confines commands ({mode}), with {found.files[0]}")


async def check_round_trip() -> CheckResult:
    """Start the server as an editor does, open and close a session, and stop it."""
    advice = f"run `{PROGRAM} serve --log-level debug` and look at its messages"
    try:
        with anyio.fail_after(ROUND_TRIP_SECONDS):
            milliseconds, exit_code = await _measure_round_trip()
    except TimeoutError:
        fact = f"no answer within {ROUND_TRIP_SECONDS:.0f} s"
        return CheckResult("round trip", "problem", fact, advice)
    except (AgentClientError, OSError) as error:
        return CheckResult("round trip", "problem", redact_secrets(str(error)), advice)
    fact = ", ".join(f"{name} {number} ms" for name, number in milliseconds.items())
    if exit_code != 0:
        fact = f"{fact}, exit code {exit_code}"
        return CheckResult("round trip", "problem", fact, advice, milliseconds)
    return CheckResult("round trip", "ok", fact, milliseconds=milliseconds)


async def _measure_round_trip() -> tuple[dict[str, int], int]:
    """Return the milliseconds of each step, and the exit code of the server."""
    with TemporaryDirectory(prefix="acp-doctor-", ignore_cleanup_errors=True) as folder:
        async with spawn_agent(AgentLaunch(serve_command(), stderr="capture")) as child:
            await child.agent.initialize()
            initialized_at = time.perf_counter()
            session = await child.agent.new_session(Path(await anyio.Path(folder).resolve()))
            opened_at = time.perf_counter()
            await child.agent.close_session(session.session_id)
            agent_exit = await child.close()
    seconds = {
        "start and initialize": initialized_at - child.started,
        "session/new": opened_at - initialized_at,
        "exit": agent_exit.seconds,
    }
    return {name: round(each * 1000) for name, each in seconds.items()}, agent_exit.code
