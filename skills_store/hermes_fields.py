"""Read the frontmatter fields that Hermes adds to the standard.

Authors put them at the top level, under `metadata`, or under `metadata.hermes`; as a list or, since
the standard requires strings there, as comma-separated words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from skills_store.frontmatter import scalar_text
from skills_store.json_file import Json
from skills_store.skill import Frontmatter

_WORD = re.compile(r"[^\s,\[\]'\"]+")


def read_words(frontmatter: Frontmatter, name: str) -> tuple[str, ...]:
    """Return the words of a field from all places where it can be, without duplicates."""
    found = [mapping[name] for mapping in _field_mappings(frontmatter) if name in mapping]
    return _unique(each for value in found for each in _words(value)) if found else ()


def required_commands(frontmatter: Frontmatter) -> tuple[str, ...]:
    """Return the programs that a skill says it runs."""
    return _unique(
        each
        for prerequisites in _prerequisites(frontmatter)
        for each in _words(prerequisites.get("commands"))
    )


def required_variables(frontmatter: Frontmatter) -> tuple[str, ...]:
    """Return the environment variables that a skill requires; optional ones are left out."""
    names: list[str] = []
    for prerequisites in _prerequisites(frontmatter):
        names += _words(prerequisites.get("env_vars"))
    for mapping in _field_mappings(frontmatter):
        listed = mapping.get("required_environment_variables")
        for each in listed if isinstance(listed, list) else [listed]:
            if not isinstance(each, dict):
                names += _words(each)
            elif each.get("optional") is not True:
                names += _words(each.get("name"))
    return _unique(names)


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
