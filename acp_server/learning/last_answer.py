"""The answer of the model in a background run."""

from acp_server.turn.conversation import AssistantMessage, Conversation, ProviderBlock, Text


def last_answer(conversation: Conversation) -> str:
    """Return all text of the last message, or "" if it is not the assistant's."""
    messages = tuple(conversation)
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage):
        return ""
    return "\n".join(part.text for part in last.parts if isinstance(part, Text | ProviderBlock))
