"""Runs a task to its end and prints its result, however it ends: exactly one, and last."""

import json
from collections.abc import Callable
from typing import Literal

import click

from acp_server import settings
from acp_server.cli.interrupts import run as run_until_signal
from acp_server.configured import configured_credential
from acp_server.headless.run.cleaning import Cleaner, secrets_in
from acp_server.headless.run.feeds import ProgressFeed, SilentFeed
from acp_server.headless.run.lines import Lines, claimed_stdout
from acp_server.headless.run.request import RunRequest
from acp_server.headless.run.result import result_of
from acp_server.headless.run.runner import Run
from acp_server.headless.run.stream import StreamFeed
from acp_server.headless.wire import WireLine, record_nothing

Format = Literal["text", "json", "stream-json", "acp"]
COLOURS = {"quiet": "bright_black", "ok": "green", "problem": "red", "warning": "yellow"}
INTERRUPTED = 130


def run_to_its_end(request: RunRequest, format_: Format) -> int:
    """Run a task, print what came of it, and return the exit code."""
    with claimed_stdout() as lines:
        cleaner = cleaner_for(request)
        feed = _feed(format_, lines, cleaner)
        task = Run(request, feed, _recorder(format_, lines, cleaner))
        code = 1
        try:
            code = _run(task)
        finally:
            _print(task, format_, lines, cleaner)
        return code


def cleaner_for(request: RunRequest) -> Cleaner:
    """Return what takes the secrets of this process out of texts."""
    credential = configured_credential(request.configuration)
    known = () if credential is None else (credential.api_key or "", credential.auth_token or "")
    return Cleaner(secrets_in(settings.child_environment({}), known))


def _run(task: Run) -> int:
    """Run it; a signal ends it in order."""

    async def work() -> int:
        return (await task.execute()).exit_code

    try:
        code = run_until_signal(work)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code != task.report.exit_code:
        is_interrupt = code == INTERRUPTED
        task.report.outcome = "interrupted" if is_interrupt else "terminated"
        task.report.reason = "the run was ended by a signal"
    return task.report.exit_code


def _feed(
    format_: Format, lines: Lines, cleaner: Cleaner
) -> SilentFeed | ProgressFeed | StreamFeed:
    match format_:
        case "stream-json":
            return StreamFeed(lines, cleaner)
        case "text":
            return ProgressFeed(_say, cleaner)
        case "json" | "acp":
            return SilentFeed()


def _say(line: str, style: str) -> None:
    click.secho(line, err=True, fg=COLOURS[style])


def _recorder(format_: Format, lines: Lines, cleaner: Cleaner) -> Callable[[WireLine], None]:
    if format_ != "acp":
        return record_nothing

    def record(line: WireLine) -> None:
        lines.write_now(cleaner.text(line.to_json()))

    return record


def _print(task: Run, format_: Format, lines: Lines, cleaner: Cleaner) -> None:
    report = task.report
    if format_ == "text":
        if report.text:
            lines.write_now(cleaner.plain(report.text))
        if report.exit_code:
            _say(f"{report.outcome}: {cleaner.plain(report.reason)}", "problem")
    elif format_ in {"json", "stream-json"}:
        lines.write_now(json.dumps(cleaner.json(result_of(report))))
