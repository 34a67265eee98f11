"""What passes between sessions and an external memory; costs nothing to import."""

from typing import Literal

from acp_server.frozen import frozen


@frozen
class TurnMessage:
    """Something that was said in a turn."""

    role: Literal["user", "assistant"]
    text: str


@frozen
class Reply:
    """What a call of a provider gave: a text, or why there is none, in a sentence for the user."""

    text: str = ""
    notice: str = ""
