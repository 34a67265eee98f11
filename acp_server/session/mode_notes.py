"""Plan mode, as the model is told of it: with the next prompt, and only when it is news.

The system prompt stays as it is. What was said stands in the conversation and is read from there,
so that load, fork and compaction follow by themselves.
"""

from acp_server.permissions.modes import Mode
from acp_server.turn.conversation import Conversation, Text, UserMessage

PLANNING = (
    "[Plan mode is on: read and search only; writing and running are refused. Where a change is "
    "wanted, work out a plan and offer it with exit_plan.]"
)
NOT_PLANNING = "[Plan mode is off.]"


def remark_on_mode(conversation: Conversation, mode: Mode) -> str:
    """Return what the model is to be told of the mode; nothing if it knows.

    >>> remark_on_mode(Conversation((UserMessage((Text(PLANNING),)),)), "ask")
    '[Plan mode is off.]'
    """
    was_planning, is_planning = _last_remark(conversation) == PLANNING, mode == "plan"
    if was_planning == is_planning:
        return ""
    return PLANNING if is_planning else NOT_PLANNING


def _last_remark(conversation: Conversation) -> str:
    for message in reversed(tuple(conversation)):
        for part in reversed(message.parts) if isinstance(message, UserMessage) else ():
            if isinstance(part, Text) and part.text in {PLANNING, NOT_PLANNING}:
                return part.text
    return NOT_PLANNING
