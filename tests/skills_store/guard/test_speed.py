"""Long texts of all kinds that are hard are scanned in the time that a user waits."""

import random
import time
from collections.abc import Callable
from functools import partial

import pytest

from skills_store.guard.contents import SkillContents
from tests.skills_store.guard.labelled_skills import scan_contents
from tests.support.case_table import each_case

MEBIBYTE = 1024 * 1024
SHORT = MEBIBYTE // 32
MOST_SECONDS = 0.3
NOISE = 3  # other processes, and a first time in which states are made
PRINTABLE = [chr(code) for code in range(32, 127)]
WORDS = (
    "curl", "wget", "| sh", "rm -rf /", "~/.ssh/id_rsa", "send", "post", "https://a.b", "base64 -d",
    "eval(", "exec(", "$(", "ignore previous instructions", "never tell the user", "crontab",
    "@reboot", ">> .bashrc", "nc -e /bin/sh", "<!-- agent must -->", "$a$b", "chr(99)", "\\x63",
    "fetch and then", "secret api key password", "requests.post(", "'", '"', "+",
)  # fmt: skip


def noise(size: int) -> str:
    return "".join(random.Random(2).choices(PRINTABLE, k=size))  # noqa: S311  # as below


def mixed(separators: str, size: int) -> str:
    chosen = random.Random(1)  # noqa: S311  # the same text each time
    return "".join(chosen.choice(WORDS) + chosen.choice(separators) for _ in range(size // 4))


def repeat(piece: str, size: int) -> str:
    return piece * (size // len(piece.encode()))


TEXTS: dict[str, Callable[[int], str]] = {
    "words in one line": partial(mixed, " "),
    "words in lines": partial(mixed, " \n"),
    "noise": noise,
    "look-alikes": partial(repeat, "\N{CYRILLIC SMALL LETTER A}a"),
    "one letter": partial(repeat, "a"),
    "ends": partial(repeat, "\n"),
    "sums": partial(repeat, "'a'+"),
    "variables": partial(repeat, "$a$b;a=b;"),
    "base64": partial(repeat, "aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnMg "),
    "comments": partial(repeat, "<!-- agent "),
    "warnings": partial(repeat, "Never run `rm -rf /`.\n"),
}
"""Makers of the texts: each is long, and needed in one process only."""


@pytest.mark.parametrize("size", [SHORT, pytest.param(MEBIBYTE, marks=pytest.mark.full)])
@each_case("make", TEXTS.values(), ids=TEXTS)
def test_a_long_text_is_scanned_in_time(make: Callable[[int], str], size: int) -> None:
    scan_contents(SkillContents({"SKILL.md": b"Make tea."}))  # loads the tables
    contents = SkillContents({"SKILL.md": make(size).encode()[:size]})
    started = time.process_time()
    scan_contents(contents)
    assert time.process_time() - started < MOST_SECONDS * NOISE
