"""Whole prompts, read as prose: what they say, how large they are, that they never vary.

After a change of wording, write them anew and read the diff:
`uv run python -m tests.prompt_engine.golden.rewrite`
"""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from prompt_engine.assemble import build_prompt
from prompt_engine.facts import MachineFacts, PromptFacts
from prompt_engine.report import estimate_tokens
from prompt_engine.section import SECTION_SEPARATOR
from tests.prompt_engine.golden.rewrite import EXPECTED
from tests.prompt_engine.golden.situations import (
    ALL_TOOLS,
    BASIC,
    FULL,
    HI,
    SITUATIONS,
    render_situation,
)
from tests.support.case_table import each_case

ROOT = Path(__file__).parents[3]

MOST_BYTES_FOR_HI = 3_500
MOST_BYTES_OF_GUIDANCE = 5_000
MOST_SECONDS_TO_BUILD = 0.001


@each_case("name", SITUATIONS)
def test_each_prompt_matches_its_golden_file(name: str) -> None:
    assert render_situation(SITUATIONS[name]) == (EXPECTED / f"{name}.md").read_text("utf-8")


def test_every_golden_file_has_a_situation() -> None:
    assert {path.stem for path in EXPECTED.glob("*.md")} == set(SITUATIONS)


@each_case("name", SITUATIONS)
def test_the_report_adds_up_to_the_prompt(name: str) -> None:
    prompt = build_prompt(SITUATIONS[name])
    report = prompt.report
    assert report.characters == len(prompt.text)
    assert report.estimated_tokens >= estimate_tokens(prompt.text) - len(report.entries)
    for tier in ("stable", "context", "volatile"):
        parts = [entry.characters for entry in report.entries if entry.tier == tier]
        shown = [characters for characters in parts if characters]
        joints = len(SECTION_SEPARATOR) * max(0, len(shown) - 1)
        assert sum(shown) + joints == len(getattr(prompt, tier))


@each_case("name", SITUATIONS)
def test_parts_are_stripped_and_separated_by_one_blank_line(name: str) -> None:
    text = build_prompt(replace(SITUATIONS[name], context_files=())).text
    assert text == text.strip()
    assert "\n\n\n" not in text


def folder_in_order(folder: Path, names: list[str]) -> Path:
    folder.mkdir()
    (folder / ".github" / "workflows").mkdir(parents=True)
    for name in names:
        (folder / name).write_text(CONTENTS[name])
    return folder


CONTENTS = {
    "package.json": '{"scripts": {"lint": "x", "test": "y"}}',
    "pnpm-lock.yaml": "",
    "Makefile": "check:\n\ttrue\n",
    "Cargo.toml": "",
    ".github/workflows/b.yml": "    - run: make test\n",
    ".github/workflows/a.yml": "    - run: tox\n",
}


def digests(folder: Path, seed: str, locale: str) -> list[str]:
    environment = {"PATH": os.defpath, "PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale}
    command = (sys.executable, "-m", "tests.prompt_engine.golden.digest", str(folder))
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return done.stdout.decode().split()


def test_hash_seed_locale_and_file_order_do_not_change_the_prompt(tmp_path: Path) -> None:
    names = list(CONTENTS)
    first = folder_in_order(tmp_path / "first", names)
    second = folder_in_order(tmp_path / "second", names[::-1])
    lines = digests(first, "1", "C")
    assert len(lines) == len(SITUATIONS) + 1
    assert lines == digests(second, "2", "de_DE.UTF-8")


def test_the_prompt_for_a_greeting_is_small() -> None:
    assert len(build_prompt(HI).text.encode()) <= MOST_BYTES_FOR_HI


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.2", "google/gemini-3-pro", "glm-5"])
def test_the_stable_tier_is_small_even_with_every_tool(model: str) -> None:
    facts = replace(
        BASIC,
        model=model,
        tools=ALL_TOOLS,
        environment=MachineFacts("macOS 15.1", "arm64", "zsh", profile="default"),
    )
    assert len(build_prompt(facts).stable.encode()) <= MOST_BYTES_OF_GUIDANCE


def test_an_endpoint_without_content_blocks_costs_little_more() -> None:
    with_marker = SITUATIONS["gpt_at_an_endpoint_without_blocks"]
    with_block = replace(with_marker, steering=None)
    assert len(build_prompt(with_marker).stable) - len(build_prompt(with_block).stable) < 150


def test_tiers_before_a_changed_tier_stay_byte_identical() -> None:
    tomorrow: PromptFacts = replace(FULL, day=FULL.day.replace(day=22))
    assert build_prompt(tomorrow).stable == build_prompt(FULL).stable
    assert build_prompt(tomorrow).context == build_prompt(FULL).context
    elsewhere = replace(FULL, context_files=())
    assert build_prompt(elsewhere).stable == build_prompt(FULL).stable


def seconds_to_build(facts: PromptFacts) -> float:
    started = time.perf_counter()
    build_prompt(facts)
    return time.perf_counter() - started


def test_a_prompt_is_built_quickly_once_its_texts_are_loaded() -> None:
    assert min(seconds_to_build(FULL) for _ in range(50)) < MOST_SECONDS_TO_BUILD
