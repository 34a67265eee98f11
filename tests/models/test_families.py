import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.models.families import (
    BUDGET_TOKENS,
    UNKNOWN_FAMILY,
    LongPromptPrice,
    ModelFamily,
    Price,
    choose_default_model,
    closest_thought_level,
    cost_usd,
    default_thought_level,
    description,
    display_name,
    family_for,
    known_families,
    thinking_fields,
    thought_levels,
)
from tests.support.case_table import each_case

SDK_MODELS = (  # anthropic 2.12.0, types/model_param.py
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "claude-fable-5-1",
    "claude-opus-5-5",
    "claude-mythos-5-1",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-mythos-preview",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-5",
    "claude-opus-4-5-20251101",
    "claude-sonnet-4-5",
    "claude-sonnet-4-5-20250929",
)
STILL_MET = (
    "claude-opus-4-1",
    "claude-opus-4",
    "claude-sonnet-4",
    "claude-3-7-sonnet",
    "claude-3-5-haiku",
    "claude-3-haiku",
)

ALL_LEVELS = ("off", "low", "medium", "high", "xhigh", "max")
every_family = each_case("family", [UNKNOWN_FAMILY, *known_families()], ids=lambda row: row.name)
every_row = each_case("family", known_families(), ids=lambda row: row.name)


def named(name: str) -> ModelFamily:
    """The row of this name, found without the code under test."""
    return next(family for family in known_families() if family.name == name)


# Which family an id means.


@each_case("model_id", SDK_MODELS)
def test_every_model_named_by_the_sdk_has_a_row(model_id: str) -> None:
    undated = model_id.removesuffix("-20251001").removesuffix("-20251101")
    assert family_for(model_id) is named(undated.removesuffix("-20250929"))


@pytest.mark.parametrize("model_id", STILL_MET)
def test_models_still_served_by_other_providers_have_a_row(model_id: str) -> None:
    assert family_for(model_id) is named(model_id)


@every_row
def test_a_row_is_found_by_its_own_name(family: ModelFamily) -> None:
    assert family_for(family.name) is family


def test_the_table_lists_each_model_once_and_without_dates() -> None:
    names = [family.name for family in known_families()]
    assert len(set(names)) == len(names)
    assert [name for name in names if any(len(word) > 7 for word in name.split("-")[2:])] == []


SPELLINGS = {
    "claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
    "anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "us.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
    "global.anthropic.claude-opus-4-6-v1": "claude-opus-4-6",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-1"
    "-20250805-v1:0": "claude-opus-4-1",
    "anthropic/claude-sonnet-5-5": "claude-sonnet-5-5",
    "anthropic/claude-opus-5.5": "claude-opus-5-5",
    "openrouter/anthropic/claude-3.7-sonnet:thinking": "claude-3-7-sonnet",
    "claude-code/claude-fable-5-1": "claude-fable-5-1",
    "vertex_ai/claude-opus-4-8@default": "claude-opus-4-8",
    "claude-fable-5-2-thinking": "claude-fable-5-2",
    "claude-sonnet-4-6[1m]": "claude-sonnet-4-6",
    "Claude-Opus-5": "claude-opus-5",
    "claude-opus-4-20250514": "claude-opus-4",
    "claude-opus-4-0": "claude-opus-4",
    "claude-4-sonnet-20250514": "claude-sonnet-4",
    "claude-3-7-sonnet-latest": "claude-3-7-sonnet",
    "claude-3-5-haiku-20241022": "claude-3-5-haiku",
    "claude-3-haiku@20240307": "claude-3-haiku",
    "anthropic.claude-mythos-preview": "claude-mythos-preview",
}


@each_case(("model_id", "name"), SPELLINGS.items())
def test_dates_prefixes_and_suffixes_are_ignored(model_id: str, name: str) -> None:
    assert family_for(model_id) is named(name)


@pytest.mark.parametrize(
    "model_id",
    ["", "gpt-5.1-codex", "qwen3-coder", "claude", "claude-", "claude-2.1", "claude-instant-v1"],
)
def test_an_unknown_name_maps_to_the_plain_family(model_id: str) -> None:
    assert family_for(model_id) is UNKNOWN_FAMILY


