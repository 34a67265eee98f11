"""Text from an external memory provider, after the built-in memory stores."""

from collections.abc import Iterator

from prompt_engine.facts import PromptFacts
from prompt_engine.section import PromptSection, section_from


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the provider's text."""
    yield section_from("external_memory", "volatile", facts.external_memory)
