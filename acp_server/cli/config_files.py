"""Creates and checks the settings files for the CLI commands; prints nothing."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acp_server.config.checking import Problem, check_dotenv, check_yaml
from acp_server.config.schema import schema
from acp_server.config.settings import Configuration, read_text
from acp_server.config.template import SCHEMA_FILE, template
from acp_server.text.redaction import without_secrets
from skills_store.atomic import write_atomically

PRIVATE = 0o600
ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Checked:
    """A problem in the settings and its location."""

    place: str
    """Path of the file, or "environment"."""
    problem: Problem

    def __str__(self) -> str:
        line = f":{self.problem.line}" if self.problem.line else ""
        return f"{self.place}{line}: {without_secrets(str(self.problem))}"


def prepare(file: Path) -> None:
    """Create the settings file if it does not exist, and write the current schema next to it.

    Raises:
        OSError: A file or directory cannot be written.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    described = f"{json.dumps(schema(), indent=2)}\n".encode()
    write_atomically(file.with_name(SCHEMA_FILE), described)
    if not file.exists():
        write_atomically(file, template().encode(), PRIVATE)


def check_file(file: Path) -> Sequence[Checked]:
    """Return the problems in a file with this server's own settings."""
    return _checked(file, check_yaml)


def checked_files(configuration: Configuration) -> Sequence[Checked]:
    """Return the problems in all settings files of a HERMES_HOME and in the environment."""
    home = configuration.home
    found = [
        *_checked(home / "config.yaml", partial(check_yaml, is_shared=True)),
        *_checked(home / "acp" / "config.yaml", check_yaml),
        *_checked(home / ".env", check_dotenv),
    ]
    for problem in configuration.problems:
        place, _, reason = problem.partition(": ")
        if place == ENVIRONMENT:
            variable, _, reason = reason.partition(": ")
            found.append(Checked(place, Problem(None, variable, reason)))
    return found


def _checked(file: Path, check: Callable[[str], Sequence[Problem]]) -> Sequence[Checked]:
    unreadable: list[str] = []
    text = read_text(file, unreadable)
    problems = check(text) if text is not None else ()
    broken = [Problem(None, "", each.removeprefix(f"{file}: ")) for each in unreadable]
    return [Checked(str(file), problem) for problem in (*broken, *problems)]
