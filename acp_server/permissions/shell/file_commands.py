"""Commands that show files and directories, with the flags that keep them read-only."""

from collections.abc import Sequence

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import SearchedTree, UndecidableCommand
from acp_server.permissions.shell.options import (
    AllowedOptions,
    ParsedArguments,
    ReadOnlyCommand,
    WordsJudge,
    limit_operands,
    read_all,
    read_here,
    read_none,
)
from acp_server.permissions.shell.words import Word

# Absent: `-c`, which reads the files that a list names.
_DIGEST = ReadOnlyCommand(
    AllowedOptions(
        "bt", value_flags="al", long_flags="binary text tag zero", takes_any_file_name=True
    ),
    read_all,
)


def _judge_diff(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge diff; of two directories all files are read, and symlinks among them followed."""
    read_all(ParsedArguments(files=parsed.files), access)
    for word in parsed.operands:
        if word.text != "-":
            access.record_search(word, SearchedTree("", follows_symlinks=True))


def _judge_strings(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge strings; it replaces a word `@FILE` by the words in that file."""
    if any(word.text.startswith("@") or word.could_be_flag for word in words):
        raise UndecidableCommand("it takes words from a file")
    ReadOnlyCommand(_STRINGS, read_all)(words, access)


_STRINGS = AllowedOptions(
    "af",
    value_flags="nte",
    long_flags="all print-file-name",
    long_value_flags="bytes radix encoding",
)


FILE_COMMANDS: dict[str, WordsJudge] = {
    "ls": ReadOnlyCommand(
        AllowedOptions(
            "aAbcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
            long_flags="all almost-all author classify color directory"
            " full-time group-directories-first"
            " human-readable si inode no-group numeric-uid-gid recursive reverse size sort time"
            " time-style format dereference indicator-style file-type quoting-style literal",
            long_value_flags="ignore hide",
            takes_any_file_name=True,
        ),
        read_here,
    ),
    "cat": ReadOnlyCommand(
        AllowedOptions(
            "AbeEnstTuv",
            long_flags="show-all number number-nonblank show-ends show-tabs squeeze-blank"
            " show-nonprinting",
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "head": ReadOnlyCommand(
        AllowedOptions(
            "qv",
            value_flags="nc",
            long_flags="quiet silent verbose",
            long_value_flags="lines bytes",
            takes_number=True,
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "tail": ReadOnlyCommand(
        AllowedOptions(
            "fFqvr",
            value_flags="nc",
            long_flags="follow retry quiet silent verbose",
            long_value_flags="lines bytes",
            takes_number=True,
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "wc": ReadOnlyCommand(
        AllowedOptions(
            "clmLw",
            long_flags="bytes chars lines words max-line-length",
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "stat": ReadOnlyCommand(
        AllowedOptions(
            "Lx", value_flags="c", long_flags="dereference terse", long_value_flags="format printf"
        ),
        read_all,
    ),
    "file": ReadOnlyCommand(
        AllowedOptions(
            # Absent: `-C` writes a file, `-z` runs decompressors, `-f` and `-m` read further files.
            "bhiILNk0",
            value_flags="F",
            long_flags="brief mime mime-type mime-encoding dereference no-dereference keep-going",
        ),
        read_all,
    ),
    "du": ReadOnlyCommand(
        AllowedOptions(
            "abcDhHkLlmPsSx0",
            value_flags="dt",
            long_flags="all apparent-size bytes total human-readable si summarize one-file-system"
            " separate-dirs null time",
            long_value_flags="max-depth exclude threshold block-size",
        ),
        read_here,
    ),
    "df": ReadOnlyCommand(
        AllowedOptions(
            "ahHiklmPT",
            value_flags="t",
            long_flags="all human-readable inodes local print-type total si",
        ),
        read_all,
    ),
    "tree": ReadOnlyCommand(
        AllowedOptions(
            # Absent: `-o` writes a file, `-R` writes one per directory, `--fromfile` reads a list.
            "adfilpsughDFrtcUCnAqNQ",
            value_flags="LIP",
            long_flags="dirsfirst noreport prune gitignore matchdirs ignore-case si du"
            " inodes device",
            long_value_flags="filelimit sort charset",
            flags_anywhere=True,
            # Security: it takes values from the next word only; the `o` of `-Io` is a flag.
            short_words=r"-[adfilpsughDFrtcUCnAqNQ]*[LIP]?",
        ),
        read_here,
    ),
    "basename": ReadOnlyCommand(
        AllowedOptions("az", value_flags="s", long_flags="multiple", long_value_flags="suffix"),
        read_none,
    ),
    "dirname": ReadOnlyCommand(AllowedOptions("z"), read_none),
    "realpath": ReadOnlyCommand(
        AllowedOptions(
            "eLmPqsz",
            long_flags="canonicalize-existing canonicalize-missing logical physical quiet"
            " strip zero"
            " no-symlinks",
            long_file_flags="relative-to relative-base",
        ),
        read_all,
    ),
    "readlink": ReadOnlyCommand(
        AllowedOptions(
            "efmnqsvz",
            long_flags="canonicalize canonicalize-existing canonicalize-missing no-newline"
            " quiet zero",
        ),
        read_all,
    ),
    "diff": ReadOnlyCommand(
        AllowedOptions(
            "abBcdeEiNpqrstTuwyZ",
            value_flags="CUFIW",
            long_flags="brief unified context side-by-side ignore-all-space ignore-blank-lines"
            " ignore-case ignore-space-change text minimal recursive new-file color"
            " report-identical-files strip-trailing-cr show-c-function suppress-common-lines",
            long_value_flags="width label ignore-matching-lines",
        ),
        _judge_diff,
    ),
    "cmp": ReadOnlyCommand(
        AllowedOptions(
            "bls",
            value_flags="n",
            long_flags="print-bytes verbose quiet silent",
            long_value_flags="bytes",
        ),
        limit_operands(2, read_all),
    ),
    "comm": ReadOnlyCommand(
        AllowedOptions("123iz", long_flags="check-order nocheck-order total"), read_all
    ),
    "md5sum": _DIGEST,
    "md5": ReadOnlyCommand(AllowedOptions("qr"), read_all),
    "sha1sum": _DIGEST,
    "sha224sum": _DIGEST,
    "sha256sum": _DIGEST,
    "sha384sum": _DIGEST,
    "sha512sum": _DIGEST,
    "b2sum": _DIGEST,
    "shasum": _DIGEST,
    "cksum": ReadOnlyCommand(
        AllowedOptions(value_flags="a", long_value_flags="algorithm"), read_all
    ),
    # The second operand of xxd is its output file.
    "xxd": ReadOnlyCommand(
        AllowedOptions(
            "abeEiup",
            value_flags="cglos",
            flags_first=True,
            # Security: it has no clusters: `-ac` is `-a`, and `-ps` is `-p`.
            short_words=r"-[abeEiup]|-[cglos][0-9a-fx+]*",
        ),
        limit_operands(1, read_all),
    ),
    "od": ReadOnlyCommand(
        AllowedOptions(
            "abcdfhilosxv",
            value_flags="AjNtS",
            optional_value_flags="w",
            long_flags="output-duplicates width",
            long_value_flags="address-radix skip-bytes read-bytes format",
        ),
        read_all,
    ),
    "hexdump": ReadOnlyCommand(AllowedOptions("bcCdovx", value_flags="nse"), read_all),
    "strings": _judge_strings,
    "base64": ReadOnlyCommand(
        AllowedOptions("d", value_flags="w", long_flags="decode", long_value_flags="wrap"),
        limit_operands(1, read_all),
    ),
    "column": ReadOnlyCommand(
        AllowedOptions(
            "tnex",
            value_flags="scNoRHO",
            long_flags="table",
            long_value_flags="separator output-separator",
        ),
        read_all,
    ),
}
