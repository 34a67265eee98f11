"""Text from an external memory provider, after the built-in memory stores."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.section import Section, section_of


def write(facts: Facts) -> Iterator[Section]:
    """Yield the provider's text."""
    yield section_of("external_memory", "volatile", facts.external_memory)
