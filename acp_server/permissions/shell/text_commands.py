"""Commands that sort, cut and count text, with the flags that keep them read-only."""

import re
from collections.abc import Sequence

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.options import (
    AllowedOptions,
    ParsedArguments,
    ReadOnlyCommand,
    WordsJudge,
    limit_operands,
    read_after_first,
    read_all,
    read_none,
)
from acp_server.permissions.shell.sed_scripts import judge_sed
from acp_server.permissions.shell.words import Word

_JQ_OUTSIDE_INPUT = re.compile(
    r"\b(?:env|ENV|import|include|modulemeta|get_search_list|input_filename)\b|__"
)
# `%n` sets a variable, and `*` takes the width from an argument; neither is in it.
_HARMLESS_CONVERSIONS = re.compile(r"%[-+ 0#]*\d*(?:\.\d+)?[sbqdiouxXeEfFgGc%]")


def _judge_jq(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a jq program; `env` in it would show the environment."""
    if not parsed.operands:
        raise UndecidableCommand("it has no program")
    program = parsed.operands[0]
    if not program.is_literal or _JQ_OUTSIDE_INPUT.search(program.text):
        raise UndecidableCommand("its program may read more than its input")
    read_after_first(parsed, access)


def _judge_echo(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge printed words; a glob among them lists file names."""
    for word in words:
        if word.pattern is not None:
            access.record_read(word)


def _judge_printf(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a format; `-v` and some conversions set variables."""
    if not words or not words[0].is_literal or words[0].text.startswith("-"):
        raise UndecidableCommand("its format is only known when it runs")
    if "%" in _HARMLESS_CONVERSIONS.sub("", words[0].text):
        raise UndecidableCommand("its format holds a conversion that is not known to only print")
    _judge_echo(words, access)


TEXT_COMMANDS: dict[str, WordsJudge] = {
    "echo": _judge_echo,
    "printf": _judge_printf,
    "sort": ReadOnlyCommand(
        AllowedOptions(
            # Absent: `-o` writes, `--compress-program` runs, `--files0-from` reads a list of files.
            "bdfghiMnRrsuVcCmz",
            value_flags="kt",
            long_flags="numeric-sort reverse unique version-sort"
            " human-numeric-sort general-numeric-sort"
            " ignore-case ignore-leading-blanks check stable month-sort dictionary-order"
            " zero-terminated",
            long_value_flags="key field-separator",
        ),
        read_all,
    ),
    "uniq": ReadOnlyCommand(
        AllowedOptions(
            "cdDiuz",
            value_flags="fsw",
            long_flags="count repeated unique ignore-case all-repeated",
            long_value_flags="skip-fields skip-chars check-chars",
            flags_first=True,
        ),
        # The second operand is the output file.
        limit_operands(1, read_all),
    ),
    "cut": ReadOnlyCommand(
        AllowedOptions(
            "nsz",
            value_flags="bcdf",
            long_flags="complement only-delimited zero-terminated",
            long_value_flags="bytes characters delimiter fields output-delimiter",
        ),
        read_all,
    ),
    "tr": ReadOnlyCommand(
        AllowedOptions("cCdst", long_flags="complement delete squeeze-repeats"), read_none
    ),
    "nl": ReadOnlyCommand(AllowedOptions("p", value_flags="bdfhilnsvw"), read_all),
    "tac": ReadOnlyCommand(AllowedOptions("br", value_flags="s"), read_all),
    "rev": ReadOnlyCommand(AllowedOptions(), read_all),
    "paste": ReadOnlyCommand(
        AllowedOptions("sz", value_flags="d", long_flags="serial", long_value_flags="delimiters"),
        read_all,
    ),
    "join": ReadOnlyCommand(AllowedOptions("iz", value_flags="12aetjov"), read_all),
    "fold": ReadOnlyCommand(
        AllowedOptions("bs", value_flags="w", long_value_flags="width"), read_all
    ),
    "expand": ReadOnlyCommand(AllowedOptions("i", value_flags="t"), read_all),
    "jq": ReadOnlyCommand(
        AllowedOptions(
            # Absent: `-f`, `-L`, `--rawfile` and `--slurpfile`, which read further files.
            "cnrRsSMCaje",
            long_flags="compact-output null-input raw-output raw-input slurp"
            " sort-keys monochrome-output"
            " color-output ascii-output join-output exit-status tab",
            long_value_flags="indent",
            flags_anywhere=True,
        ),
        _judge_jq,
    ),
    "sed": ReadOnlyCommand(
        AllowedOptions(
            # Absent: `-i` writes the file, `-f` reads the script from one.
            "nErsuz",
            value_flags="e",
            long_flags="quiet silent regexp-extended null-data unbuffered separate",
            long_value_flags="expression",
            # In `sed SCRIPT FILE -e p`, some versions run the first word as the script.
            flags_first=True,
        ),
        judge_sed,
    ),
    "seq": ReadOnlyCommand(AllowedOptions("w", value_flags="sf", takes_number=True), read_none),
}
