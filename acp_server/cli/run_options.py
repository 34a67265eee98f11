"""Options of `acp-server run`: names, types, defaults and help texts.

Imports little: the command handles signals before its slow imports.
"""

from collections.abc import Callable
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import click

from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.headless.run.findings import Severity

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, exists=True, file_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
NEW_DIRECTORY = click.Path(path_type=Path, file_okay=False)
RECORDING = click.Path(path_type=Path, file_okay=False, resolve_path=True)
"""Absolute: the processes of many tasks have other working directories."""
POSITIVE = click.FloatRange(min=0, min_open=True)
COUNT = click.IntRange(min=1)
TEXT = click.STRING

OutputFormat = Literal["text", "json", "stream-json", "acp"]
T = TypeVar("T")
_OPTION = "option"
"""Key of a field's metadata for its option."""
PARENT = "parent"
"""Hidden option of nodes: the process that this one ends with."""
_SINGULAR = {"skills": "skill"}
"""Repeatable options that are named after one of their values."""


def _option(default: T, help_text: str, kind: object = TEXT, metavar: str | None = None) -> T:
    """Return a field for the option of its name; a tuple is for an option that is repeatable."""
    return field(default=default, metadata={_OPTION: (help_text, kind, metavar)})


@frozen_dataclass
class RunOptions:
    """Options of one task."""

    prompt: str | None = None
    """The argument; all other fields are options."""
    prompt_file: Path | None = _option(None, "Read the task from a file.", FILE)
    cwd: Path | None = _option(
        None, "Workspace directory. Default: the current directory.", DIRECTORY
    )
    model: str | None = _option(
        None, "Model to use. Default: the configured model.", metavar="MODEL"
    )
    mode: Literal["plan", "edit", "full"] = _option(
        "edit",
        "plan: read only; edit: also change files; full: all but protected actions.",
        click.Choice(["plan", "edit", "full"]),
    )
    session: str | None = _option(None, "Continue the session with this ID.", metavar="ID")
    resume: Literal["last"] | None = _option(
        None,
        "Continue the directory's last session. With --tasks: skip tasks that have ended.",
        click.Choice(["last"]),
    )
    ephemeral: bool = _option(default=False, help_text="Do not save the session.")
    skills: tuple[str, ...] = _option((), "Load this skill first. Repeatable.", metavar="NAME")
    allow: tuple[str, ...] = _option((), "Allow tool calls that match. Repeatable.", metavar="RULE")
    deny: tuple[str, ...] = _option((), "Deny tool calls that match. Repeatable.", metavar="RULE")
    ask: tuple[str, ...] = _option(
        (),
        "Deny matching calls as permission requests without an answer. Repeatable.",
        metavar="RULE",
    )
    policy: Path | None = _option(None, "Read rules, in order, from a TOML file.", FILE)
    on_denied: Literal["fail", "continue"] = _option(
        "continue",
        "On a denied action: fail ends the run, continue tells the model.",
        click.Choice(["fail", "continue"]),
    )
    trust_project: bool = _option(
        default=False, help_text="Use the project's own skills and settings."
    )
    sandbox: str | None = _option(
        None,
        "Confine commands: workspace or strict; off: no sandbox.",
        click.Choice(["off", "workspace", "strict"]),
    )
    max_turns: int | None = _option(None, "Stop after this many model requests.", COUNT)
    max_cost: float | None = _option(None, "Stop at this cost.", POSITIVE, "USD")
    max_tokens: int | None = _option(None, "Stop after this many input and output tokens.", COUNT)
    timeout: float | None = _option(None, "Stop after this time.", POSITIVE, "SECONDS")
    max_retries: int | None = _option(None, "Retries of a failed request.", click.IntRange(min=0))
    connect_timeout: float | None = _option(
        None, "Time limit for connecting to the model's endpoint.", POSITIVE, "SECONDS"
    )
    record: Path | None = _option(
        None, "Record the model's requests and answers, without secrets.", RECORDING
    )
    replay: Path | None = _option(
        None, "Answer from a recording, without a model or a key.", RECORDING
    )
    strict: bool = _option(
        default=False,
        help_text="With --replay: refuse requests that differ from the recorded ones.",
    )
    json_schema: Path | None = _option(
        None, "JSON schema for the final answer; one correction is allowed.", FILE
    )
    findings: bool = _option(default=False, help_text="Request the answer as a list of findings.")
    fail_on: "Severity" = _option(
        "warning",
        "With --findings: exit with code 6 on findings of this severity or worse.",
        click.Choice(["error", "warning", "note"]),
    )


