"""Answers that stop early: texts to ask the model for the rest, and calls that were cut off.

Newer models refuse a request that ends in an assistant message, so the rest of an answer is always
requested by a user message behind the part that has arrived.
"""

import json
from typing import cast

from pydantic import JsonValue
from pydantic_core import from_json

from acp_server.turn.conversation import ToolCall, parse_arguments

MAX_CONTINUATIONS = 3
"""How often in a row the rest of an answer that reached the output limit is requested."""
CONTINUE_PROMPT = (
    "Your answer was cut off there by a broken connection. Go on exactly where it stops; repeat "
    "nothing and do not mention this."
)
CONTINUE_CUT = (
    "Your answer was cut off there by the output limit. Go on exactly where it stops; repeat "
    "nothing and do not mention this."
)
ANSWER_AFTER_THINKING = (
    "Your thinking used up the output limit before you answered. Think less this time, and take "
    "the next step: call a tool or answer."
)
ANSWER_AFTER_NOTHING = (
    "Your last answer was empty. Go on with the task: call a tool or answer. If all is done, say "
    "so in a sentence."
)
CALL_THROUGH_INTERFACE = (
    "You wrote a tool call as text, so nothing was run. Make the call through the tool interface. "
    "If it was only an example, say so in a sentence."
)
CUT_CALL = (
    "cut at the output limit after {characters:,} characters, so it did not run; do it in smaller "
    "calls: write the file in parts, first write_file, then patch"
)
CONTINUING = "the answer reached the model's output limit; continuing ({number} of {most})"
STOPPED_AT_LIMIT = (
    "The answer reached the model's output limit {times} times in a row and ends here. Ask for the "
    "rest, or for smaller steps."
)
SAID_NOTHING = (
    "The model gave no answer, also when asked again. Send your request again in other words, or "
    "choose another model."
)


def is_whole(arguments: str) -> bool:
    """Whether the arguments of the last call before the output limit arrived completely.

    An empty text is not whole: the limit may have been reached before the first character.
    """
    try:
        parse_arguments(ToolCall("", "", arguments))
    except ValueError:
        return False
    return bool(arguments.strip())


def whole_values(arguments: str) -> str:
    """Return the values of a cut JSON object that arrived completely, as a JSON object.

    >>> whole_values('{"path": "a.py", "content": "def f(')
    '{"path": "a.py"}'
    """
    try:
        values = cast("JsonValue", from_json(arguments, allow_partial=True))
        kept = json.dumps(values, ensure_ascii=False, allow_nan=False)
        kept.encode()  # a lone surrogate could not be sent back
    except (ValueError, RecursionError):
        return "{}"
    return kept if isinstance(values, dict) else "{}"
