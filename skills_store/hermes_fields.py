"""Read the frontmatter fields that Hermes adds to the standard.

Authors put them at the top level, under `metadata`, or under `metadata.hermes`; as a list or, since
the standard requires strings there, as comma-separated words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skills_store.frontmatter import scalar_text
from skills_store.json_file import Json
from skills_store.skill import Frontmatter

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[^\s,\[\]'\"]+")


def read_words(frontmatter: Frontmatter, name: str) -> tuple[str, ...]:
    """Return the words of a field from all places where it can be, without duplicates."""
    found = [mapping[name] for mapping in _field_mappings(frontmatter) if name in mapping]
    return _unique(each for value in found for each in _words(value)) if found else ()


def has_any_field(frontmatter: Frontmatter, names: frozenset[str]) -> bool:
    """Return whether one of these fields is in any of the places where `read_words` looks."""
    return any(not names.isdisjoint(mapping) for mapping in _field_mappings(frontmatter))


def required_commands(frontmatter: Frontmatter) -> tuple[str, ...]:
    """Return the programs that a skill says it runs."""
    return _unique(
        each
        for prerequisites in _prerequisites(frontmatter)
        for each in _words(prerequisites.get("commands"))
    )


@dataclass(frozen=True, slots=True)
class DeclaredVariable:
    """An environment variable that a skill declares."""

    name: str
    help: str = ""
    """How to get a value, in the author's words."""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class DeclaredSetting:
    """A setting that a skill reads from `skills.config` of config.yaml."""

    key: str
    """Dotted."""
    description: str
    default: Json = None


def declared_variables(frontmatter: Frontmatter) -> tuple[DeclaredVariable, ...]:
    """Return all environment variables that a skill declares, optional ones too."""
    setup_help = read_setup_help(frontmatter)
    found: dict[str, DeclaredVariable] = {}
    for mapping in _field_mappings(frontmatter):
        for each in _as_list(mapping.get("required_environment_variables")):
            if isinstance(each, dict):
                _declare(found, each, each.get("name") or each.get("env_var"), setup_help)
                continue
            for name in _words(each):
                _declare(found, {}, name, setup_help)
        setup = mapping.get("setup")
        secrets = setup.get("collect_secrets") if isinstance(setup, dict) else None
        for each in _as_list(secrets):
            if isinstance(each, dict):
                _declare(found, each, each.get("env_var"), setup_help)
    for prerequisites in _prerequisites(frontmatter):
        for name in _words(prerequisites.get("env_vars")):
            _declare(found, {}, name, setup_help)
    return tuple(found.values())


def _declare(
    found: dict[str, DeclaredVariable], entry: Mapping[str, Json], name: Json, setup_help: str
) -> None:
    text = scalar_text(name)
    if not _VARIABLE.fullmatch(text) or text in found:
        return
    helps = (entry.get(key) for key in ("help", "provider_url", "url"))
    help_text = next((scalar_text(each) for each in helps if scalar_text(each)), setup_help)
    found[text] = DeclaredVariable(text, help_text, entry.get("optional") is True)


def read_setup_help(frontmatter: Frontmatter) -> str:
    """Return what the author says about setting a skill up; empty if nothing."""
    for mapping in _field_mappings(frontmatter):
        setup = mapping.get("setup")
        if isinstance(setup, dict) and (text := scalar_text(setup.get("help"))):
            return text.strip()
    return ""


def declared_settings(frontmatter: Frontmatter) -> tuple[DeclaredSetting, ...]:
    """Return the settings in `metadata.hermes.config`; entries without a key are left out."""
    found: dict[str, DeclaredSetting] = {}
    for mapping in _field_mappings(frontmatter):
        for each in _as_list(mapping.get("config")):
            key = scalar_text(each.get("key")).strip() if isinstance(each, dict) else ""
            if isinstance(each, dict) and key and key not in found:
                description = scalar_text(each.get("description"))
                found[key] = DeclaredSetting(key, description, each.get("default"))
    return tuple(found.values())


def credential_files(frontmatter: Frontmatter) -> tuple[str, ...]:
    """Return the files with credentials that a skill needs, relative to HERMES_HOME."""
    paths: list[str] = []
    for mapping in _field_mappings(frontmatter):
        for each in _as_list(mapping.get("required_credential_files")):
            path = each.get("path") or each.get("file") if isinstance(each, dict) else each
            paths += [scalar_text(path)] if scalar_text(path) else []
    return _unique(paths)


def _as_list(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def required_variables(frontmatter: Frontmatter) -> tuple[str, ...]:
    """Return the environment variables that a skill requires; optional ones are left out."""
    return tuple(each.name for each in declared_variables(frontmatter) if not each.is_optional)


def _field_mappings(frontmatter: Frontmatter) -> tuple[Mapping[str, Json], ...]:
    metadata = frontmatter.get("metadata")
    if not isinstance(metadata, dict):
        return (frontmatter,)
    hermes = metadata.get("hermes")
    return (frontmatter, metadata, hermes) if isinstance(hermes, dict) else (frontmatter, metadata)


def _prerequisites(frontmatter: Frontmatter) -> Iterator[Mapping[str, Json]]:
    for mapping in _field_mappings(frontmatter):
        prerequisites = mapping.get("prerequisites")
        if isinstance(prerequisites, dict):
            yield prerequisites


def _words(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        yield from (text for each in value if (text := scalar_text(each)))
    else:
        yield from _WORD.findall(scalar_text(value))


def _unique(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
