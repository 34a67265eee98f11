"""Commands that show files and directories, with the flags that keep them read-only."""

from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.findings import Tree
from acp_server.permissions.shell.options import (
    Command,
    Options,
    Parsed,
    WordsJudge,
    at_most,
    read_all,
    read_here,
    read_none,
)

_DIGEST = Command(
    Options("bt", valued="al", long="binary text tag zero", takes_any_file_name=True), read_all
)


def _judge_diff(parsed: Parsed, access: Access) -> None:
    """Judge diff; of two directories all files are read, and symlinks among them followed."""
    for word in parsed.operands:
        if word.text != "-":
            access.search(word, Tree("", follows=True))


FILE_COMMANDS: dict[str, WordsJudge] = {
    "ls": Command(
        Options(
            "aAbcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
            long="all almost-all author classify color directory full-time group-directories-first"
            " human-readable si inode no-group numeric-uid-gid recursive reverse size sort time"
            " time-style format dereference indicator-style file-type quoting-style literal",
            long_valued="ignore hide",
            takes_any_file_name=True,
        ),
        read_here,
    ),
    "cat": Command(
        Options(
            "AbeEnstTuv",
            long="show-all number number-nonblank show-ends show-tabs squeeze-blank"
            " show-nonprinting",
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "head": Command(
        Options(
            "qv",
            valued="nc",
            long="quiet silent verbose",
            long_valued="lines bytes",
            takes_number=True,
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "tail": Command(
        Options(
            "fFqvr",
            valued="nc",
            long="follow retry quiet silent verbose",
            long_valued="lines bytes",
            takes_number=True,
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "wc": Command(
        Options(
            "clmLw",
            long="bytes chars lines words max-line-length",
            takes_any_file_name=True,
        ),
        read_all,
    ),
    "stat": Command(
        Options("Lx", valued="c", long="dereference terse", long_valued="format printf"), read_all
    ),
    "file": Command(
        Options(
            "bhiILNk0",
            valued="F",
            long="brief mime mime-type mime-encoding dereference no-dereference keep-going",
        ),
        read_all,
    ),
    "du": Command(
        Options(
            "abcDhHkLlmPsSx0",
            valued="dt",
            long="all apparent-size bytes total human-readable si summarize one-file-system"
            " separate-dirs null time",
            long_valued="max-depth exclude threshold block-size",
        ),
        read_here,
    ),
    "df": Command(
        Options(
            "ahHiklmPT", valued="t", long="all human-readable inodes local print-type total si"
        ),
        read_all,
    ),
    "tree": Command(
        Options(
            "adfilpsughDFrtcUCnAqNQ",
            valued="LIP",
            long="dirsfirst noreport prune gitignore matchdirs ignore-case si du inodes device",
            long_valued="filelimit sort charset",
        ),
        read_here,
    ),
    "basename": Command(
        Options("az", valued="s", long="multiple", long_valued="suffix"), read_none
    ),
    "dirname": Command(Options("z"), read_none),
    "realpath": Command(
        Options(
            "eLmPqsz",
            long="canonicalize-existing canonicalize-missing logical physical quiet strip zero"
            " no-symlinks",
            long_files="relative-to relative-base",
        ),
        read_all,
    ),
    "readlink": Command(
        Options(
            "efmnqsvz",
            long="canonicalize canonicalize-existing canonicalize-missing no-newline quiet zero",
        ),
        read_all,
    ),
    "diff": Command(
        Options(
            "abBcdeEiNpqrstTuwyZ",
            valued="CUFIW",
            long="brief unified context side-by-side ignore-all-space ignore-blank-lines"
            " ignore-case ignore-space-change text minimal recursive new-file color"
            " report-identical-files strip-trailing-cr show-c-function suppress-common-lines",
            long_valued="width label ignore-matching-lines",
        ),
        _judge_diff,
    ),
    "cmp": Command(
        Options("bls", valued="n", long="print-bytes verbose quiet silent", long_valued="bytes"),
        at_most(2, read_all),
    ),
    "comm": Command(Options("123iz", long="check-order nocheck-order total"), read_all),
    "md5sum": _DIGEST,
    "md5": Command(Options("qr"), read_all),
    "sha1sum": _DIGEST,
    "sha224sum": _DIGEST,
    "sha256sum": _DIGEST,
    "sha384sum": _DIGEST,
    "sha512sum": _DIGEST,
    "b2sum": _DIGEST,
    "shasum": _DIGEST,
    "cksum": Command(Options(valued="a", long_valued="algorithm"), read_all),
    "xxd": Command(Options("abeEiupP", valued="cglos"), at_most(1, read_all)),
    "od": Command(
        Options(
            "abcdfhilosxv",
            valued="AjNtSw",
            long="output-duplicates",
            long_valued="address-radix skip-bytes read-bytes format width",
        ),
        read_all,
    ),
    "hexdump": Command(Options("bcCdovx", valued="nse"), read_all),
    "strings": Command(
        Options("af", valued="nte", long="all print-file-name", long_valued="bytes radix encoding"),
        read_all,
    ),
    "base64": Command(
        Options("d", valued="w", long="decode", long_valued="wrap"), at_most(1, read_all)
    ),
    "column": Command(
        Options("tnex", valued="scNoRHO", long="table", long_valued="separator output-separator"),
        read_all,
    ),
}
