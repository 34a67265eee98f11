"""A day that begins while a session goes on: the model is told in the next message of the user's.

The system prompt names the day it was written on and stays as it is. What was said stands in the
conversation and is read from there, so that load, fork and compaction follow by themselves.
"""

import re
from datetime import date

from acp_server.turn.conversation import Conversation, Text, UserMessage
from prompt_engine.sections.moment import day_in_words

_SAID = re.compile(r"\[It is another day now: [^\n\]]+\.\]")


def remark_on_day(conversation: Conversation, written: date | None, today: date) -> str:
    """Return what the model is to be told of the day; nothing if it knows.

    `written` is the day that its system prompt names, None if that is not known.

    >>> remark_on_day(Conversation(), date(2026, 11, 21), date(2026, 11, 22))
    '[It is another day now: Sunday, November 22, 2026.]'
    """
    remark = f"[It is another day now: {day_in_words(today)}.]"
    last = _last_remark(conversation)
    is_known = written == today if last is None else last == remark
    return "" if is_known else remark


def _last_remark(conversation: Conversation) -> str | None:
    for message in reversed(tuple(conversation)):
        for part in reversed(message.parts) if isinstance(message, UserMessage) else ():
            if isinstance(part, Text) and _SAID.fullmatch(part.text):
                return part.text
    return None
