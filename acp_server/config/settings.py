"""Loads all settings into one typed object that records the source of each value.

The only reader of the environment. The settings are defined in `config/table.py`. Sources,
lowest priority first:

  1. the defaults of the table
  2. HERMES_HOME/config.yaml         shared with Hermes; never written
  3. HERMES_HOME/acp/config.yaml     this server's own
  4. HERMES_HOME/.env                environment variables, and those of skills
  5. the environment
  6. command line options

An invalid value is reported and ignored: the next lower source is used instead.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from io import StringIO
from pathlib import Path

from pydantic import SecretStr

from acp_server.config.fitting import validate_setting
from acp_server.config.named_providers import NamedProvider
from acp_server.config.profiles import PROFILE_VARIABLE, choose_home, unknown_profile
from acp_server.config.provider_keys import CLOUD_VARIABLES, SHARED_TOKENS
from acp_server.config.setting import NameKind
from acp_server.config.table import (
    Settings,
    build_settings,
    find_written,
    secret_variables,
    setting_sources,
    value_at,
)
from acp_server.config.unused_keys import UnusedKey, find_unused_keys
from acp_server.config.values import FallbackEndpoint
from acp_server.config.variable_references import expand_references, has_reference
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.pydantic_plugins import replaced_variables

__all__ = [
    "Configuration",
    "Settings",
    "child_environment",
    "hermes_home",
    "load",
    "read_text",
    "read_variables",
    "secret_variables",
    "setting_sources",
    "store_variable",
    "use_profile",
]

MAX_FILE_BYTES = 1_000_000
SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
"""Ends of the names of variables that hold secrets."""


@frozen_dataclass
class SettingsLayer:
    """One source of settings: its display name, and its raw values."""

    name: str
    written: Mapping[str, tuple[str, object]]
    """By field name: the name as written in this source, and its value."""
    unused_keys: tuple[UnusedKey, ...] = ()
    """The other keys of a file."""
    secret_names: frozenset[str] = frozenset()
    """The variables that a file refers to where a secret stands."""


@frozen_dataclass
class Configuration:
    """The settings, the home directory, the source of each value, and the problems found."""

    settings: Settings
    home: Path
    origins: Mapping[str, str]
    problems: tuple[str, ...]
    invalid_settings: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of settings for which some source had an invalid value."""

    unused_keys: tuple[UnusedKey, ...] = field(default=(), compare=False)
    """Keys of the config.yaml shared with Hermes that have no effect here."""
    passed_variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables of the .env file that commands get, with their values."""
    provider_addresses: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """The variables whose names end in `_BASE_URL`, with their values."""
    cloud_variables: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False, compare=False
    )
    """The variables that clients of cloud providers need, with their values."""
    shared_tokens: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False, compare=False
    )
    """Tokens that belong to git and `gh`, by variable."""
    referenced_secrets: frozenset[str] = frozenset()
    """The variables that files refer to where a secret stands."""
    dotenv: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    """All variables of the .env file."""
    memory_variables: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False, compare=False
    )
    """Variables of the environment and the .env file for the external memory provider."""

    @property
    def secret_variables(self) -> frozenset[str]:
        """The environment variables with secrets, which no child process may inherit."""
        current = self.settings
        fallbacks = (*current.fallbacks, *current.fallback_providers, *current.fallback_model)
        named = {each.key_env for each in fallbacks if isinstance(each, FallbackEndpoint)}
        named |= {each.key_env for each in current.all_named_providers.values()}
        named.add(current.model_key_env)
        memory_keys = {name for name in self.memory_variables if name.endswith(SECRET_ENDINGS)}
        return secret_variables() | self.referenced_secrets | memory_keys | (named - {""})


def hermes_home(environment: Mapping[str, str]) -> Path:
    """Return the Hermes home directory: HERMES_HOME, else `~/.hermes`, or a profile of it."""
    return choose_home(environment).path


def use_profile(name: str) -> str | None:
    """Use a profile in this process; return why that is not possible, else None."""
    chosen = choose_home({**os.environ, PROFILE_VARIABLE: name})
    if chosen.problem:
        return unknown_profile(name, chosen.root)
    os.environ[PROFILE_VARIABLE] = chosen.profile
    return None


def child_environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return this process's environment with changes applied; None removes a variable."""
    changes = {**replaced_variables, **changes}
    inherited = {name: value for name, value in os.environ.items() if name not in changes}
    return inherited | {name: value for name, value in changes.items() if value is not None}


