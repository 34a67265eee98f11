"""All configuration, from every source, as one typed object that says where each value came from.

The sole reader of the environment. Sources, the later ones winning:

  1. the defaults below
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
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Annotated, Literal, cast, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    TypeAdapter,
    ValidationError,
)

YAML_SLIPS = (ValueError, LookupError, AttributeError, RecursionError)
"""What PyYAML lets out for a date of 2001-99-99, a tag that does not fit, or ten thousand ["""

MOST_FILE_BYTES = 1_000_000

LogLevel = Literal["debug", "info", "warning", "error"]
DefaultMode = Literal["ask", "accept_edits", "plan", "bypass"]


def expanded(path: Path) -> Path:
    """Return a path with its `~` expanded, or as it stands where nobody has such a home."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


@dataclass(frozen=True, slots=True)
class Source:
    """What a setting means and where it can be given: a dotted key, a variable, an option."""

    meaning: str
    key: str = ""
    variable: str = ""
    option: str = ""


class PlatformHint(BaseModel):
    """How the hint of a surface is changed: replaced, or added to."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    replace: str = ""
    append: str = ""


class Settings(BaseModel):
    """The values that hold."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    model: Annotated[
        str | None,
        Source("The model to ask", "model.default", "ACP_SERVER_MODEL", "--model"),
    ] = None
    provider: Annotated[
        str,
        Source("Whose language the model speaks", "model.provider", "ACP_SERVER_PROVIDER"),
    ] = ""
    base_url: Annotated[
        str | None,
        Source("The endpoint of the Messages API", "anthropic.base_url", "ANTHROPIC_BASE_URL"),
    ] = None
    api_key: Annotated[SecretStr | None, Source("The key", variable="ANTHROPIC_API_KEY")] = None
    auth_token: Annotated[
        SecretStr | None, Source("A token in place of a key", variable="ANTHROPIC_AUTH_TOKEN")
    ] = None
    idle_seconds: Annotated[
        PositiveFloat,
        Source(
            "How long the endpoint may be silent",
            "anthropic.idle_seconds",
            "ACP_SERVER_IDLE_SECONDS",
        ),
    ] = 120.0
    retries: Annotated[
        NonNegativeInt,
        Source("How often a failed request is repeated", "anthropic.retries", "ACP_SERVER_RETRIES"),
    ] = 5
    max_turn_requests: Annotated[
        PositiveInt,
        Source(
            "The most model calls in one turn",
            "max_turn_requests",
            "ACP_SERVER_MAX_TURN_REQUESTS",
        ),
    ] = 100
    mode: Annotated[
        DefaultMode,
        Source("The mode that a session begins in", "default_mode", "ACP_SERVER_MODE", "--mode"),
    ] = "ask"
    tool_use_enforcement: Annotated[
        bool | Literal["auto"] | tuple[str, ...],
        Source(
            "Whether the model is told to act: by its family, always, never, or for these ids",
            "agent.tool_use_enforcement",
        ),
    ] = "auto"
    environment_probe: Annotated[
        bool, Source("Whether an unusual Python is looked for", "agent.environment_probe")
    ] = True
    environment_hint: Annotated[
        str, Source("What the model is told of this machine", "agent.environment_hint")
    ] = ""
    system_message: Annotated[
        str, Source("What the model is told besides", "agent.system_prompt")
    ] = ""
    context_file_max_chars: Annotated[
        PositiveInt | None,
        Source("The most characters of one file of instructions", "context_file_max_chars"),
    ] = None
    agents_md_scope: Annotated[
        Literal["chain", "cwd"],
        Source("Whether AGENTS.md files above the session's folder count", "agents_md_scope"),
    ] = "chain"
    platform_hints: Annotated[
        Mapping[str, PlatformHint],
        Source("Changes of the hints for a surface, such as `acp`", "platform_hints"),
    ] = {}
    memory_enabled: Annotated[
        bool, Source("Whether MEMORY.md is shown to the model", "memory.memory_enabled")
    ] = True
    user_profile_enabled: Annotated[
        bool, Source("Whether USER.md is shown to the model", "memory.user_profile_enabled")
    ] = True
    memory_char_limit: Annotated[
        PositiveInt, Source("The size of MEMORY.md in characters", "memory.memory_char_limit")
    ] = 2_200
    user_char_limit: Annotated[
        PositiveInt, Source("The size of USER.md in characters", "memory.user_char_limit")
    ] = 1_375
    compaction_threshold: Annotated[
        float,
        Field(gt=0, le=1),
        Source(
            "The share of the window from which on the conversation is summed up",
            "compaction.threshold",
            "ACP_SERVER_COMPACTION_THRESHOLD",
        ),
    ] = 0.75
    log_level: Annotated[
        LogLevel,
        Source("How much is logged", "log.level", "ACP_SERVER_LOG_LEVEL", "--log-level"),
    ] = "warning"
    log_file: Annotated[
        Path | None,
        Source("A file to log to, with stderr", "log.file", "ACP_SERVER_LOG_FILE", "--log-file"),
        AfterValidator(lambda path: path and expanded(path)),
    ] = None


