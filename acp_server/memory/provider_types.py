"""Types exchanged between sessions and an external memory; cheap to import."""

from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class TurnMessage:
    """A message of a turn."""

    role: Literal["user", "assistant"]
    text: str


@frozen_dataclass
class ProviderReply:
    """Result of a provider call: a text, or a notice for the user why there is none."""

    text: str = ""
    notice: str = ""
