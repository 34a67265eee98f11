"""Click options of `acp-server run`: names, types and help texts."""

from collections.abc import Callable
from pathlib import Path

import click

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, exists=True, file_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
NEW_DIRECTORY = click.Path(path_type=Path, file_okay=False)
POSITIVE = click.FloatRange(min=0, min_open=True)
COUNT = click.IntRange(min=1)

Decorator = Callable[[Callable[..., int]], Callable[..., int]]

TASK_OPTIONS: tuple[Decorator, ...] = (
    click.argument("prompt", required=False),
    click.option("--prompt-file", type=FILE, help="Read the task from a file."),
    click.option(
        "--cwd", type=DIRECTORY, help="Workspace directory. Default: the current directory."
    ),
    click.option("--model", metavar="MODEL", help="Model to use. Default: the configured model."),
    click.option(
        "--mode",
        type=click.Choice(["plan", "edit", "full"]),
        default="edit",
        show_default=True,
        help="plan: read only; edit: also change files; full: all but protected actions.",
    ),
    click.option("--session", metavar="ID", help="Continue the session with this ID."),
    click.option(
        "--resume", type=click.Choice(["last"]), help="Continue the directory's last session."
    ),
    click.option("--ephemeral", is_flag=True, help="Do not save the session."),
    click.option(
        "--skill",
        "skills",
        metavar="NAME",
        multiple=True,
        help="Load this skill first. Repeatable.",
    ),
)

RULE_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--allow", metavar="RULE", multiple=True, help="Allow tool calls that match. Repeatable."
    ),
    click.option(
        "--deny", metavar="RULE", multiple=True, help="Deny tool calls that match. Repeatable."
    ),
    click.option(
        "--ask",
        metavar="RULE",
        multiple=True,
        help="Deny matching calls as permission requests without an answer. Repeatable.",
    ),
    click.option("--policy", type=FILE, help="Read rules, in order, from a TOML file."),
    click.option(
        "--on-denied",
        type=click.Choice(["fail", "continue"]),
        default="continue",
        show_default=True,
        help="On a denied action: fail ends the run, continue tells the model.",
    ),
    click.option(
        "--trust-project", is_flag=True, help="Use the project's own skills and settings."
    ),
    click.option(
        "--sandbox",
        type=click.Choice(["off", "workspace", "strict"]),
        help="Confine commands: workspace or strict; off: no sandbox.",
    ),
)

LIMIT_OPTIONS: tuple[Decorator, ...] = (
    click.option("--max-turns", type=COUNT, help="Stop after this many model requests."),
    click.option("--max-cost", type=POSITIVE, metavar="USD", help="Stop at this cost."),
    click.option("--max-tokens", type=COUNT, help="Stop after this many input and output tokens."),
    click.option("--timeout", type=POSITIVE, metavar="SECONDS", help="Stop after this time."),
    click.option("--max-retries", type=click.IntRange(min=0), help="Retries of a failed request."),
    click.option(
        "--connect-timeout",
        type=POSITIVE,
        metavar="SECONDS",
        help="Time limit for connecting to the model's endpoint.",
    ),
)

ANSWER_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--json-schema",
        type=FILE,
        help="JSON schema for the final answer; one correction is allowed.",
    ),
    click.option("--findings", is_flag=True, help="Request the answer as a list of findings."),
    click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "note"]),
        default="warning",
        show_default=True,
        help="With --findings: exit with code 6 on findings of this severity or worse.",
    ),
)

OUTPUT_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json", "stream-json", "acp"]),
        default="text",
        show_default=True,
        help="Format of stdout; progress and problems go to stderr.",
    ),
    click.option("--last-message", type=NEW_FILE, help="Write the final answer to this file."),
    click.option("--patch", type=NEW_FILE, help="Write the changes to this file, for `git apply`."),
    click.option("--junit", type=NEW_FILE, help="Write a JUnit report to this file."),
    click.option(
        "--github/--no-github",
        default=None,
        help="Write GitHub Actions annotations, summary and outputs. Default: in a step only.",
    ),
    click.option("--dry-run", is_flag=True, help="Show the first request without sending it."),
)

MANY_TASKS_OPTIONS: tuple[Decorator, ...] = (
    click.option("--tasks", type=FILE, help="Run many tasks from a JSON Lines file."),
    click.option(
        "--jobs", type=COUNT, default=1, show_default=True, help="Tasks to run at the same time."
    ),
    click.option("--shard", metavar="I/N", help="Run only part I of N parts of the tasks."),
    click.option(
        "--output", type=NEW_DIRECTORY, help="Directory for the tasks' results and patches."
    ),
)

ALL_OPTIONS = (
    *TASK_OPTIONS,
    *RULE_OPTIONS,
    *LIMIT_OPTIONS,
    *ANSWER_OPTIONS,
    *OUTPUT_OPTIONS,
    *MANY_TASKS_OPTIONS,
)
