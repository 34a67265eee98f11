"""Model families of models outside the Claude table, derived from their ids and endpoint lists.

They have fewer facts than the Claude families: a price only if the endpoint lists one, and an
assumed context window if no source knows it.
"""

import re
from collections.abc import Callable
from dataclasses import astuple, replace

from acp_server.models.access import ListedModel
from acp_server.models.families import (
    ANSWER_TOKENS,
    THREE_EFFORTS,
    ModelFamily,
    Price,
    family_for,
)
from acp_server.startup.fast_dataclass import frozen_dataclass

ASSUMED_WINDOW_TOKENS = 200_000
_REASONING_ID = re.compile(r"(?:^|/)(?:gpt-5|o[134](?:$|-)|codex|gpt-oss|gemini-(?:2\.5|[3-9]))")
_FAST_ID = re.compile(r"-fast(?:$|[@:\[])")
_NON_REASONING_ID = re.compile(r"gpt-5[^/]*chat")


@frozen_dataclass
class ModelFacts:
    """Context windows from the configuration and from the table of known windows."""

    lookup_window: Callable[[str], int | None]
    """Looks up a model's context window in the table; None if it is unknown."""
    configured_model: str | None = None
    configured_window_tokens: int | None = None
    """The context window of the configured model, or of all models if none is configured."""

    def window_tokens(self, model_id: str) -> int | None:
        """Return a model's context window without asking its endpoint; None if unknown."""
        return self.configured_window(model_id) or self.lookup_window(model_id)

    def configured_window(self, model_id: str) -> int | None:
        """Return a model's configured context window, if there is one."""
        is_configured_model = self.configured_model in {None, model_id}
        return self.configured_window_tokens if is_configured_model else None


def openai_compatible_family(
    model_id: str, facts: ModelFacts, listed: ListedModel | None
) -> ModelFamily:
    """Return the family of a model at an OpenAI-compatible endpoint, as far as it is known."""
    claude = family_for(model_id)
    window = facts.configured_window(model_id) or (listed and listed.window_tokens)
    window = window or facts.lookup_window(model_id) or ASSUMED_WINDOW_TOKENS
    name = model_id.lower()
    family = ModelFamily(
        name=model_id,
        context_window_tokens=window,
        max_output_tokens=(listed and listed.output_tokens) or claude.max_output_tokens,
        tokenizer=claude.tokenizer if "claude" in name else "regular",
        price=listed.price if listed else None,
        purpose=claude.purpose,
    )
    has_efforts = listed.has_efforts if listed else None
    if has_efforts is None:
        has_efforts = _REASONING_ID.search(name) and not _NON_REASONING_ID.search(name)
    if not has_efforts:
        return family
    return replace(
        family,
        # Reasoning is part of the answer, so a model without a known limit needs more for it.
        max_output_tokens=max(family.max_output_tokens, ANSWER_TOKENS)
        if listed is None or listed.output_tokens is None
        else family.max_output_tokens,
        thinking="always",
        efforts=THREE_EFFORTS,
        default_effort="medium",
    )


def messages_api_family(
    model_id: str, facts: ModelFacts, listed: ListedModel | None
) -> ModelFamily:
    """Return the family of a model at an endpoint of the Messages API."""
    family = family_for(model_id)
    configured = facts.configured_window(model_id)
    window = configured or (listed and listed.window_tokens) or family.context_window_tokens
    output = (listed and listed.output_tokens) or family.max_output_tokens
    if _FAST_ID.search(model_id.lower()):  # of a gateway: it is fast without being asked
        factor = family.fast_price_factor
        price = family.price and Price(*(factor * each for each in astuple(family.price)))
        family = replace(family, fast=None, price=price)
    return replace(
        family,
        context_window_tokens=window,
        max_output_tokens=output,
        # A gateway's other models; a Claude that the table does not know has the newest tokenizer.
        tokenizer=family.tokenizer if "claude" in model_id.lower() else "regular",
    )