@frozen_dataclass
class OutputOptions:
    """Output options of a run: stdout format, files and GitHub Actions."""

    format_: OutputFormat = _option(
        "text",
        "Format of stdout; progress and problems go to stderr.",
        click.Choice(["text", "json", "stream-json", "acp"]),
    )
    last_message: Path | None = _option(None, "Write the final answer to this file.", NEW_FILE)
    patch: Path | None = _option(None, "Write the changes to this file, for `git apply`.", NEW_FILE)
    transcript: Path | None = _option(
        None, "Write messages and tool calls to this file, as JSON lines.", NEW_FILE
    )
    junit: Path | None = _option(None, "Write a JUnit report to this file.", NEW_FILE)
    sarif: Path | None = _option(None, "Write the findings as SARIF 2.1.0 to this file.", NEW_FILE)
    code_quality: Path | None = _option(
        None, "Write the findings as GitLab's Code Quality report to this file.", NEW_FILE
    )
    github: bool | None = _option(
        None,
        "Write GitHub Actions annotations, summary and outputs. Default: in a step only.",
        click.BOOL,
    )
    """None: only if this process runs as a step of GitHub Actions."""
    dry_run: bool = _option(default=False, help_text="Show the first request without sending it.")


@frozen_dataclass
class TaskListOptions:
    """Options of a run with many tasks: task file, parallelism, shard, output directory."""

    tasks: Path | None = _option(None, "Run many tasks from a JSON Lines file.", FILE)
    jobs: int = _option(1, "Tasks to run at the same time.", COUNT)
    shard: str | None = _option(None, "Run only part I of N parts of the tasks.", metavar="I/N")
    output: Path | None = _option(
        None, "Directory for the tasks' results, patches and journal.", NEW_DIRECTORY
    )
    select: tuple[str, ...] = _option(
        (), "Run only tasks that match, such as tag=slow. Repeatable.", metavar="FIELD=PATTERN"
    )
    matrix: tuple[str, ...] = _option(
        (), "Run each task with each value. Repeatable.", metavar="FIELD=A,B"
    )
    merge: tuple[Path, ...] = _option(
        (), "Run nothing; report on these output directories together. Repeatable.", NEW_DIRECTORY
    )
    with_changes: bool = _option(default=False, help_text="Include uncommitted work.")
    check_tasks: bool = _option(default=False, help_text="Check the task file and run nothing.")
    retries: int = _option(
        2, "Retries of a task after a failure of provider or node.", click.IntRange(min=0)
    )
    fail_fast: int | None = _option(None, "Start no more after N tasks that fail.", COUNT, "N")
    total_cost: float | None = _option(None, "Cost limit of all tasks together.", POSITIVE, "USD")
    min_pass: float | None = _option(
        None, "Exit with 0 if this share of the tasks passed.", click.FloatRange(0, 1), "RATE"
    )
    rate: str | None = _option(None, "Most starts per time, such as 120/min.", metavar="N/UNIT")
    follow: Path | None = _option(None, "Show the run with this output directory.", DIRECTORY)
    engine: str = _option(
        "local", "Engine that places tasks: local, dask or an installed one.", metavar="NAME"
    )
    engine_address: str | None = _option(
        None, "Address of the engine's running cluster.", metavar="URL"
    )
    engine_options: Path | None = _option(None, "Options of the engine, a TOML file.", FILE)
    engine_insecure: bool = _option(
        default=False, help_text="Use a cluster on a network without authentication."
    )


OptionsT = TypeVar("OptionsT", RunOptions, OutputOptions, TaskListOptions)


def option_name(field_name: str) -> str:
    """Return the name of an option on the command line."""
    return f"--{_SINGULAR.get(field_name, field_name).strip('_').replace('_', '-')}"


def run_parameters() -> list[click.Parameter]:
    """Return the parameters of the command: its argument, and the options of all classes."""
    parameters: list[click.Parameter] = [click.Argument(["prompt"], required=False)]
    for each in (*fields(RunOptions), *fields(OutputOptions), *fields(TaskListOptions)):
        if _OPTION not in each.metadata:
            continue
        help_text, kind, metavar = each.metadata[_OPTION]
        name, default = option_name(each.name), each.default
        if isinstance(default, bool):
            option = click.Option([name, each.name], is_flag=True, help=help_text)
        elif kind is click.BOOL:
            names = [f"{name}/--no-{each.name}", each.name]
            option = click.Option(names, default=None, help=help_text)
        else:
            option = click.Option(
                [name, each.name],
                type=kind,
                default=default,
                show_default=default not in (None, ()),
                multiple=default == (),
                # `--resume` alone means its only value.
                is_flag=False,
                flag_value="last" if each.name == "resume" else None,
                metavar=metavar,
                help=help_text,
            )
        parameters.append(option)
    parameters.append(click.Option([option_name(PARENT), PARENT], type=click.INT, hidden=True))
    return parameters


def take_options(kind: type[OptionsT], values: dict[str, object]) -> OptionsT:
    """Return the options of one class from the parsed values of all."""
    build = cast("Callable[..., OptionsT]", kind)
    return build(**{each.name: values[each.name] for each in fields(kind)})
