"""What a model has answered in a pass."""

from acp_server.turn.conversation import AssistantMessage, Conversation, ProviderBlock, Text


def last_answer(conversation: Conversation) -> str:
    """Return what was said last, of all the texts of the last message."""
    messages = tuple(conversation)
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage):
        return ""
    return "\n".join(part.text for part in last.parts if isinstance(part, Text | ProviderBlock))
