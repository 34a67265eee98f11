"""What the options of `acp-server run` ask for, as a request that a run understands."""

import os
import select
from pathlib import Path
from typing import BinaryIO, Literal

import click
from pydantic import BaseModel, ConfigDict

from acp_server import settings
from acp_server.headless.run.answers import AnswerShape, SchemaError, shape_from
from acp_server.headless.run.budget import Budget
from acp_server.headless.run.findings import Severity, shape_of_findings
from acp_server.headless.run.request import LAST, Rules, RunRequest
from acp_server.headless.run.rule_texts import Policy, RuleError, policy_from, rule_from
from acp_server.permissions.modes import Mode
from acp_server.permissions.orders import Order, Orders
from acp_server.settings import Configuration

MODES: dict[str, Mode] = {"plan": "plan", "edit": "accept_edits", "full": "bypass"}
ALL_OF_STDIN = "-"
MOST_SKILLS = 5
PATIENCE_SECONDS = 3.0
"""How long whoever writes to a pipe may take to begin: many hold one open that they never use."""
NOT_AWAITED = (
    f"note: nobody has written to stdin for {PATIENCE_SECONDS:.0f} seconds, so it is not read; "
    "with `-` as the task it is awaited"
)


class WrongRequestError(Exception):
    """The options do not go together, or name what is not there; the text says which."""


class Given(BaseModel):
    """The options, by name."""

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
    """Return the request; without a stdin, where that was closed before we came, nothing is piped.

    Raises:
        WrongRequestError: the options do not go together, or name what is not there.
    """
    if given.session is not None and given.resume is not None:
        reason = "--session and --resume exclude each other"
        raise WrongRequestError(reason)
    if given.ephemeral and (given.session or given.resume):
        reason = "--ephemeral keeps nothing, so it cannot go on with a session"
        raise WrongRequestError(reason)
    if len(given.skills) > MOST_SKILLS:
        reason = f"at most {MOST_SKILLS} skills can be loaded with a task"
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
    """Return what the final answer must be.

    Raises:
        SchemaError: the file is no schema.
        WrongRequestError: two things are asked of one answer.
    """
    if given.json_schema is None:
        return shape_of_findings() if given.findings else None
    if given.findings:
        reason = "--findings has a schema of its own; leave --json-schema out"
        raise WrongRequestError(reason)
    return shape_from(given.json_schema)


def _configuration(given: Given) -> Configuration:
    """Return the configuration.

    Raises:
        WrongRequestError: it is not right, and nobody is there to see a warning.
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
    """Return the rules; a no counts first, then what is asked, then what is allowed.

    Raises:
        RuleError: one of them is none.
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
    """Return the task, with what was piped in behind it.

    Raises:
        WrongRequestError: there is none.
    """
    if given.prompt is not None and given.prompt_file is not None:
        reason = "give PROMPT or --prompt-file, not both"
        raise WrongRequestError(reason)
    if given.prompt == ALL_OF_STDIN:
        task, piped = "" if stdin is None else _decoded(stdin.read()), ""
    else:
        task, piped = given.prompt or _text_of(given.prompt_file), _piped(stdin)
    parts = [part for part in (task.strip(), piped.strip()) if part]
    if not parts:
        reason = "there is no task: give PROMPT, --prompt-file, or pipe it in"
        raise WrongRequestError(reason)
    return "\n\n".join(parts)


def _text_of(file: Path | None) -> str:
    try:
        return "" if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{file}: {error}"
        raise WrongRequestError(reason) from None


def _piped(stdin: BinaryIO | None) -> str:
    """Return what is piped in; a pipe that nobody writes to is not waited for much."""
    if stdin is None or stdin.isatty():
        return ""
    if os.name == "nt" or select.select([stdin], [], [], PATIENCE_SECONDS)[0]:
        return _decoded(stdin.read())
    click.echo(NOT_AWAITED, err=True)
    return ""


def _decoded(data: bytes) -> str:
    """Return what was piped in as text: a change may hold files that are no UTF-8."""
    return data.decode("utf-8", "replace")
