"""Claude model families (`families.toml`): limits, accepted request fields and prices.

Knows nothing of endpoints, keys or sessions, and imports no SDK. A model that the table does not
know is `UNKNOWN_FAMILY`, whose requests every endpoint accepts. A point release is never mapped to
its predecessor: 5.5 may reject fields that 5 accepts.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from pydantic import JsonValue

OFF = "off"
"""The thought level that turns thinking off."""

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Tokenizer = Literal["dense", "regular"]
"""`dense` makes about a third more tokens of the same text than others: Claude from 4.7 on."""

FIVE_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
THREE_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")

BUDGET_TOKENS: dict[str, int] = {"low": 4_000, "medium": 10_000, "high": 16_000}
"""Thinking budgets of the thought levels, for models with manual budgets. The documentation starts
complex tasks at 16,000, its example uses 10,000, and above 32,000 it advises against streaming."""


@frozen_dataclass
class Price:
    """US dollars per million tokens."""

    input_usd: float
    output_usd: float
    cache_read_usd: float
    cache_write_5m_usd: float
    cache_write_1h_usd: float


@frozen_dataclass
class LongPromptPrice:
    """Price of all tokens of a request whose prompt is larger than `above_tokens`."""

    above_tokens: int
    price: Price


@frozen_dataclass
class ModelFamily:
    """Limits, accepted request fields and price of one model.

    Attributes:
        name: The plain model id, without date; empty for `UNKNOWN_FAMILY`.
        context_window_tokens: Prompt and answer together.
        max_output_tokens: The largest `max_tokens`, thinking included.
        thinking: `none`; `budget`, a manual budget; `adaptive`; `always`, adaptive and never off.
        off: The `thinking.type` that turns thinking off; None if thinking cannot be turned off.
        efforts: The values of `output_config.effort`, mildest first; empty if it is rejected.
        default_effort: The effort that applies when none is sent.
        searches_web: Whether to offer the provider's own web search; off unless configured.
        tokenizer: How the model splits texts, for estimates.
        price: Price at the vendor's own API; None if unknown.
        long_prompt: Price of long prompts; None if there is no special price or it is unknown.
        fast: How fast mode is requested: by the field `speed`, or also with a beta header; None if
            the model has none.
        fast_price_factor: How many times as much everything costs in fast mode.
        purpose: What the vendor recommends it for; empty for models that are no longer recommended.
    """

    name: str
    context_window_tokens: int
    max_output_tokens: int
    thinking: Literal["none", "budget", "adaptive", "always"] = "none"
    off: Literal["disabled", "between_tools"] | None = None
    efforts: tuple[Effort, ...] = ()
    default_effort: Effort | None = None
    searches_web: bool = False
    tokenizer: Tokenizer = "dense"
    price: Price | None = None
    long_prompt: LongPromptPrice | None = None
    fast: Literal["field", "beta"] | None = None
    fast_price_factor: float = 2.0
    purpose: str = ""


UNKNOWN_FAMILY = ModelFamily(name="", context_window_tokens=200_000, max_output_tokens=8_192)
"""An unknown model: no optional field is sent. 8,192 is the largest output that every agent-capable
model since Claude 3.5 accepts; a larger `max_tokens` than allowed is a 400."""


@cache
def known_families() -> tuple[ModelFamily, ...]:
    """Return all known models, newest first, each merged with the rows that it derives from."""
    import tomllib

    document = tomllib.loads(Path(__file__).with_name("families.toml").read_text("utf-8"))
    rows = document["generations"] | document["models"]
    for row in rows.values():
        if "efforts" in row:
            row["efforts"] = tuple(row["efforts"])
        if "price" in row:
            row["price"] = Price(*row["price"])
        if "long_prompt" in row:
            above_tokens, *prices = row["long_prompt"]
            row["long_prompt"] = LongPromptPrice(above_tokens, Price(*prices))
        if "base" in row:  # it stands before this row and is complete
            row.update(rows[row.pop("base")] | row)
        row["off"] = row.get("off") or None
        row["fast"] = row.get("fast") or None
    return tuple(ModelFamily(name, **row) for name, row in document["models"].items())


ANSWER_TOKENS = 32_000
"""Tokens that are kept free for an answer in a large context window."""
ANSWER_SHARE = 4
"""A small context window keeps one part of this many free for the answer."""
WINDOW_MARGIN_TOKENS = 1_000


def answer_tokens(family: ModelFamily) -> int:
    """Return how many tokens of the context window must stay free for the answer."""
    share = family.context_window_tokens // ANSWER_SHARE
    return min(family.max_output_tokens, share, ANSWER_TOKENS)


def answer_limit(family: ModelFamily, prompt_tokens: int) -> int:
    """Return the longest answer to ask for: what the model and the rest of its window allow.

    Never less than `answer_tokens`, so that a prompt that leaves these free always fits; in a small
    window never more, because `prompt_tokens` is an estimate.
    """
    reserved = answer_tokens(family)
    if reserved < ANSWER_TOKENS:
        return reserved
    available = family.context_window_tokens - prompt_tokens - WINDOW_MARGIN_TOKENS
    return max(reserved, min(family.max_output_tokens, available))


# Looking up a row.
_LINE_FIRST_ID = re.compile(r"([a-z]+)((?:-(?:\d{1,2}|preview)\b)*)")  # sonnet-4-5-20250929
_VERSION_FIRST_ID = re.compile(r"(\d{1,2}(?:-\d{1,2})?)-([a-z]+)")  # 3-7-sonnet-latest
_DATE = re.compile(r"(?<!\d)\d{8}(?!\d)")


@lru_cache(maxsize=512)  # each turn looks up a dozen times; an endpoint has few models
def _parse_line_and_version(model_id: str) -> str | None:
    """Reduce a model id to its product line and full version, such as `sonnet-4-5`."""
    normalized = "-".join(["", *re.findall(r"[a-z0-9]+", model_id.lower())])
    _, found, rest = normalized.rpartition("-claude-")
    if not found:
        return None
    if old := _VERSION_FIRST_ID.match(rest):
        return f"{old[2]}-{old[1]}".removesuffix("-0")
    new = _LINE_FIRST_ID.match(rest)
    return f"{new[1]}{new[2]}".removesuffix("-0") if new else None


@cache
def _families_by_version() -> dict[str | None, ModelFamily]:
    return {_parse_line_and_version(family.name): family for family in known_families()}


def family_for(model_id: str) -> ModelFamily:
    """Return the family of a model id; `UNKNOWN_FAMILY` for an unknown one.

    Dates, cloud and gateway prefixes, revisions and suffixes (`us.anthropic.`, `anthropic/`,
    `@20250929`, `-v1:0`, `:thinking`) are ignored, and a dot in a version equals a dash. The full
    version must match, so that `claude-opus-5-9` is unknown instead of matching `claude-opus-5`.
    """
    version = _parse_line_and_version(model_id)
    return (
        UNKNOWN_FAMILY if version is None else _families_by_version().get(version, UNKNOWN_FAMILY)
    )


def known_window_tokens(model_id: str) -> int | None:
    """Return the context window of a model in the table; None for any other model."""
    family = family_for(model_id)
    return None if family is UNKNOWN_FAMILY else family.context_window_tokens


def display_name(family: ModelFamily) -> str:
    """Return the vendor's name of a known model: `Claude Opus 5.5` for `claude-opus-5-5`."""
    words = re.sub(r"(?<=\d)-(?=\d)", ".", family.name).split("-")
    return " ".join(word.capitalize() for word in words)