@pytest.mark.parametrize(
    "model_id",
    ["claude-opus-5-9", "claude-opus-4-2", "claude-sonnet-6", "claude-mythos", "claude-3-opus"],
)
def test_another_version_is_not_confused_with_its_neighbour(model_id: str) -> None:
    assert family_for(model_id) is UNKNOWN_FAMILY


@given(st.text())
def test_any_text_maps_to_some_family(model_id: str) -> None:
    assert family_for(model_id) in (UNKNOWN_FAMILY, *known_families())


def test_a_plain_model_is_sent_no_optional_fields() -> None:
    assert family_for("anything") == ModelFamily(
        name="",
        context_window_tokens=200_000,
        max_output_tokens=8_192,
        thinking="none",
        off=None,
        efforts=(),
        default_effort=None,
        price=None,
        long_prompt=None,
    )


# What whole rows say: one per shape, spelled out.


def test_the_newest_fable_always_thinks_and_accepts_only_effort() -> None:
    assert family_for("claude-fable-5-2") == ModelFamily(
        name="claude-fable-5-2",
        context_window_tokens=1_000_000,
        max_output_tokens=128_000,
        thinking="always",
        off=None,
        efforts=("low", "medium", "high", "xhigh", "max"),
        default_effort="high",
        price=Price(8.0, 40.0, 0.20, 10.0, 16.0),
        long_prompt=None,
        fast="field",
        fast_price_factor=2.0,
        purpose="For the hardest and longest tasks",
    )


def test_the_newest_haiku_has_two_prices() -> None:
    assert family_for("claude-haiku-5-5") == ModelFamily(
        name="claude-haiku-5-5",
        context_window_tokens=1_000_000,
        max_output_tokens=128_000,
        thinking="adaptive",
        off="disabled",
        efforts=("low", "medium", "high", "xhigh", "max"),
        default_effort="medium",
        price=Price(0.10, 0.50, 0.01, 0.125, 0.20),
        long_prompt=LongPromptPrice(100_000, Price(0.50, 2.50, 0.05, 0.625, 1.0)),
        purpose="Fastest, for simple tasks",
    )


def test_a_family_with_a_thinking_budget_accepts_no_effort() -> None:
    assert family_for("claude-sonnet-4-5-20250929") == ModelFamily(
        name="claude-sonnet-4-5",
        context_window_tokens=200_000,
        max_output_tokens=64_000,
        thinking="budget",
        off="disabled",
        efforts=(),
        default_effort=None,
        tokenizer="regular",
        price=Price(3.0, 15.0, 0.30, 3.75, 6.0),
        long_prompt=None,
    )


def names_where(**facts: object) -> set[str]:
    """The families that say all of this."""
    return {
        family.name
        for family in known_families()
        if all(getattr(family, fact) == value for fact, value in facts.items())
    }


FABLES = {f"claude-{line}-5{point}" for line in ("fable", "mythos") for point in ("", "-1", "-2")}


def test_thinking_cannot_be_disabled_where_the_documentation_says_so() -> None:
    assert names_where(thinking="always") == {*FABLES, "claude-opus-5-5", "claude-mythos-preview"}


def test_only_sonnet_5_5_disables_thinking_between_tools() -> None:
    assert names_where(off="between_tools") == {"claude-sonnet-5-5"}


def test_effort_defaults_to_medium_on_two_families_only() -> None:
    assert names_where(default_effort="medium") == {"claude-opus-5-5", "claude-haiku-5-5"}


# What holds in every row.


@every_family
def test_a_thinking_budget_leaves_space_for_the_answer(family: ModelFamily) -> None:
    if family.thinking == "budget":
        assert min(BUDGET_TOKENS.values()) >= 1_024
        assert max(BUDGET_TOKENS.values()) <= family.max_output_tokens / 2


@every_family
def test_the_output_limit_is_below_the_context_window(family: ModelFamily) -> None:
    assert family.max_output_tokens < family.context_window_tokens


@every_family
def test_the_default_level_is_one_of_those_offered(family: ModelFamily) -> None:
    offered = thought_levels(family)
    assert default_thought_level(family) in (offered or (None,))
    assert family.default_effort in (family.efforts or (None,))
    assert [level for level in ALL_LEVELS if level in offered] == list(offered)


@every_family
def test_facts_about_thinking_are_consistent(family: ModelFamily) -> None:
    assert (family.off is None) == (family.thinking in {"none", "always"})
    assert family.efforts or family.thinking in {"none", "budget"}


