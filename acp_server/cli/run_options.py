"""The options of `acp-server run`: their names and what they say of themselves, nothing else."""

from collections.abc import Callable
from pathlib import Path

import click

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FOLDER = click.Path(path_type=Path, file_okay=False)
POSITIVE = click.FloatRange(min=0, min_open=True)
COUNT = click.IntRange(min=1)

Decorator = Callable[[Callable[..., int]], Callable[..., int]]

TASK: tuple[Decorator, ...] = (
    click.argument("prompt", required=False),
    click.option("--prompt-file", type=FILE, help="Read the task from a file."),
    click.option("--cwd", type=FOLDER, help="The workspace; without it, this folder."),
    click.option("--model", metavar="MODEL", help="The model to ask."),
    click.option(
        "--mode",
        type=click.Choice(["plan", "edit", "full"]),
        default="edit",
        show_default=True,
        help="plan reads only; edit changes files too; full runs anything but what is protected.",
    ),
    click.option("--session", metavar="ID", help="Go on with a session."),
    click.option(
        "--resume", type=click.Choice(["last"]), help="Go on with the folder's last session."
    ),
    click.option("--ephemeral", is_flag=True, help="Keep nothing of the session."),
    click.option(
        "--skill",
        "skills",
        metavar="NAME",
        multiple=True,
        help="Load a skill first; may be repeated.",
    ),
)

RULES: tuple[Decorator, ...] = (
    click.option(
        "--allow", metavar="RULE", multiple=True, help="Let a tool do this; may be repeated."
    ),
    click.option("--deny", metavar="RULE", multiple=True, help="Never let it; may be repeated."),
    click.option(
        "--ask",
        metavar="RULE",
        multiple=True,
        help="Deny it, as a question that nobody answers; may be repeated.",
    ),
    click.option("--policy", type=FILE, help="A TOML file of rules, in order."),
    click.option(
        "--on-denied",
        type=click.Choice(["fail", "continue"]),
        default="continue",
        show_default=True,
        help="Whether a denial ends the run.",
    ),
    click.option(
        "--trust-project", is_flag=True, help="Use the project's own skills and settings."
    ),
    click.option(
        "--sandbox",
        type=click.Choice(["off", "workspace", "strict"]),
        help="How far commands are confined.",
    ),
)

LIMITS: tuple[Decorator, ...] = (
    click.option("--max-turns", type=COUNT, help="The most model calls."),
    click.option("--max-cost", type=POSITIVE, metavar="USD", help="The most it may cost."),
    click.option("--max-tokens", type=COUNT, help="The most tokens, read and written."),
    click.option("--timeout", type=POSITIVE, metavar="SECONDS", help="The most time."),
    click.option("--max-retries", type=click.IntRange(min=0), help="Repeated requests."),
    click.option(
        "--connect-timeout",
        type=POSITIVE,
        metavar="SECONDS",
        help="How long a connection to the endpoint may take.",
    ),
)

ANSWER: tuple[Decorator, ...] = (
    click.option(
        "--json-schema", type=FILE, help="What the final answer must be; it may be mended once."
    ),
    click.option("--findings", is_flag=True, help="Have the answer be findings in files."),
    click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "note"]),
        default="warning",
        show_default=True,
        help="Findings of this severity or worse end the run with code 6.",
    ),
)

OUTPUTS: tuple[Decorator, ...] = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json", "stream-json", "acp"]),
        default="text",
        show_default=True,
        help="What stdout gets; everything else goes to stderr.",
    ),
    click.option("--last-message", type=NEW_FILE, help="Write the final answer there."),
    click.option("--patch", type=NEW_FILE, help="Write what was changed there, for `git apply`."),
    click.option("--junit", type=NEW_FILE, help="Write a JUnit report there."),
    click.option(
        "--github/--no-github",
        default=None,
        help="Groups, annotations, summary and outputs of a GitHub step; by itself in one.",
    ),
    click.option("--dry-run", is_flag=True, help="Show what would be sent; ask no model."),
)

MANY: tuple[Decorator, ...] = (
    click.option("--tasks", type=FILE, help="Do many tasks: a file of one JSON object a line."),
    click.option(
        "--jobs", type=COUNT, default=1, show_default=True, help="How many of them at a time."
    ),
    click.option("--shard", metavar="I/N", help="Only the tasks of this part, of N parts."),
    click.option("--output", type=NEW_FOLDER, help="Where results and patches of tasks go."),
)

ALL = (*TASK, *RULES, *LIMITS, *ANSWER, *OUTPUTS, *MANY)