def description(family: ModelFamily) -> str:
    """Return purpose and price of a model, for pickers; empty if neither is known."""
    price = family.price
    parts = [family.purpose] if family.purpose else []
    if price is not None:
        amounts = f"{_dollars(price.input_usd)} in, {_dollars(price.output_usd)} out"
        parts.append(f"{amounts} per million tokens")
    return " · ".join(parts)


def describe_fast_mode(family: ModelFamily) -> str | None:
    """Return what fast mode of a model gives and costs, for pickers; None if it has none."""
    if family.fast is None:
        return None
    factor = family.fast_price_factor
    text = f"Up to 2.5 times as fast, at {factor:g} times the price"
    if family.price is None:
        return text
    prices = (family.price.input_usd * factor, family.price.output_usd * factor)
    return f"{text}: {_dollars(prices[0])} in, {_dollars(prices[1])} out per million tokens"


def _dollars(amount: float) -> str:
    return f"${amount:,.0f}" if amount == int(amount) else f"${amount:,.2f}"


def choose_default_model(ids: Sequence[str]) -> str | None:
    """Return the first known id of a list, preferring ids without a date; None if there is none."""
    known = [model_id for model_id in ids if family_for(model_id) is not UNKNOWN_FAMILY]
    undated = (model_id for model_id in known if not _DATE.search(model_id))
    return next(undated, known[0] if known else None)


