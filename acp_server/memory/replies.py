"""What passes between sessions and an external memory; costs nothing to import."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """Something that was said in a turn."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call of a provider gave: a text, or why there is none, in a sentence for the user."""

    text: str = ""
    notice: str = ""
