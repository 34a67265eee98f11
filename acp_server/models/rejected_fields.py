"""Request fields that an endpoint has rejected; later requests omit them. Format independent."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class RejectedFields:
    """Fields and features that one endpoint has rejected for one model."""

    fields_by_phrase: Mapping[str, str]
    """Maps a phrase of an error message to the field or feature to change; first match wins."""
    fields: set[str] = field(default_factory=set[str])
    """The names learned so far."""

    def learn_from(self, message: str) -> bool:
        """Record the field that an error message names; return whether a retry can differ.

        False means that the message names no field, or only fields that are already omitted.
        """
        for phrase, name in self.fields_by_phrase.items():
            # Skip known names: returning True for one would retry the same request forever.
            if phrase in message and name not in self.fields:
                self.fields.add(name)
                return True
        return False
