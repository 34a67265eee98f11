"""All configuration, from every source, as one typed object that says where each value came from.

The sole reader of the environment. Which settings there are is the table's matter
(`configuration/table.py`). Sources, the later ones winning:

  1. the defaults of the table
  2. HERMES_HOME/config.yaml         read as Hermes wrote it, never written
  3. HERMES_HOME/acp/config.yaml     this server's own
  4. HERMES_HOME/.env                names and values of environment variables; never written
  5. the environment
  6. options of the command line

A value that does not fit is reported and passed over: the next lower source counts.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import field
from io import StringIO
from pathlib import Path
from typing import Literal

from acp_server.configuration.fitting import fit
from acp_server.configuration.table import Settings, Source, secret_variables, sources, value_at
from acp_server.configuration.values import expanded
from acp_server.frozen import frozen

__all__ = [
    "Configuration",
    "Settings",
    "child_environment",
    "home_folder",
    "load",
    "read_text",
    "secret_variables",
    "sources",
]

MOST_FILE_BYTES = 1_000_000


@frozen
class Layer:
    """One source: its name for a person, and the raw values that it gives by field name."""

    name: str
    values: Mapping[str, object]
    form: Literal["key", "variable", "option"]
    """How a setting is written there."""

    def written(self, source: Source) -> str:
        """Return a setting's name as it is written in this source."""
        return {"key": source.key, "variable": source.variable, "option": source.option}[self.form]


@frozen
class Configuration:
    """The settings, the home folder, where each value came from, and what was passed over."""

    settings: Settings
    home: Path
    origins: Mapping[str, str]
    problems: tuple[str, ...]
    misfits: frozenset[str] = field(default=frozenset(), compare=False)
    """The names of settings of which some source held what does not fit."""


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return HERMES_HOME, `~/.hermes` unless it is set."""
    return expanded(Path(environment.get("HERMES_HOME") or "~/.hermes"))


def child_environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return this process's environment for a child, with variables changed or (None) left out."""
    kept = {name: value for name, value in os.environ.items() if name not in changes}
    return kept | {name: value for name, value in changes.items() if value is not None}


def load(options: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Configuration:
    """Read every source. Never raises: what cannot be read is among the problems."""
    environment = os.environ if environment is None else environment
    home = home_folder(environment)
    problems: list[str] = []
    layers = [
        _file_layer(home / "config.yaml", problems),
        _file_layer(home / "acp" / "config.yaml", problems),
        _variables_layer(str(home / ".env"), _read_dotenv(home / ".env", problems)),
        _variables_layer("environment", environment),
        Layer(
            "option",
            {n: options[s.option] for n, s in sources().items() if s.option in options},
            "option",
        ),
    ]
    return _resolve(layers, home, problems)


def _resolve(layers: list[Layer], home: Path, problems: list[str]) -> Configuration:
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    misfits = set[str]()
    for name in Settings.model_fields:
        for layer in reversed(layers):
            if name not in layer.values:
                continue
            found = fit(name, layer.values[name])
            written = layer.written(sources()[name])
            problems.extend(
                f"{layer.name}: {each.named(written)}: {each.reason}; passed over"
                for each in found.complaints
            )
            misfits |= {name} if found.complaints else set()
            if found.is_usable:
                values[name], origins[name] = found.value, layer.name
                break
        origins.setdefault(name, "default")
    current = Settings.model_construct(None, **values)
    return Configuration(current, home, origins, tuple(problems), frozenset(misfits))


def _variables_layer(name: str, variables: Mapping[str, str]) -> Layer:
    given = {n: variables.get(s.variable) for n, s in sources().items()}
    return Layer(name, {n: value for n, value in given.items() if value}, "variable")


def read_text(path: Path, problems: list[str]) -> str | None:
    """Return what a file says; None when it is not there or, which is a problem, unreadable."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_FILE_BYTES:
            problems.append(f"{path}: is no file of ordinary size; passed over")
            return None
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        problems.append(f"{path}: cannot be read: {reason}; passed over")
        return None


def _read_dotenv(path: Path, problems: list[str]) -> Mapping[str, str]:
    text = read_text(path, problems)
    if text is None:
        return {}
    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value is not None}


def _file_layer(path: Path, problems: list[str]) -> Layer:
    values: dict[str, object] = {}
    document = _read_yaml(path, problems)
    for name, source in sources().items():
        found = value_at(document, source.key) if source.key and document else None
        if found is not None:
            values[name] = found
    return Layer(str(path), values, "key")


def _read_yaml(path: Path, problems: list[str]) -> Mapping[str, object] | None:
    text = read_text(path, problems)
    if text is None:
        return None
    from acp_server.configuration.yaml_files import NoMappingError, NotYamlError, parsed

    try:
        return parsed(text)
    except (NotYamlError, NoMappingError) as error:
        problems.append(f"{path}: {error}; passed over")
        return None
