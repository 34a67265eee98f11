"""Machine that the tools run on, in a few lines; ordinary facts are omitted."""

from collections.abc import Iterator

from prompt_engine.facts import PromptFacts
from prompt_engine.section import PromptSection, section_from
from prompt_engine.sections.text_files import load_text

ENVIRONMENT_HEADING = "## Environment"
ALIASING_PROVIDERS = ("alibaba",)
"""Substrings of the names of providers whose models introduce themselves under another name."""


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the facts about the machine, then the user's hints."""
    environment, provider = facts.environment, facts.provider.lower()
    parts = (
        environment.system,
        environment.architecture,
        environment.shell and f"shell {environment.shell}",
        environment.container and f"inside a container ({environment.container})",
        environment.ci_service and f"in continuous integration ({environment.ci_service})",
    )
    described = ", ".join(part for part in parts if part)
    lines = [f"{described}." if described else ""]
    if environment.is_wsl:
        lines.append(load_text("wsl"))
    if environment.is_termux:
        lines.append(load_text("termux"))
    lines.append(environment.python)
    if environment.profile:
        lines.append(
            f"The active profile is `{environment.profile}`. Writing to the skills, plugins, cron "
            "or memories of another profile always asks the user."
        )
    if any(part in provider for part in ALIASING_PROVIDERS):
        lines.append(
            f"You are the model `{facts.model}`, whatever name the provider answers under."
        )
    text = "\n".join(line for line in lines if line)
    if text:
        yield PromptSection("environment", "stable", f"{ENVIRONMENT_HEADING}\n\n{text}")
    for hint in environment.hints:
        yield section_from("environment_hint", "stable", hint)