READS = {  # times the input price, where it is not 0.1
    **dict.fromkeys(FABLES - {"claude-fable-5", "claude-mythos-5"}, 0.025),
    "claude-opus-5-5": 0.05,
    "claude-sonnet-5-5": 0.05,
    "claude-3-haiku": 0.12,
}
WRITES = {"claude-3-haiku": 1.2}  # times the input price, for five minutes, where it is not 1.25


@every_row
def test_cache_prices_are_multiples_of_the_input_price(family: ModelFamily) -> None:
    assert family.price is not None
    prices = [family.price, *([family.long_prompt.price] if family.long_prompt else [])]
    for price in prices:
        once = price.input_usd
        assert price.cache_read_usd == pytest.approx(READS.get(family.name, 0.1) * once)
        assert price.cache_write_5m_usd == pytest.approx(WRITES.get(family.name, 1.25) * once)
        assert price.cache_write_1h_usd == pytest.approx(2 * once)
        assert price.output_usd == pytest.approx(5 * once)


# The first model of a list.

LISTS: dict[str, tuple[list[str], str | None]] = {
    "the first that is known": (
        ["gpt-5", "claude-opus-5-9", "claude-sonnet-5-5", "claude-opus-5-5"],
        "claude-sonnet-5-5",
    ),
    "an undated one behind a dated one": (
        ["claude-haiku-4-5-20251001", "claude-sonnet-4-6"],
        "claude-sonnet-4-6",
    ),
    "a dated one when all are dated": (
        ["mistral", "claude-sonnet-4-5@20250929", "claude-haiku-4-5@20251001"],
        "claude-sonnet-4-5@20250929",
    ),
    "the endpoint's own spelling": (["anthropic.claude-opus-5"], "anthropic.claude-opus-5"),
    "none when none is known": (["mistral", "gpt-5"], None),
    "none of none": ([], None),
}


@pytest.mark.parametrize(("ids", "chosen"), LISTS.values(), ids=LISTS)
def test_the_default_model_is_chosen_as_expected(ids: list[str], chosen: str | None) -> None:
    assert choose_default_model(ids) == chosen


# Thought levels and the fields they become.

ADAPTIVE: JsonValue = {"type": "adaptive", "display": "summarized"}
FIELDS: dict[str, tuple[str, str | None, dict[str, JsonValue]]] = {
    "an effort": (
        "claude-opus-4-8",
        "xhigh",
        {"thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}},
    ),
    "the default effort when nothing was chosen": (
        "claude-opus-5-5",
        None,
        {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}},
    ),
    "the default effort for what is no level": (
        "claude-opus-5-5",
        "ultra",
        {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}},
    ),
    "off, and no effort that would refuse it": (
        "claude-opus-5",
        "off",
        {"thinking": {"type": "disabled"}},
    ),
    "off, where it has another name": (
        "claude-sonnet-5-5",
        "off",
        {"thinking": {"type": "between_tools"}},
    ),
    "the mildest effort where off is impossible": (
        "claude-fable-5-2",
        "off",
        {"thinking": ADAPTIVE, "output_config": {"effort": "low"}},
    ),
    "the next milder effort where one is missing": (
        "claude-sonnet-4-6",
        "xhigh",
        {"thinking": ADAPTIVE, "output_config": {"effort": "high"}},
    ),
    "a budget": (
        "claude-sonnet-4-5",
        "medium",
        {"thinking": {"type": "enabled", "budget_tokens": 10_000}},
    ),
    "the largest budget for more than there is": (
        "claude-haiku-4-5",
        "max",
        {"thinking": {"type": "enabled", "budget_tokens": 16_000}},
    ),
    "a budget and an effort on the one that takes both": (
        "claude-opus-4-5",
        "low",
        {
            "thinking": {"type": "enabled", "budget_tokens": 4_000},
            "output_config": {"effort": "low"},
        },
    ),
    "nothing where nothing thinks": ("claude-3-haiku", "high", {}),
    "nothing to a stranger": ("qwen3-coder", "high", {}),
}


@each_case(("model_id", "level", "fields"), FIELDS.values(), ids=FIELDS)
def test_a_thought_level_maps_to_request_fields(
    model_id: str, level: str | None, fields: dict[str, JsonValue]
) -> None:
    assert thinking_fields(family_for(model_id), level) == fields