# Deriving request fields.


def thought_levels(family: ModelFamily) -> tuple[str, ...]:
    """Return the thought levels to offer, mildest first; empty if the model does not think."""
    if family.thinking == "none":
        return ()
    levels = family.efforts or tuple(BUDGET_TOKENS)
    return (OFF, *levels) if family.off else levels


def default_thought_level(family: ModelFamily) -> str | None:
    """Return the default level: the model's own default effort, or `medium` for budgets."""
    return None if family.thinking == "none" else family.default_effort or "medium"


def closest_thought_level(family: ModelFamily, requested: str | None) -> str | None:
    """Return the wanted level, else the next milder one offered, else the mildest.

    A user's choice thus survives a change of model. None or an unknown level gives the default.
    """
    scale = (OFF, *FIVE_EFFORTS)
    offered = thought_levels(family)
    if requested not in scale or not offered:
        return default_thought_level(family)
    milder = [level for level in offered if scale.index(level) <= scale.index(requested)]
    return milder[-1] if milder else offered[0]


def thinking_fields(family: ModelFamily, effort: str | None) -> "dict[str, JsonValue]":
    """Return the `thinking` and `output_config` fields for a thought level.

    A level that the family lacks is replaced by the closest. A budget must be smaller than
    `max_tokens`. When thinking is off no effort is sent: the API rejects the highest efforts then.
    """
    level = closest_thought_level(family, effort)
    if level is None:
        return {}
    if level == OFF:
        return {"thinking": {"type": family.off}}
    fields: dict[str, JsonValue] = {"thinking": {"type": "adaptive", "display": "summarized"}}
    if family.thinking == "budget":
        fields["thinking"] = {"type": "enabled", "budget_tokens": BUDGET_TOKENS[level]}
    if family.efforts:
        fields["output_config"] = {"effort": level}
    return fields


def cost_usd(
    family: ModelFamily,
    input_tokens: int,
    output_tokens: int,
    cache_read_tokens: int,
    cache_write_5m_tokens: int,
    cache_write_1h_tokens: int,
) -> float | None:
    """Return the price of one request in US dollars; None if the price is unknown.

    `input_tokens` are the tokens neither read from the cache nor written to it. Price each request
    separately instead of summing usage first: long prompts can have their own price.
    """
    price = family.price
    prompt = input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens
    if family.long_prompt and prompt > family.long_prompt.above_tokens:
        price = family.long_prompt.price
    if price is None:
        return None
    millionths = (
        input_tokens * price.input_usd
        + output_tokens * price.output_usd
        + cache_read_tokens * price.cache_read_usd
        + cache_write_5m_tokens * price.cache_write_5m_usd
        + cache_write_1h_tokens * price.cache_write_1h_usd
    )
    return millionths / 1_000_000
