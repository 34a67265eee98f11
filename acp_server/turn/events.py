"""What the user sees of a turn, in the engine's words. Closed: whoever renders handles each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessageChunk:
    """More of the answer; chunks of one message share `message_id`."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtChunk:
    """More of the reasoning; chunks of one thought share `message_id`."""

    message_id: str
    text: str


Event = MessageChunk | ThoughtChunk
