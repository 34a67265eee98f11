"""Translates the options of `acp-server run` into a `RunRequest`."""

import os
import select
from pathlib import Path
from typing import BinaryIO, Literal

import click
from pydantic import BaseModel, ConfigDict

from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.headless.run.answer_schema import AnswerShape, SchemaError, shape_from
from acp_server.headless.run.budget import Budget
from acp_server.headless.run.findings import Severity, shape_of_findings
from acp_server.headless.run.request import LAST, Rules, RunRequest
from acp_server.headless.run.rule_parsing import Policy, RuleError, policy_from, rule_from
from acp_server.permissions.modes import Mode
from acp_server.permissions.run_rules import Order, Orders

MODES: dict[str, Mode] = {"plan": "plan", "edit": "accept_edits", "full": "bypass"}
ALL_OF_STDIN = "-"
MOST_SKILLS = 5
PATIENCE_SECONDS = 3.0
"""How long to wait for the first byte of a pipe: some parents hold one open but never write."""
NOT_AWAITED = (
    f"note: stdin sent no data for {PATIENCE_SECONDS:.0f} seconds and is ignored; "
    "to wait for it, use `-` as the prompt"
)


class WrongRequestError(Exception):
    """Options that conflict or name a missing file or tool; the text is shown to the user."""


class Given(BaseModel):
    """Values of the options of `acp-server run`, by parameter name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str | None = None
    prompt_file: Path | None = None
    cwd: Path | None = None
    model: str | None = None
    mode: Literal["plan", "edit", "full"] = "edit"
    session: str | None = None
    resume: Literal["last"] | None = None
    ephemeral: bool = False
    skills: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    policy: Path | None = None
    on_denied: Literal["fail", "continue"] = "continue"
    max_turns: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    max_retries: int | None = None
    connect_timeout: float | None = None
    trust_project: bool = False
    sandbox: str | None = None
    json_schema: Path | None = None
    findings: bool = False
    fail_on: Severity = "warning"


def request_from(given: Given, stdin: BinaryIO | None) -> RunRequest:
    """Return the run request for the options.

    `stdin` is None if the process was started with it closed; then nothing is piped in.

    Raises:
        WrongRequestError: Options contradict each other or name a missing file or tool.
    """
    if given.session is not None and given.resume is not None:
        reason = "--session and --resume cannot be used together"
        raise WrongRequestError(reason)
    if given.ephemeral and (given.session or given.resume):
        reason = "--ephemeral cannot be used with --session or --resume: it saves nothing"
        raise WrongRequestError(reason)
    if len(given.skills) > MOST_SKILLS:
        reason = f"--skill can be given at most {MOST_SKILLS} times"
        raise WrongRequestError(reason)
    try:
        rules, answer = rules_from(given), _answer(given)
    except (RuleError, SchemaError) as error:
        raise WrongRequestError(str(error)) from None
    return RunRequest(
        prompt=_prompt(given, stdin),
        folder=(given.cwd or Path()).resolve(),
        configuration=_configuration(given),
        rules=rules,
        budget=Budget(given.max_turns, given.max_cost, given.max_tokens),
        timeout_seconds=given.timeout,
        session=LAST if given.resume else given.session,
        is_ephemeral=given.ephemeral,
        skills=given.skills,
        answer=answer,
        fails_on=given.fail_on if given.findings else None,
    )


def _answer(given: Given) -> AnswerShape | None:
    """Return the required shape of the final answer, or None for free text.

    Raises:
        SchemaError: The file is not a JSON schema.
        WrongRequestError: Both --findings and --json-schema are given.
    """
    if given.json_schema is None:
        return shape_of_findings() if given.findings else None
    if given.findings:
        reason = "--findings has its own schema and cannot be used with --json-schema"
        raise WrongRequestError(reason)
    return shape_from(given.json_schema)


def _configuration(given: Given) -> Configuration:
    """Return the configuration with the overrides of the command line.

    Raises:
        WrongRequestError: The settings have problems. A warning would go unseen in an unattended
            run, so each problem is an error.
    """
    said = {"--model": given.model, "--sandbox": given.sandbox}
    configuration = settings.load({name: value for name, value in said.items() if value})
    if configuration.problems:
        raise WrongRequestError("; ".join(configuration.problems))
    changes = {"retries": given.max_retries, "connect_seconds": given.connect_timeout}
    changed = configuration.settings.model_copy(
        update={name: value for name, value in changes.items() if value is not None}
    )
    return Configuration(changed, configuration.home, configuration.origins, ())


def rules_from(given: Given) -> Rules:
    """Return the permission rules, in order of precedence: deny, ask, allow, then the policy file.

    Raises:
        RuleError: A rule is invalid.
    """
    policy = policy_from(given.policy) if given.policy is not None else Policy()
    ordered: list[Order] = [rule_from("deny", text) for text in given.deny]
    ordered += [rule_from("ask", text) for text in given.ask]
    ordered += [rule_from("allow", text) for text in given.allow]
    return Rules(
        mode=MODES[given.mode],
        orders=Orders((*ordered, *policy.rules)),
        stops_when_asked=policy.fails_when_asked,
        stops_when_denied=given.on_denied == "fail",
        is_trusted=given.trust_project,
    )


def _prompt(given: Given, stdin: BinaryIO | None) -> str:
    """Return the task, followed by the piped input.

    Raises:
        WrongRequestError: There is no task, or there are two.
    """
    if given.prompt is not None and given.prompt_file is not None:
        reason = "PROMPT and --prompt-file cannot be used together"
        raise WrongRequestError(reason)
    if given.prompt == ALL_OF_STDIN:
        task, piped = "" if stdin is None else _decoded(stdin.read()), ""
    else:
        task, piped = given.prompt or _text_of(given.prompt_file), _piped(stdin)
    parts = [part for part in (task.strip(), piped.strip()) if part]
    if not parts:
        reason = "there is no task: give PROMPT or --prompt-file, or pipe the task to stdin"
        raise WrongRequestError(reason)
    return "\n\n".join(parts)


def _text_of(file: Path | None) -> str:
    try:
        return "" if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{file}: {error}"
        raise WrongRequestError(reason) from None


def _piped(stdin: BinaryIO | None) -> str:
    """Return the piped input; give up on a pipe that sends nothing for `PATIENCE_SECONDS`."""
    if stdin is None or stdin.isatty():
        return ""
    # select() works on sockets only on Windows, so there the read may block.
    if os.name == "nt" or select.select([stdin], [], [], PATIENCE_SECONDS)[0]:
        return _decoded(stdin.read())
    click.echo(NOT_AWAITED, err=True)
    return ""


def _decoded(data: bytes) -> str:
    """Return piped bytes as text; a piped diff may contain files that are not UTF-8."""
    return data.decode("utf-8", "replace")
