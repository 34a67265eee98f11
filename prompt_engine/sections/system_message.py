"""Message that the configuration or the client adds to the prompt, unchanged."""

from collections.abc import Iterator

from prompt_engine.facts import PromptFacts
from prompt_engine.section import PromptSection, section_from


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the message."""
    yield section_from("system_message", "context", facts.system_message)
