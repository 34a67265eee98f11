"""Models of the fake server and the parameters that each accepts, one row per model.

Sources of the figures: context windows, output limits, `thinking.type` values, default displays and
default efforts from the model pages and the thinking pages of platform.claude.com, the smallest
cacheable prefixes from its prompt caching page, names and dates from the SDK's `model_param.py`
and the release notes. Rows marked (assumed) have a figure that no page states.

This module does not depend on requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

ModelLine = Literal["haiku", "sonnet", "opus", "fable"]
ThinkingType = Literal["adaptive", "enabled", "disabled", "between_tools"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
Display = Literal["summarized", "omitted"]
Lifecycle = Literal["active", "deprecated", "retired"]

EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
EFFORTS_WITHOUT_THINKING: frozenset[Effort] = frozenset({"low", "medium", "high"})


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Limits and accepted parameters of one model."""

    id: str
    display_name: str
    line: ModelLine
    released_on: str
    """Release day as `YYYY-MM-DD`."""
    aliases: tuple[str, ...] = ()
    lifecycle: Lifecycle = "active"
    window_tokens: int = 1_000_000
    output_limit_tokens: int = 128_000
    cache_minimum_tokens: int = 512
    """Smallest prefix that is cached."""
    thinking_types: frozenset[ThinkingType] = frozenset({"adaptive"})
    thinks_by_default: bool = True
    """Whether the model thinks if a request has no `thinking` field."""
    default_display: Display = "omitted"
    efforts: frozenset[Effort] = frozenset(EFFORTS)
    default_effort: Effort = "high"
    takes_every_effort_without_thinking: bool = False
    takes_sampling: bool = False
    takes_prefill: bool = False
    takes_forced_tool_choice: bool = False
    takes_system_messages: bool = True
    binds_thinking: bool = True
    """Whether a thinking block is valid only after the same tools, system and messages as when it
    was created."""

    fast_mode: Literal["field", "beta"] | None = None
    """How fast mode is requested: by `speed` alone, or also with the beta header."""

    def has_name(self, name: str) -> bool:
        """Return whether `name` is the id or an alias."""
        return name == self.id or name in self.aliases


FABLE_5_2 = ModelSpec(
    "claude-fable-5-2", "Claude Fable 5.2", "fable", "2026-11-09", fast_mode="field"
)  # cache: assumed
FABLE_5 = ModelSpec(
    "claude-fable-5",
    "Claude Fable 5",
    "fable",
    "2026-06-09",
    takes_forced_tool_choice=True,
    binds_thinking=False,
)
OPUS_5_5 = ModelSpec(
    "claude-opus-5-5",
    "Claude Opus 5.5",
    "opus",
    "2026-09-22",
    default_effort="medium",
    fast_mode="field",
)
SONNET_5_5 = ModelSpec(
    "claude-sonnet-5-5",
    "Claude Sonnet 5.5",
    "sonnet",
    "2026-09-28",
    thinking_types=frozenset({"adaptive", "between_tools"}),
)
HAIKU_5_5 = ModelSpec(
    "claude-haiku-5-5",
    "Claude Haiku 5.5",
    "haiku",
    "2026-10-07",
    thinking_types=frozenset({"adaptive", "disabled"}),
    default_effort="medium",
    takes_forced_tool_choice=True,  # not documented as refusing it
    takes_system_messages=True,  # assumed
)
OPUS_5 = ModelSpec(
    "claude-opus-5",
    "Claude Opus 5",
    "opus",
    "2026-07-24",
    thinking_types=frozenset({"adaptive", "disabled"}),
    takes_forced_tool_choice=True,
    binds_thinking=False,
    fast_mode="beta",
)
SONNET_5 = replace(
    OPUS_5,
    id="claude-sonnet-5",
    display_name="Claude Sonnet 5",
    line="sonnet",
    released_on="2026-06-30",
    cache_minimum_tokens=1_024,
    takes_every_effort_without_thinking=True,
    takes_system_messages=False,
    fast_mode=None,
)
OPUS_4_8 = replace(
    OPUS_5,
    id="claude-opus-4-8",
    display_name="Claude Opus 4.8",
    released_on="2026-05-28",
    cache_minimum_tokens=1_024,
    thinks_by_default=False,
    takes_every_effort_without_thinking=True,
)
OPUS_4_7 = replace(
    OPUS_4_8,
    id="claude-opus-4-7",
    display_name="Claude Opus 4.7",
    released_on="2026-04-16",
    cache_minimum_tokens=2_048,
    takes_system_messages=False,
    fast_mode=None,
)
OPUS_4_6 = replace(
    OPUS_4_7,
    id="claude-opus-4-6",
    display_name="Claude Opus 4.6",
    released_on="2026-02-05",
    cache_minimum_tokens=4_096,
    thinking_types=frozenset({"adaptive", "enabled", "disabled"}),
    default_display="summarized",
    efforts=frozenset({"low", "medium", "high", "max"}),
    takes_sampling=True,
)
SONNET_4_6 = replace(
    OPUS_4_6,
    id="claude-sonnet-4-6",
    display_name="Claude Sonnet 4.6",
    line="sonnet",
    released_on="2026-02-17",
    cache_minimum_tokens=1_024,
)
OPUS_4_5 = replace(
    OPUS_4_6,
    id="claude-opus-4-5-20251101",
    display_name="Claude Opus 4.5",
    released_on="2025-11-24",
    aliases=("claude-opus-4-5",),
    window_tokens=200_000,
    output_limit_tokens=64_000,
    thinking_types=frozenset({"enabled", "disabled"}),
    efforts=frozenset({"low", "medium", "high"}),
    takes_prefill=True,
)
HAIKU_4_5 = replace(
    OPUS_4_5,
    id="claude-haiku-4-5-20251001",
    display_name="Claude Haiku 4.5",
    line="haiku",
    released_on="2025-10-15",
    aliases=("claude-haiku-4-5",),
    efforts=frozenset(),
)
SONNET_4_5 = replace(
    HAIKU_4_5,
    id="claude-sonnet-4-5-20250929",
    display_name="Claude Sonnet 4.5",
    line="sonnet",
    released_on="2025-09-29",
    aliases=("claude-sonnet-4-5",),
    cache_minimum_tokens=1_024,
)
OPUS_4_1 = replace(
    SONNET_4_5,
    id="claude-opus-4-1-20250805",
    display_name="Claude Opus 4.1",
    line="opus",
    released_on="2025-08-05",
    aliases=("claude-opus-4-1",),
    lifecycle="retired",
    output_limit_tokens=32_000,
)

MODEL_SPECS: tuple[ModelSpec, ...] = (
    FABLE_5_2,
    HAIKU_5_5,
    SONNET_5_5,
    OPUS_5_5,
    OPUS_5,
    SONNET_5,
    FABLE_5,
    OPUS_4_8,
    OPUS_4_7,
    SONNET_4_6,
    OPUS_4_6,
    OPUS_4_5,
    HAIKU_4_5,
    SONNET_4_5,
    OPUS_4_1,
)
"""Newest first, the order of `GET /v1/models`."""


def find_model_spec(name: str, families: Sequence[ModelSpec] = MODEL_SPECS) -> ModelSpec | None:
    """Return the model with this id or alias, or None if it is unknown or retired."""
    known = (each for each in families if each.lifecycle != "retired")
    return next((each for each in known if each.has_name(name)), None)
