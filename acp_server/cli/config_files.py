"""Creates and checks the settings files for the CLI commands; prints nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acp_server.config.changing import set_value, update_section
from acp_server.config.checking import (
    KEY_NAMES,
    NO_KEYS_HERE,
    ConfigProblem,
    check_dotenv,
    check_yaml,
    find_old_variables,
)
from acp_server.config.schema import config_schema
from acp_server.config.settings import Configuration, child_environment, read_text
from acp_server.config.template import SCHEMA_FILE, config_template
from acp_server.config.yaml_files import InvalidYamlError, parse_mapping
from acp_server.text.redaction import redact_secrets
from skills_store.atomic import write_atomically

PRIVATE = 0o600
ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """A problem in the settings and its location."""

    source: str
    """Path of the file, or "environment"."""
    problem: ConfigProblem

    def __str__(self) -> str:
        line = f":{self.problem.line}" if self.problem.line else ""
        return f"{self.source}{line}: {redact_secrets(str(self.problem))}"


def create_settings_file(file: Path) -> None:
    """Create the settings file if it does not exist, and write the current schema next to it.

    Raises:
        OSError: A file or directory cannot be written.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    schema = f"{json.dumps(config_schema(), indent=2)}\n".encode()
    write_atomically(file.with_name(SCHEMA_FILE), schema)
    if not file.exists():
        write_atomically(file, config_template().encode(), PRIVATE)


def update_settings(
    home: Path, section: str, short_key: str, changes: Mapping[str, object]
) -> Path:
    """Change a section of HERMES_HOME/acp/config.yaml; return the path of the file.

    A section that holds a plain value is treated as a mapping with that value at `short_key`.

    Raises:
        OSError: The file cannot be read or written.
        ValueError: The file is not valid YAML.
    """
    file = home / "acp" / "config.yaml"
    create_settings_file(file)
    text = update_section(file.read_text(encoding="utf-8"), section, changes, short_key)
    write_atomically(file, text.encode(), PRIVATE)
    return file


def set_setting(home: Path, key: str, written: str) -> tuple[Path, Sequence[ConfigProblem]]:
    """Set a dotted key of HERMES_HOME/acp/config.yaml to a YAML value; null removes the key.

    Returns the path of the file, and the problems of the value: if there are any, nothing is
    written.

    Raises:
        OSError: The file cannot be read or written.
        ValueError: The file is not valid YAML, or its form does not allow the change.
    """
    file = home / "acp" / "config.yaml"
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    known = {(each.key, each.reason) for each in check_yaml(old)}
    problems: Sequence[ConfigProblem] = ()
    if key.rpartition(".")[2] in KEY_NAMES:
        return file, [ConfigProblem(None, key, NO_KEYS_HERE)]
    for value in _read_values(written):
        text = set_value(old or config_template(), key.split("."), value)
        found = [each for each in check_yaml(text) if (each.key, each.reason) not in known]
        problems = problems or [each for each in found if not each.is_notice]
        if not found:
            create_settings_file(file)
            write_atomically(file, text.encode(), PRIVATE)
            return file, ()
    return file, problems


def _read_values(written: str) -> Sequence[object]:
    """Return what a value may mean, the likeliest first.

    A text may look like a number, such as the name of a model. `off` is a text in most settings,
    but YAML reads it as false.

    Raises:
        InvalidYamlError: It is not one YAML value.
    """
    document = parse_mapping(f"value: {written}")
    if list(document) != ["value"]:
        raise InvalidYamlError("the value is not one YAML value")
    value = document["value"]
    is_word = isinstance(value, bool) and written.lower() not in {"true", "false"}
    return (written, value) if is_word else (value, written)


def check_settings_file(
    file: Path, check: Callable[[str], Sequence[ConfigProblem]] = check_yaml
) -> Sequence[SettingsProblem]:
    """Return the problems in a file, by default in one with this server's own settings."""
    read_errors: list[str] = []
    text = read_text(file, read_errors)
    problems = check(text) if text is not None else ()
    file_problems = [
        ConfigProblem(None, "", each.removeprefix(f"{file}: ")) for each in read_errors
    ]
    return [SettingsProblem(str(file), problem) for problem in (*file_problems, *problems)]


def check_all_settings(configuration: Configuration) -> Sequence[SettingsProblem]:
    """Return the problems in all settings files of a HERMES_HOME and in the environment."""
    home = configuration.home
    found = [
        *check_settings_file(home / "config.yaml", partial(check_yaml, is_shared=True)),
        *check_settings_file(home / "acp" / "config.yaml"),
        *check_settings_file(home / ".env", check_dotenv),
    ]
    for problem in configuration.problems:
        source, _, reason = problem.partition(": ")
        if source == ENVIRONMENT:
            variable, _, reason = reason.partition(": ")
            found.append(SettingsProblem(source, ConfigProblem(None, variable, reason)))
    old_names = find_old_variables(child_environment({}))
    return [*found, *(SettingsProblem(ENVIRONMENT, problem) for problem in old_names)]
