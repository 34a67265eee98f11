"""How much of a text is shown, and where it is cut."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompt_engine.truncation import (
    TruncatedText,
    file_character_limit,
    share_limit,
    truncate,
    truncation_marker,
)
from tests.support.user_texts import CHARACTERS_SHOWN

FAMILY = "👨\u200d👩\u200d👧"
FLAGS = "🇩🇪🇫🇷🇮🇹"
TEXTS = st.text(
    st.sampled_from(
        ["a", "\n", "\r", "é", "e", "\u0301", "\u200d", "👍", "🏽", "🇩", "\ud83d", "\ude00"]
    )
)


@pytest.mark.parametrize(
    ("window_tokens", "explicit", "cap"),
    [
        pytest.param(None, None, 20_000, id="nothing is known"),
        pytest.param(100_000, None, 20_000, id="a small window does not lower it"),
        pytest.param(200_000, None, 30_000, id="a window raises it"),
        pytest.param(10_000_000, None, 500_000, id="a huge window does not raise it for ever"),
        pytest.param(200_000, 1_000, 1_000, id="a setting wins"),
        pytest.param(None, 900_000, 900_000, id="a setting may be higher than any window"),
        pytest.param(None, 0, 0, id="a setting of nothing"),
        pytest.param(None, -1, 0, id="a setting that makes no sense"),
    ],
)
def test_each_file_has_a_cap(window_tokens: int | None, explicit: int | None, cap: int) -> None:
    assert file_character_limit(window_tokens, explicit) == cap


@pytest.mark.parametrize(
    ("lengths", "limits"),
    [
        pytest.param([], (), id="none"),
        pytest.param([40, 60], (40, 60), id="all fit"),
        pytest.param([40, 70], (30, 70), id="the farthest is cut first"),
        pytest.param([40, 50, 100], (0, 0, 100), id="the nearest takes all there is"),
        pytest.param([40, 200], (0, 100), id="the nearest is cut last"),
    ],
)
def test_files_of_a_chain_share_a_cap(lengths: list[int], limits: tuple[int, ...]) -> None:
    assert share_limit(lengths, 100) == limits


@given(st.lists(st.integers(0, 300)), st.integers(0, 500))
def test_shared_limits_never_exceed_the_cap_or_a_file(lengths: list[int], cap: int) -> None:
    limits = share_limit(lengths, cap)
    assert sum(limits) == min(cap, sum(lengths))
    assert all(limit <= length for limit, length in zip(limits, lengths, strict=True))


def test_a_text_within_its_limit_is_unchanged() -> None:
    assert truncate("abc", 3, "x.md") == TruncatedText("abc", 3, 3)


def test_a_long_text_keeps_seven_tenths_head_and_two_tenths_tail() -> None:
    cut = truncate("a" * 800 + "z" * 400, 1_000, "x.md")
    marker = f"[… 900 of 1,200 {CHARACTERS_SHOWN}; read x.md for the rest …]"
    assert cut == TruncatedText(f"{'a' * 700}\n\n{marker}\n\n{'z' * 200}", 900, 1_200)


def test_with_a_limit_of_zero_only_the_marker_remains() -> None:
    assert truncate("abc", 0, "x.md") == TruncatedText(truncation_marker(0, 3, "x.md"), 0, 3)


@given(TEXTS, st.integers(0, 60))
def test_a_truncated_text_is_head_marker_and_tail_within_the_limit(text: str, limit: int) -> None:
    cut = truncate(text, limit, "x.md")
    if len(text) <= limit:
        assert cut == TruncatedText(text, len(text), len(text))
        return
    marker = truncation_marker(cut.kept_characters, len(text), "x.md")
    before, behind = cut.text.split(marker)
    head, tail = before.removesuffix("\n\n"), behind.removeprefix("\n\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) <= limit * 0.7
    assert len(tail) <= limit * 0.2
    assert len(cut.text) <= limit + len(marker) + 4


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param("e\u0301", id="a letter and its accent"),
        pytest.param("a\u0300\u0301\u0302", id="a letter and three accents"),
        pytest.param("👍🏽", id="a skin tone"),
        pytest.param(FAMILY, id="a family"),
        pytest.param("🇩🇪", id="a flag"),
        pytest.param("\ud83d\ude00", id="halves of a character"),
        pytest.param("\r\n", id="a line end"),
        pytest.param("\u1112\u1161\u11ab", id="Hangul in parts"),
    ],
)
@pytest.mark.parametrize("shift", range(8))
def test_a_grapheme_cluster_is_not_split(cluster: str, shift: int) -> None:
    text = "x" * shift + cluster * 100
    cut = truncate(text, 100, "x.md")
    head, _, rest = cut.text.partition("\n\n[")
    tail = rest.partition("]\n\n")[2]
    assert (len(head) - shift) % len(cluster) == 0
    assert len(tail) % len(cluster) == 0


def test_flags_are_split_only_between_pairs() -> None:
    head = truncate(FLAGS * 40, 51, "x.md").text.partition("\n\n[")[0]
    assert len(head) == 34


def test_a_long_run_of_combining_accents_is_split() -> None:
    text = "a" + "\u0301" * 1_000
    assert unicodedata.combining("\u0301")
    assert truncate(text, 500, "x.md").kept_characters == 450
