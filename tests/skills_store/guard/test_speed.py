"""A mebibyte of whatever is hard takes no longer than the user waits gladly."""

import random
import time

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


@each_case(
    "text",
    [
        mixed(" "),
        mixed(" \n"),
        noise(),
        "\N{CYRILLIC SMALL LETTER A}a" * (SIZE_BYTES // 3),
        "a" * SIZE_BYTES,
        "\n" * SIZE_BYTES,
        "'a'+" * (SIZE_BYTES // 4),
        "$a$b;a=b;" * (SIZE_BYTES // 9),
        "aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnMg " * (SIZE_BYTES // 45),
        "<!-- agent " * (SIZE_BYTES // 11),
        "Never run `rm -rf /`.\n" * (SIZE_BYTES // 22),
    ],
    ids=[
        *("words in one line", "words in lines", "noise", "look-alikes", "one letter", "ends"),
        *("sums", "variables", "base64", "comments", "warnings"),
    ],
)
def test_a_mebibyte_is_scanned_in_time(text: str) -> None:
    contents = SkillContents({"SKILL.md": text.encode()[:SIZE_BYTES]})
    started = time.process_time()
    scan_contents(contents)
    assert time.process_time() - started < MOST_SECONDS * NOISE