def read_variables(home: Path) -> Mapping[str, str]:
    """Return the variables of HERMES_HOME/.env and of the environment, as they are now. Blocks."""
    return {**_read_dotenv(home / ".env", []), **os.environ}


def store_variable(home: Path, name: str, value: str) -> None:
    """Set a variable in HERMES_HOME/.env. Blocks.

    Raises:
        ValueError: the name or the value cannot be stored.
        OSError: the file cannot be read or written; it is unchanged.
    """
    from acp_server.config.dotenv_file import write_variable

    write_variable(home, name, value)


def load(options: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Configuration:
    """Load the settings from all sources. Never raises: errors are reported as problems."""
    environment = os.environ if environment is None else environment
    chosen = choose_home(environment)
    home, problems = chosen.path, [chosen.problem] if chosen.problem else []
    dotenv_problems: list[str] = []
    dotenv = _read_dotenv(home / ".env", dotenv_problems)
    variables = {**dotenv, **environment}
    files = [
        _file_layer(home / "config.yaml", variables, problems),
        _file_layer(home / "acp" / "config.yaml", variables, problems),
    ]
    problems += dotenv_problems
    layers = [
        *files,
        _variables_layer(str(home / ".env"), dotenv),
        _variables_layer("environment", environment),
        _make_layer("option", "option", options.get),
    ]
    found = _resolve(layers, home, problems)
    referenced = frozenset[str]().union(*(each.secret_names for each in files))
    found = replace(found, referenced_secrets=referenced)
    passed = {
        name: dotenv[name]
        for name in found.settings.terminal.passed_variables
        if name in dotenv and name not in environment and name not in found.secret_variables
    }
    named = _with_named_keys(found.settings, variables)
    is_for_memory = found.settings.memory.is_provider_variable
    origins = dict(found.origins)
    if named.model_api_key != found.settings.model_api_key:
        origins["model_api_key"] = named.model_key_env
    return replace(
        found,
        settings=_without_disabled_tools(named),
        origins=origins,
        cloud_variables={name: variables[name] for name in CLOUD_VARIABLES if variables.get(name)},
        shared_tokens={name: variables[name] for name in SHARED_TOKENS if variables.get(name)},
        provider_addresses={
            name: value.strip()
            for name, value in variables.items()
            if name.endswith("_BASE_URL") and value.strip()
        },
        unused_keys=files[0].unused_keys,
        passed_variables=passed,
        dotenv=dotenv,
        memory_variables={name: value for name, value in variables.items() if is_for_memory(name)},
    )


def _without_disabled_tools(current: Settings) -> Settings:
    """Return the settings without what uses tools behind the back of a session without them."""
    offers = current.toolsets.offers
    memory, skills = current.memory, current.skills
    return replace(
        current,
        memory=memory if offers("memory") else replace(memory, nudge_interval=0),
        skills=skills
        if offers("skill_manage")
        else replace(skills, creation_nudge_interval=0, curator="off"),
        web_search=current.web_search if offers("web_fetch") else "off",
    )


def _with_named_keys(current: Settings, variables: Mapping[str, str]) -> Settings:
    """Return the settings with the keys that endpoints name by an environment variable."""

    def with_key(fallback: str | FallbackEndpoint) -> str | FallbackEndpoint:
        if isinstance(fallback, str) or fallback.api_key is not None:
            return fallback
        key = variables.get(fallback.key_env, "").strip()
        return fallback.model_copy(update={"api_key": SecretStr(key)}) if key else fallback

    def with_own_key(provider: NamedProvider) -> NamedProvider:
        written = provider.api_key.get_secret_value().strip() if provider.api_key else ""
        key = variables.get(provider.key_env, "").strip()
        if not key and not has_reference(written):
            key = written
        return provider.model_copy(update={"api_key": SecretStr(key) if key else None})

    main_key = variables.get(current.model_key_env, "").strip()
    if current.model_api_key and not has_reference(current.model_api_key.get_secret_value()):
        main_key = current.model_api_key.get_secret_value()
    return replace(
        current,
        model_api_key=SecretStr(main_key) if main_key else None,
        named_providers={
            name: with_own_key(each) for name, each in current.named_providers.items()
        },
        custom_providers={
            name: with_own_key(each) for name, each in current.custom_providers.items()
        },
        fallbacks=tuple(map(with_key, current.fallbacks)),
        fallback_providers=tuple(map(with_key, current.fallback_providers)),
        fallback_model=tuple(map(with_key, current.fallback_model)),
    )


def _resolve(layers: list[SettingsLayer], home: Path, problems: list[str]) -> Configuration:
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    invalid_names = set[str]()
    for name in setting_sources():
        for layer in reversed(layers):
            if name not in layer.written:
                continue
            written_name, value = layer.written[name]
            found = validate_setting(name, value)
            problems.extend(
                f"{layer.name}: {each.qualified_name(written_name)}: {each.reason}; ignored"
                for each in found.invalid_parts
            )
            invalid_names |= {name} if found.invalid_parts else set()
            if found.is_usable:
                values[name], origins[name] = found.value, layer.name
                break
        origins.setdefault(name, "default")
    settings = build_settings(values)
    if origins["mode"] == "default" and settings.approvals.mode == "off":
        settings, origins["mode"] = replace(settings, mode="bypass"), origins["approvals_mode"]
    return Configuration(settings, home, origins, tuple(problems), frozenset(invalid_names))


def _variables_layer(name: str, variables: Mapping[str, str]) -> SettingsLayer:
    return _make_layer(name, "variable", lambda variable: variables.get(variable) or None)


def _make_layer(name: str, kind: NameKind, lookup: Callable[[str], object]) -> SettingsLayer:
    written = {field: entries[0] for field, entries in find_written(kind, lookup)}
    return SettingsLayer(name, written)


def read_text(path: Path, problems: list[str]) -> str | None:
    """Return the text of a file; None if it is missing, or unreadable (adds a problem)."""
    try:
        status = path.stat()
        # A pipe would block the start for ever, and a huge file would take all memory.
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            problems.append(f"{path}: is not a regular file of at most 1 MB; ignored")
            return None
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        problems.append(f"{path}: cannot be read: {reason}; ignored")
        return None


def _read_dotenv(path: Path, problems: list[str]) -> Mapping[str, str]:
    text = read_text(path, problems)
    if text is None:
        return {}
    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value is not None}


def _file_layer(path: Path, variables: Mapping[str, str], problems: list[str]) -> SettingsLayer:
    text = read_text(path, problems)
    if text is None:
        return SettingsLayer(str(path), {})
    from acp_server.config.yaml_files import InvalidYamlError, NotAMappingError, parse_mapping

    try:
        document = parse_mapping(text)
    except (InvalidYamlError, NotAMappingError) as error:
        problems.append(f"{path}: {error}; ignored")
        return SettingsLayer(str(path), {})
    expanded = expand_references(document, variables)
    problems.extend(
        f"{path}: {key}: the variable {name} is not set" for key, name in expanded.unset
    )
    layer = _make_layer(str(path), "key", partial(value_at, expanded.values))
    return replace(
        layer, unused_keys=find_unused_keys(document), secret_names=expanded.secret_names
    )
