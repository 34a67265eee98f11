"""What an endpoint was found to refuse, and is asked without from then on. Knows no form."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Omissions:
    """What one endpoint refused for one model."""

    words: Mapping[str, str]
    """What a refusal says, and the name of what is left out or done otherwise then; the first that
    is found counts."""
    fields: set[str] = field(default_factory=set[str])
    """What was learned."""

    def learn(self, message: str) -> bool:
        """Note what a refusal names; false when it names nothing that is left to change."""
        for words, name in self.words.items():
            if words in message and name not in self.fields:
                self.fields.add(name)
                return True
        return False
