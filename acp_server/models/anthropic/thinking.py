"""Thinking fields of a request, and when a thinking budget must be deferred.

The provider counts tool calls and their results as one assistant turn. It rejects a budget if that
turn did not start with a thinking block, for example because the block was removed with a rebuilt
prompt, came from another model, or thinking was enabled in between. Such a turn continues without
thinking; the next one thinks again. Works on wire messages only.
Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from acp_server.models.families import ModelFamily, closest_thought_level, thinking_fields
from acp_server.models.rejected_fields import RejectedFields

MIN_BUDGET_TOKENS = 1_024
_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})

Wire = Mapping[str, JsonValue]


def build_thinking_fields(
    family: ModelFamily,
    level: str | None,
    rejected: RejectedFields,
    limit: int,
    messages: Sequence[Wire],
) -> dict[str, JsonValue]:
    """Return the body's `thinking` and `output_config` fields.

    `limit` is the body's `max_tokens`; `messages` are the body's messages.
    """
    fields = thinking_fields(family, closest_thought_level(family, level))
    thinking = fields.get("thinking")
    if isinstance(thinking, dict):
        if "display" in rejected.fields:
            thinking.pop("display", None)
        budget = thinking.get("budget_tokens")
        if isinstance(budget, int):
            # The API requires budget < max_tokens, which shrinks near the end of the context
            # window.
            allowed_budget = budget if budget < limit else limit // 2
            if allowed_budget < MIN_BUDGET_TOKENS or not accepts_budget(messages):
                fields["thinking"] = {"type": family.off}
            else:
                thinking["budget_tokens"] = allowed_budget
    return {name: value for name, value in fields.items() if name not in rejected.fields}


def accepts_budget(messages: Sequence[Wire]) -> bool:
    """Return whether the assistant turn that a request continues may use a thinking budget.

    A turn starts after the newest user message that contains more than tool results.
    """
    replies = [index for index, each in enumerate(messages) if each["role"] == "assistant"]
    if not replies or "tool_use" not in _block_types(messages[replies[-1]]):
        return True
    first = replies[-1]
    for index in reversed(range(replies[-1])):
        if messages[index]["role"] == "assistant":
            first = index
        elif set(_block_types(messages[index])) != {"tool_result"}:
            break
    return _block_types(messages[first])[0] in _THINKING_TYPES


def _block_types(message: Wire) -> list[JsonValue]:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return [block["type"] for block in blocks if isinstance(block, dict)]