LEVELS = {
    "claude-fable-5-2": ("low", "medium", "high", "xhigh", "max"),
    "claude-sonnet-5-5": ("off", "low", "medium", "high", "xhigh", "max"),
    "claude-mythos-preview": ("low", "medium", "high", "max"),
    "claude-opus-4-6": ("off", "low", "medium", "high", "max"),
    "claude-haiku-4-5": ("off", "low", "medium", "high"),
    "claude-3-5-haiku": (),
    "gpt-5": (),
}


@pytest.mark.parametrize(("model_id", "levels"), LEVELS.items(), ids=LEVELS)
def test_the_offered_levels_are_as_expected(model_id: str, levels: tuple[str, ...]) -> None:
    assert thought_levels(family_for(model_id)) == levels


@every_family
def test_an_offered_level_is_unchanged(family: ModelFamily) -> None:
    offered = thought_levels(family)
    assert [closest_thought_level(family, level) for level in offered] == list(offered)


@every_family
@each_case("level", [None, *ALL_LEVELS])
def test_no_level_sends_fields_the_family_rejects(family: ModelFamily, level: str | None) -> None:
    fields = thinking_fields(family, level)
    thinking = fields.get("thinking", {})
    effort = fields.get("output_config", {})
    assert isinstance(thinking, dict)
    assert isinstance(effort, dict)
    assert effort.get("effort") in (None, *family.efforts)
    assert ("budget_tokens" in thinking) <= (family.thinking == "budget")
    assert (
        thinking.get("type")
        in {
            "none": {None},
            "budget": {"enabled", "disabled"},
            "adaptive": {"adaptive", family.off},
            "always": {"adaptive"},
        }[family.thinking]
    )


# Cost.


def test_every_kind_of_token_has_its_price() -> None:
    million = 1_000_000
    family = family_for("claude-opus-5-5")
    kinds = [[million * (index == kind) for index in range(5)] for kind in range(5)]
    assert [cost_usd(family, *tokens) for tokens in kinds] == [4.0, 20.0, 0.2, 5.0, 8.0]
    assert cost_usd(family, *[million] * 5) == pytest.approx(37.2)
    assert cost_usd(family, 0, 0, 0, 0, 0) == 0


def test_a_long_prompt_raises_the_price_of_all_its_tokens() -> None:
    family = family_for("claude-haiku-5-5")
    just_short = cost_usd(family, 25_000, 1_000, 25_000, 25_000, 25_000)
    just_long = cost_usd(family, 25_000, 1_000, 25_001, 25_000, 25_000)
    assert just_short == pytest.approx(0.0025 + 0.0005 + 0.00025 + 0.003125 + 0.005)
    assert just_long == pytest.approx(0.0125 + 0.0025 + 0.00125005 + 0.015625 + 0.025)


def test_output_does_not_count_toward_the_long_prompt_threshold() -> None:
    assert cost_usd(family_for("claude-haiku-5-5"), 1, 128_000, 0, 0, 0) == pytest.approx(0.0640001)


def test_a_model_without_a_price_has_no_cost() -> None:
    assert cost_usd(UNKNOWN_FAMILY, 1, 1, 1, 1, 1) is None
    assert cost_usd(replace(named("claude-opus-5"), price=None), 0, 0, 0, 0, 0) is None


# The price of the module itself.


def test_importing_the_table_loads_neither_an_sdk_nor_a_validator() -> None:
    script = (
        "import sys, acp_server.models.families;"
        "print(*{'anthropic', 'pydantic', 'anyio', 'httpx'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_a_model_is_described_by_its_purpose_and_price() -> None:
    described = {
        family.name: (display_name(family), description(family)) for family in known_families()
    }
    assert described["claude-opus-5-5"] == (
        "Claude Opus 5.5",
        "For complex work · $4 in, $20 out per million tokens",
    )
    assert described["claude-haiku-5-5"] == (
        "Claude Haiku 5.5",
        "Fastest, for simple tasks · $0.10 in, $0.50 out per million tokens",
    )
    assert described["claude-3-7-sonnet"][0] == "Claude 3.7 Sonnet"
    assert description(UNKNOWN_FAMILY) == ""
