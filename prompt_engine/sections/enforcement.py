"""Act, do not announce: for models that need to be told, with what their family needs besides."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.models import manner_of, needs_enforcement
from prompt_engine.section import Section
from prompt_engine.sections.prose import prose


def write(facts: Facts) -> Iterator[Section]:
    """Yield the demand and the family's guidance; nothing where there are no tools to act with."""
    if not facts.tools or not needs_enforcement(facts.model, facts.enforcement):
        return
    yield Section("enforcement", "stable", prose("enforcement"))
    if manner := manner_of(facts.model):
        yield Section("enforcement_family", "stable", prose(f"enforcement_{manner}"))
