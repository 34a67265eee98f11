"""Counts when a conversation is due for a review: long work or talk, with nothing saved. Pure."""

from dataclasses import dataclass, field

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    ToolCall,
    ToolResult,
)


@frozen_dataclass
class ReviewIntervals:
    """After how much a review is due; 0 is never."""

    steps: int = 10
    """Steps with tool calls, none of which changed a skill."""
    prompts: int = 10
    """Prompts of the user without a change of the memory."""


@dataclass(slots=True)
class ReviewCounters:
    """Counters of a conversation's growth. Earlier messages do not count."""

    conversation: Conversation
    steps: int = 0
    prompts: int = 0
    _counted_length: int = field(init=False)
    _generation: int = field(init=False)

    def __post_init__(self) -> None:
        """Start at the end of the conversation."""
        self._remember_end()

    def count_new_messages(self) -> None:
        """Count the new messages, or those since the last prompt if the history was rebuilt."""
        messages = tuple(self.conversation)
        if self.conversation.generation == self._generation:
            # Positions are only valid within one generation: a compaction replaces the messages.
            messages = messages[self._counted_length :]
        elif prompts := [index for index, message in enumerate(messages) if _is_prompt(message)]:
            messages = messages[prompts[-1] :]
        for message in messages:
            self.prompts += _is_prompt(message)
            if isinstance(message, AssistantMessage):
                called = {part.name for part in message.parts if isinstance(part, ToolCall)}
                self.steps += bool(called)
                if "skill_manage" in called:
                    self.steps = 0
                if "memory" in called:
                    self.prompts = 0
        self._remember_end()

    def is_due(self, intervals: ReviewIntervals) -> bool:
        """Whether either interval has passed; one review covers both."""
        are_steps_due = 0 < intervals.steps <= self.steps
        return are_steps_due or 0 < intervals.prompts <= self.prompts

    def reset(self) -> None:
        """Start again after a review."""
        self.steps = self.prompts = 0

    def _remember_end(self) -> None:
        self._counted_length = len(self.conversation)
        self._generation = self.conversation.generation


def _is_prompt(message: Message) -> bool:
    if isinstance(message, AssistantMessage):
        return False
    return not any(isinstance(part, ToolResult) for part in message.parts)
