"""Message that the configuration or the client adds to the prompt, unchanged."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.section import Section, section_of


def write(facts: Facts) -> Iterator[Section]:
    """Yield the message."""
    yield section_of("system_message", "context", facts.system_message)
