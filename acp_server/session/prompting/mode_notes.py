"""Plan-mode notes for the model, added to the next prompt when the mode has changed.

The system prompt stays unchanged. Earlier notes are found in the conversation itself, so loading,
forking and compaction need no extra state.
"""

from acp_server.permissions.modes import Mode
from acp_server.turn.conversation import Conversation, Text, UserMessage

PLAN_MODE_ON = (
    "[Plan mode is on: read and search only; writing and running are refused. Where a change is "
    "wanted, work out a plan and offer it with exit_plan.]"
)
PLAN_MODE_OFF = "[Plan mode is off.]"


def remark_on_mode(conversation: Conversation, mode: Mode) -> str:
    """Return the mode remark for the model, or an empty text if it already knows the mode.

    >>> remark_on_mode(Conversation((UserMessage((Text(PLAN_MODE_ON),)),)), "ask")
    '[Plan mode is off.]'
    """
    was_planning, is_planning = _last_remark(conversation) == PLAN_MODE_ON, mode == "plan"
    if was_planning == is_planning:
        return ""
    return PLAN_MODE_ON if is_planning else PLAN_MODE_OFF


def _last_remark(conversation: Conversation) -> str:
    # Newest first: only the latest remark describes the mode that the model knows.
    for message in reversed(tuple(conversation)):
        for part in reversed(message.parts) if isinstance(message, UserMessage) else ():
            if isinstance(part, Text) and part.text in {PLAN_MODE_ON, PLAN_MODE_OFF}:
                return part.text
    return PLAN_MODE_OFF