@dataclass(frozen=True, slots=True)
class Layer:
    """One source: its name for a person, and the raw values that it gives by field name."""

    name: str
    values: Mapping[str, object]
    form: Literal["key", "variable", "option"]
    """How a setting is written there."""

    def written(self, source: Source) -> str:
        """Return a setting's name as it is written in this source."""
        return {"key": source.key, "variable": source.variable, "option": source.option}[self.form]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, the home folder, where each value came from, and what was passed over."""

    settings: Settings
    home: Path
    origins: Mapping[str, str]
    problems: tuple[str, ...]


@cache
def sources() -> Mapping[str, Source]:
    """Return where each setting can be given, by field name."""
    return {
        name: next(note for note in field.metadata if isinstance(note, Source))
        for name, field in Settings.model_fields.items()
    }


@cache
def _adapters() -> Mapping[str, TypeAdapter[object]]:
    """Return what validates each setting by itself, by field name."""
    hints = get_type_hints(Settings, include_extras=True)
    return {name: TypeAdapter[object](hints[name]) for name in Settings.model_fields}


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return HERMES_HOME, `~/.hermes` unless it is set."""
    return expanded(Path(environment.get("HERMES_HOME") or "~/.hermes"))


def secret_variables() -> frozenset[str]:
    """Return the variables that hold secrets of ours, which no child process needs."""
    hints = get_type_hints(Settings)
    names = (source.variable for name, source in sources().items() if _is_secret(hints[name]))
    return frozenset(names)


def _is_secret(hint: object) -> bool:
    return SecretStr in get_args(hint)


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
    for name, adapter in _adapters().items():
        for layer in reversed(layers):
            if name not in layer.values:
                continue
            try:
                values[name] = adapter.validate_python(layer.values[name])
            except ValidationError as error:
                reason = error.errors()[0]["msg"]
                written = layer.written(sources()[name])
                problems.append(f"{layer.name}: {written}: {reason}; passed over")
                continue
            origins[name] = layer.name
            break
        origins.setdefault(name, "default")
    return Configuration(Settings.model_validate(values), home, origins, tuple(problems))


def _variables_layer(name: str, variables: Mapping[str, str]) -> Layer:
    given = {n: variables.get(s.variable) for n, s in sources().items()}
    return Layer(name, {n: value for n, value in given.items() if value}, "variable")


def _read_text(path: Path, problems: list[str]) -> str | None:
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
    text = _read_text(path, problems)
    if text is None:
        return {}
    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value is not None}


def _file_layer(path: Path, problems: list[str]) -> Layer:
    values: dict[str, object] = {}
    document = _read_yaml(path, problems)
    for name, source in sources().items():
        found = _look_up(document, source.key) if source.key else None
        if found is not None:
            values[name] = found
    return Layer(str(path), values, "key")


def _look_up(document: Mapping[str, object] | None, key: str) -> object:
    """Return the value at a dotted key; Hermes also writes `model: NAME` for `model.default`."""
    value = cast("object", document)
    for part in key.split("."):
        if not isinstance(value, dict):
            return value if key == "model.default" else None
        value = cast("dict[str, object]", value).get(part)
    return value


def _place(error: object) -> str:
    """Return where YAML breaks and how; never the line itself, which may hold a secret."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    line = f" at line {mark.line + 1}" if mark is not None else ""
    return f"{line}: {problem}" if problem else line


def _read_yaml(path: Path, problems: list[str]) -> dict[str, object] | None:
    text = _read_text(path, problems)
    if text is None:
        return None
    import yaml

    try:
        document: object = yaml.safe_load(text)
    except (yaml.YAMLError, *YAML_SLIPS) as error:
        problems.append(f"{path}: not YAML{_place(error)}; passed over")
        return None
    if isinstance(document, dict):
        return {str(key): value for key, value in cast("dict[object, object]", document).items()}
    if document is not None:
        problems.append(f"{path}: must be a mapping of keys to values; passed over")
    return None
