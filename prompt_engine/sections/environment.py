"""Machine that the tools run on, in a few lines; ordinary facts are omitted."""

from collections.abc import Iterator

from prompt_engine.facts import Environment, Facts
from prompt_engine.section import Section, section_of
from prompt_engine.sections.text_files import prose

ALIASING_PROVIDERS = ("alibaba",)
"""Substrings of the names of providers whose models introduce themselves under another name."""


def write(facts: Facts) -> Iterator[Section]:
    """Yield the facts about the machine, then the user's hints."""
    lines = (*_machine(facts.environment), _profile(facts.environment.profile), _model(facts))
    text = "\n".join(line for line in lines if line)
    if text:
        yield Section("environment", "stable", f"## Environment\n\n{text}")
    for hint in facts.environment.hints:
        yield section_of("environment_hint", "stable", hint)


def _machine(environment: Environment) -> Iterator[str]:
    places = (
        environment.system,
        environment.architecture,
        environment.shell and f"shell {environment.shell}",
        environment.container and f"inside a container ({environment.container})",
        environment.automation and f"in continuous integration ({environment.automation})",
    )
    described = ", ".join(place for place in places if place)
    yield described and f"{described}."
    yield prose("wsl") if environment.is_wsl else ""
    yield prose("termux") if environment.is_termux else ""
    yield environment.python


def _profile(name: str) -> str:
    if not name:
        return ""
    return (
        f"The active profile is `{name}`. Writing to the skills, plugins, cron or memories of "
        "another profile always asks the user."
    )


def _model(facts: Facts) -> str:
    provider = facts.provider.lower()
    if not any(part in provider for part in ALIASING_PROVIDERS):
        return ""
    return f"You are the model `{facts.model}`, whatever name the provider answers under."
