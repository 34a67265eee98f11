"""Date changes during a session: the model is told the new date in the next user message.

The system prompt keeps the date on which it was written. Earlier remarks are found in the
conversation itself, so loading, forking and compaction need no extra state.
"""

import re
from datetime import date

from acp_server.turn.conversation import Conversation, Text, UserMessage
from prompt_engine.sections.day_and_model import format_day

_DAY_REMARK = re.compile(r"\[It is another day now: [^\n\]]+\.\]")


def remark_on_day(conversation: Conversation, prompt_day: date | None, today: date) -> str:
    """Return the date remark for the model, or an empty text if it already knows the date.

    `prompt_day` is the date named in the system prompt, None if unknown.

    >>> remark_on_day(Conversation(), date(2026, 11, 21), date(2026, 11, 22))
    '[It is another day now: Sunday, November 22, 2026.]'
    """
    remark = f"[It is another day now: {format_day(today)}.]"
    last = _last_remark(conversation)
    # Without an earlier remark the model knows the date in its system prompt.
    is_known = prompt_day == today if last is None else last == remark
    return "" if is_known else remark


def _last_remark(conversation: Conversation) -> str | None:
    for message in reversed(tuple(conversation)):
        for part in reversed(message.parts) if isinstance(message, UserMessage) else ():
            # The whole part: a remark that the user quotes is not one.
            if isinstance(part, Text) and _DAY_REMARK.fullmatch(part.text):
                return part.text
    return None
