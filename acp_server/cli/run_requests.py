"""Translates the options of `acp-server run` into a `RunRequest`."""

import os
import select
import stat
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import click

from acp_server.cli.run_options import RunOptions
from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.headless.run.answer_schema import AnswerSchemaError, load_answer_schema
from acp_server.headless.run.budget import RunBudget
from acp_server.headless.run.findings import findings_schema
from acp_server.headless.run.request import LAST_SESSION, RunPolicy, RunRequest
from acp_server.headless.run.rule_parsing import RuleError, RulesFile, load_rules_file, parse_rule
from acp_server.permissions.modes import Mode
from acp_server.permissions.run_rules import RunRule, RunRules
from acp_server.server.recording import RecordingOptionsError, open_recording

MODES: dict[str, Mode] = {"plan": "plan", "edit": "accept_edits", "full": "bypass"}
ALL_OF_STDIN = "-"
MAX_SKILLS = 5
UNDO = "/undo"
NOTHING_TO_UNDO = (
    f"{UNDO}: a new session has nothing to undo; add `--resume last` for the last session of this "
    "directory, or `--session ID`"
)
STDIN_TIMEOUT_SECONDS = 3.0
"""How long to wait for the first byte of a pipe: some parents hold one open but never write."""
STDIN_IGNORED_NOTE = (
    f"note: stdin sent no data for {STDIN_TIMEOUT_SECONDS:.0f} seconds and is ignored; "
    "to wait for it, use `-` as the prompt"
)
STDIN_EMPTY_NOTE = "note: stdin was empty: the task has no further input"


class RunOptionsError(Exception):
    """Options that conflict or name a missing file or tool; the text is shown to the user."""


def request_from(options: RunOptions, stdin: BinaryIO | None) -> RunRequest:
    """Return the run request for the options.

    `stdin` is None if the process was started with it closed; then nothing is piped in.

    Raises:
        RunOptionsError: Options contradict each other or name a missing file or tool.
    """
    if options.session is not None and options.resume is not None:
        raise RunOptionsError("--session and --resume cannot be used together")
    if options.ephemeral and (options.session or options.resume):
        reason = "--ephemeral cannot be used with --session or --resume: it saves nothing"
        raise RunOptionsError(reason)
    if len(options.skills) > MAX_SKILLS:
        raise RunOptionsError(f"--skill can be given at most {MAX_SKILLS} times")
    configuration = _configuration(options)
    try:
        recording = open_recording(configuration)
        rules = rules_from(options)
        answer = findings_schema() if options.findings else None
        if options.json_schema is not None:
            if options.findings:
                reason = "--findings has its own schema and cannot be used with --json-schema"
                raise RunOptionsError(reason)
            answer = load_answer_schema(options.json_schema)
    except (RuleError, AnswerSchemaError, RecordingOptionsError) as error:
        raise RunOptionsError(str(error)) from None
    prompt = _prompt(options, stdin)
    if prompt.split(maxsplit=1)[0] == UNDO and not (options.session or options.resume):
        raise RunOptionsError(NOTHING_TO_UNDO)
    return RunRequest(
        prompt=prompt,
        workspace=(options.cwd or Path()).resolve(),
        configuration=recording.configuration,
        recording=recording,
        policy=rules,
        budget=RunBudget(options.max_turns, options.max_cost, options.max_tokens),
        timeout_seconds=options.timeout,
        session=LAST_SESSION if options.resume else options.session,
        is_ephemeral=options.ephemeral,
        skills=options.skills,
        answer_schema=answer,
        fail_on=options.fail_on if options.findings else None,
    )


def _configuration(options: RunOptions) -> Configuration:
    """Return the configuration with the overrides of the command line.

    Raises:
        RunOptionsError: The settings have problems. A warning would go unseen in an unattended
            run, so each problem is an error.
    """
    overrides = {
        "--model": options.model,
        "--sandbox": options.sandbox,
        "--record": str(options.record.absolute()) if options.record else None,
        "--replay": str(options.replay.absolute()) if options.replay else None,
        "--strict": "true" if options.strict else None,
    }
    configuration = settings.load({name: value for name, value in overrides.items() if value})
    if configuration.problems:
        problems = [problem.removesuffix("; ignored") for problem in configuration.problems]
        raise RunOptionsError(
            "\n".join(["correct the settings first (`acp-server config edit`):", *problems])
        )
    changes = {
        "max_retries": options.max_retries,
        "connect_timeout_seconds": options.connect_timeout,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(configuration, settings=replace(configuration.settings, **given))


def rules_from(options: RunOptions) -> RunPolicy:
    """Return the permission rules, in order of precedence: deny, ask, allow, then the policy file.

    Raises:
        RuleError: A rule is invalid.
    """
    policy = load_rules_file(options.policy) if options.policy is not None else RulesFile()
    ordered: list[RunRule] = [parse_rule("deny", text) for text in options.deny]
    ordered += [parse_rule("ask", text) for text in options.ask]
    ordered += [parse_rule("allow", text) for text in options.allow]
    return RunPolicy(
        mode=MODES[options.mode],
        rules=RunRules((*ordered, *policy.rules)),
        stop_on_question=policy.stop_on_question,
        stop_on_denial=options.on_denied == "fail",
        is_trusted=options.trust_project,
    )


def _prompt(options: RunOptions, stdin: BinaryIO | None) -> str:
    """Return the task, followed by the piped input.

    Raises:
        RunOptionsError: There is no task, or there are two.
    """
    if options.prompt is not None and options.prompt_file is not None:
        raise RunOptionsError("PROMPT and --prompt-file cannot be used together")
    if options.prompt == ALL_OF_STDIN:
        task, piped = "" if stdin is None else _decode(stdin.read()), ""
    else:
        task, piped = options.prompt or _read_prompt_file(options.prompt_file), _read_piped(stdin)
    parts = [part for part in (task.strip(), piped.strip()) if part]
    if not parts:
        reason = "there is no task: give PROMPT or --prompt-file, or pipe the task to stdin"
        raise RunOptionsError(reason)
    return "\n\n".join(parts)


def _read_prompt_file(file: Path | None) -> str:
    try:
        return "" if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunOptionsError(f"{file}: {error}") from None


def _read_piped(stdin: BinaryIO | None) -> str:
    """Return the piped input; give up on a pipe that sends nothing for `STDIN_TIMEOUT_SECONDS`."""
    if stdin is None or stdin.isatty():
        return ""
    # select() works on sockets only on Windows, so there the read may block.
    if os.name == "nt" or select.select([stdin], [], [], STDIN_TIMEOUT_SECONDS)[0]:
        data = stdin.read()
        # Not for /dev/null: who redirects it means to give no input.
        if not data.strip() and stat.S_ISFIFO(os.fstat(stdin.fileno()).st_mode):
            click.echo(STDIN_EMPTY_NOTE, err=True)
        return _decode(data)
    click.echo(STDIN_IGNORED_NOTE, err=True)
    return ""


def _decode(data: bytes) -> str:
    """Return piped bytes as text; a piped diff may contain files that are not UTF-8."""
    return data.decode("utf-8", "replace")
