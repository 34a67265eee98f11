"""Commands that sort, cut and count text, with the flags that keep them read-only."""

import re
from collections.abc import Sequence

from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.options import (
    Command,
    Options,
    Parsed,
    WordsJudge,
    at_most,
    read_after_first,
    read_all,
    read_none,
)
from acp_server.permissions.shell.sed_scripts import judge_sed
from acp_server.permissions.shell.words import Word

_JQ_OUTSIDE = re.compile(
    r"\b(?:env|ENV|import|include|modulemeta|get_search_list|input_filename)\b|__"
)
_CONVERSIONS = re.compile(r"%[-+ 0#]*\d*(?:\.\d+)?[sbqdiouxXeEfFgGc%]")


def _judge_jq(parsed: Parsed, access: Access) -> None:
    """Judge a jq program; `env` in it would show the environment."""
    if not parsed.operands:
        raise Unclear("it has no program")
    program = parsed.operands[0]
    if not program.is_literal or _JQ_OUTSIDE.search(program.text):
        raise Unclear("its program may read more than its input")
    read_after_first(parsed, access)


def _judge_echo(words: Sequence[Word], access: Access) -> None:
    """Judge printed words; a glob among them lists file names."""
    for word in words:
        if word.pattern is not None:
            access.read(word)


def _judge_printf(words: Sequence[Word], access: Access) -> None:
    """Judge a format; `-v` and some conversions set variables."""
    if not words or not words[0].is_literal or words[0].text.startswith("-"):
        raise Unclear("its format is only known when it runs")
    if "%" in _CONVERSIONS.sub("", words[0].text):
        raise Unclear("its format holds a conversion that is not known to only print")
    _judge_echo(words, access)


TEXT_COMMANDS: dict[str, WordsJudge] = {
    "echo": _judge_echo,
    "printf": _judge_printf,
    "sort": Command(
        Options(
            "bdfghiMnRrsuVcCmz",
            valued="kt",
            long="numeric-sort reverse unique version-sort human-numeric-sort general-numeric-sort"
            " ignore-case ignore-leading-blanks check stable month-sort dictionary-order"
            " zero-terminated",
            long_valued="key field-separator",
        ),
        read_all,
    ),
    "uniq": Command(
        Options(
            "cdDiuz",
            valued="fsw",
            long="count repeated unique ignore-case all-repeated",
            long_valued="skip-fields skip-chars check-chars",
        ),
        at_most(1, read_all),
    ),
    "cut": Command(
        Options(
            "nsz",
            valued="bcdf",
            long="complement only-delimited zero-terminated",
            long_valued="bytes characters delimiter fields output-delimiter",
        ),
        read_all,
    ),
    "tr": Command(Options("cCdst", long="complement delete squeeze-repeats"), read_none),
    "nl": Command(Options("p", valued="bdfhilnsvw"), read_all),
    "tac": Command(Options("br", valued="s"), read_all),
    "rev": Command(Options(), read_all),
    "paste": Command(Options("sz", valued="d", long="serial", long_valued="delimiters"), read_all),
    "join": Command(Options("iz", valued="12aetjov"), read_all),
    "fold": Command(Options("bs", valued="w", long_valued="width"), read_all),
    "expand": Command(Options("i", valued="t"), read_all),
    "jq": Command(
        Options(
            "cnrRsSMCaje",
            long="compact-output null-input raw-output raw-input slurp sort-keys monochrome-output"
            " color-output ascii-output join-output exit-status tab",
            long_valued="indent",
        ),
        _judge_jq,
    ),
    "sed": Command(
        Options(
            "nErsuz",
            valued="e",
            long="quiet silent regexp-extended null-data unbuffered separate",
            long_valued="expression",
        ),
        judge_sed,
    ),
    "seq": Command(Options("w", valued="sf", takes_number=True), read_none),
}
