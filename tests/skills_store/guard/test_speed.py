"""A mebibyte of whatever is hard takes no longer than the user waits gladly."""

import random
import time
from collections.abc import Callable

from skills_store.guard.contents import SkillContents
from tests.skills_store.guard.labelled_skills import scan_contents
from tests.support.case_table import each_case

SIZE_BYTES = 1024 * 1024
MOST_SECONDS = 0.3
NOISE = 3  # other processes, and a first time in which states are made
PRINTABLE = [chr(code) for code in range(32, 127)]
WORDS = (
    "curl", "wget", "| sh", "rm -rf /", "~/.ssh/id_rsa", "send", "post", "https://a.b", "base64 -d",
    "eval(", "exec(", "$(", "ignore previous instructions", "never tell the user", "crontab",
    "@reboot", ">> .bashrc", "nc -e /bin/sh", "<!-- agent must -->", "$a$b", "chr(99)", "\\x63",
    "fetch and then", "secret api key password", "requests.post(", "'", '"', "+",
)  # fmt: skip


def noise() -> str:
    return "".join(random.Random(2).choices(PRINTABLE, k=SIZE_BYTES))  # noqa: S311  # as below


def mixed(separators: str) -> str:
    chosen = random.Random(1)  # noqa: S311  # the same text each time
    return "".join(chosen.choice(WORDS) + chosen.choice(separators) for _ in range(SIZE_BYTES // 4))


def repeat(piece: str) -> str:
    return piece * (SIZE_BYTES // len(piece.encode()))


TEXTS: dict[str, Callable[[], str]] = {
    "words in one line": lambda: mixed(" "),
    "words in lines": lambda: mixed(" \n"),
    "noise": noise,
    "look-alikes": lambda: repeat("\N{CYRILLIC SMALL LETTER A}a"),
    "one letter": lambda: repeat("a"),
    "ends": lambda: repeat("\n"),
    "sums": lambda: repeat("'a'+"),
    "variables": lambda: repeat("$a$b;a=b;"),
    "base64": lambda: repeat("aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnMg "),
    "comments": lambda: repeat("<!-- agent "),
    "warnings": lambda: repeat("Never run `rm -rf /`.\n"),
}
"""Makers of the texts: each is long, and needed in one process only."""


@each_case("make", TEXTS.values(), ids=TEXTS)
def test_a_mebibyte_is_scanned_in_time(make: Callable[[], str]) -> None:
    contents = SkillContents({"SKILL.md": make().encode()[:SIZE_BYTES]})
    started = time.process_time()
    scan_contents(contents)
    assert time.process_time() - started < MOST_SECONDS * NOISE
