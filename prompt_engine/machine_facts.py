"""Facts of one machine in a system prompt, and the prompt without them.

Two prompts that differ in nothing else are the same prompt: they were written on another machine,
on another day, or in another clone of a repository.
"""

from prompt_engine.section import SECTION_SEPARATOR
from prompt_engine.sections.day_and_model import DAY_START
from prompt_engine.sections.environment import ENVIRONMENT_HEADING
from prompt_engine.sections.workspace import COMMITS_LABEL, REPOSITORY_LABEL, WORKSPACE_INTRODUCTION

MACHINE = "(facts of the machine)"
REPOSITORY = "(state of the repository)"
DAY = "(the day)"


def mask_machine_facts(prompt: str) -> str:
    r"""Return a system prompt without the facts of the machine, the repository's state and the day.

    >>> mask_machine_facts("## Environment\n\nLinux, x86_64.\n\nToday is Friday, May 1, 2026.")
    '## Environment\n\n(facts of the machine)\n\nToday is (the day).'
    """
    parts = prompt.split(SECTION_SEPARATOR)
    for number, part in enumerate(parts):
        previous = parts[number - 1] if number else ""
        if previous == ENVIRONMENT_HEADING:
            parts[number] = MACHINE
        elif previous == WORKSPACE_INTRODUCTION:
            parts[number] = "\n".join(map(_mask_repository, part.split("\n")))
        elif part.startswith(DAY_START) and part.endswith("."):
            parts[number] = f"{DAY_START}{DAY}."
    return SECTION_SEPARATOR.join(parts)


def _mask_repository(line: str) -> str:
    for label in (REPOSITORY_LABEL, COMMITS_LABEL):
        if line.startswith(f"- {label}"):
            return f"- {label}: {REPOSITORY}"
    return line
