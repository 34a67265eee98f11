"""Machine that the tools run on, in a few lines; ordinary facts are omitted."""

from collections.abc import Iterator

from prompt_engine.facts import MachineFacts, PromptFacts
from prompt_engine.section import PromptSection, section_from
from prompt_engine.sections.text_files import load_text

ALIASING_PROVIDERS = ("alibaba",)
"""Substrings of the names of providers whose models introduce themselves under another name."""


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the facts about the machine, then the user's hints."""
    lines = (
        *_machine_lines(facts.environment),
        _profile_line(facts.environment.profile),
        _model_line(facts),
    )
    text = "\n".join(line for line in lines if line)
    if text:
        yield PromptSection("environment", "stable", f"## Environment\n\n{text}")
    for hint in facts.environment.hints:
        yield section_from("environment_hint", "stable", hint)


def _machine_lines(environment: MachineFacts) -> Iterator[str]:
    parts = (
        environment.system,
        environment.architecture,
        environment.shell and f"shell {environment.shell}",
        environment.container and f"inside a container ({environment.container})",
        environment.ci_service and f"in continuous integration ({environment.ci_service})",
    )
    described = ", ".join(part for part in parts if part)
    yield described and f"{described}."
    yield load_text("wsl") if environment.is_wsl else ""
    yield load_text("termux") if environment.is_termux else ""
    yield environment.python


def _profile_line(name: str) -> str:
    if not name:
        return ""
    return (
        f"The active profile is `{name}`. Writing to the skills, plugins, cron or memories of "
        "another profile always asks the user."
    )


def _model_line(facts: PromptFacts) -> str:
    provider = facts.provider.lower()
    if not any(part in provider for part in ALIASING_PROVIDERS):
        return ""
    return f"You are the model `{facts.model}`, whatever name the provider answers under."
