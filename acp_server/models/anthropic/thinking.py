"""How a request asks for thinking, and when a budget for it has to wait.

Calls and their results are one turn of the model's to the provider, and it refuses a budget while
such a turn began without a thinking block: one that was taken out with a rebuilt prompt, came from
another model, or was never there, because the level was changed meanwhile. Such a turn goes on as
it began; the next one thinks again. Knows wire messages only.
Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from acp_server.models.families import ModelFamily, closest_thought_level, thinking_fields
from acp_server.models.omissions import Omissions

LEAST_BUDGET_TOKENS = 1_024
_THINKING = frozenset({"thinking", "redacted_thinking"})

Wire = Mapping[str, JsonValue]


def thinking_of(
    family: ModelFamily, level: str | None, omit: Omissions, limit: int, messages: Sequence[Wire]
) -> dict[str, JsonValue]:
    """Return the fields of a body that say whether and how much to think.

    `limit` is the body's `max_tokens`, `messages` are the body's.
    """
    fields = thinking_fields(family, closest_thought_level(family, level))
    thinking = fields.get("thinking")
    if isinstance(thinking, dict):
        if "display" in omit.fields:
            thinking = {name: value for name, value in thinking.items() if name != "display"}
        fields["thinking"] = _possible(thinking, family, limit, messages)
    return {name: value for name, value in fields.items() if name not in omit.fields}


def _possible(
    thinking: dict[str, JsonValue], family: ModelFamily, limit: int, messages: Sequence[Wire]
) -> dict[str, JsonValue]:
    """Return thinking as asked for, with a smaller budget, or off."""
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int):
        return thinking
    fitting = budget if budget < limit else limit // 2  # less near the end of the window
    if fitting < LEAST_BUDGET_TOKENS or not accepts_budget(messages):
        return {"type": family.off}
    return thinking | {"budget_tokens": fitting}


def accepts_budget(messages: Sequence[Wire]) -> bool:
    """Whether the turn that a request goes on with may think by a budget.

    A turn begins behind the newest message of the user that holds more than results of calls.
    """
    replies = [index for index, each in enumerate(messages) if each["role"] == "assistant"]
    if not replies or "tool_use" not in _kinds(messages[replies[-1]]):
        return True
    first = replies[-1]
    for index in reversed(range(replies[-1])):
        if messages[index]["role"] == "assistant":
            first = index
        elif set(_kinds(messages[index])) != {"tool_result"}:
            break
    return _kinds(messages[first])[0] in _THINKING


def _kinds(message: Wire) -> list[JsonValue]:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return [block["type"] for block in blocks if isinstance(block, dict)]
