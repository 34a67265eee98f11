"""Search commands with the flags that keep them read-only: grep, rg, find, fd."""

import re
from collections.abc import Iterable, Sequence

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import SearchedTree, UndecidableCommand
from acp_server.permissions.shell.options import (
    AllowedOptions,
    ParsedArguments,
    ReadOnlyCommand,
    WordsJudge,
    read_all,
    read_here,
)
from acp_server.permissions.shell.words import Word

_PLAIN_NAME = re.compile(r"[\w.*?-]+")
_RG_SEARCH_MODES = (
    *("--json", "--count", "--count-matches", "--files-with-matches", "--files-without-match"),
    *("-c", "-l"),
)
# Absent on purpose: `-exec`, `-delete`, `-fprint` and the like, and `-files0-from`.
_FIND_TESTS = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-regextype",
        "-lname",
        "-ilname",
        "-type",
        "-xtype",
        "-maxdepth",
        "-mindepth",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-size",
        "-perm",
        "-user",
        "-group",
        "-links",
        "-inum",
        "-fstype",
        "-printf",
        "-newermt",
        "-newerct",
        "-uid",
        "-gid",
        "-used",
    ]
)
_FIND_FILE_TESTS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
_FIND_FLAGS = frozenset(
    [
        "!",
        "(",
        ")",
        ",",
        "-a",
        "-and",
        "-o",
        "-or",
        "-not",
        "-print",
        "-print0",
        "-ls",
        "-prune",
        "-quit",
        "-depth",
        "-d",
        "-empty",
        "-true",
        "-false",
        "-readable",
        "-writable",
        "-executable",
        "-mount",
        "-xdev",
        "-follow",
        "-daystart",
        "-nouser",
        "-nogroup",
        "-noleaf",
        "-ignore_readdir_race",
        "-nowarn",
        "-warn",
    ]
)


def _judge_grep(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge grep: a pattern, then files; with -r directories that are read completely."""
    has_pattern = parsed.has("-e", "-f", "--regexp", "--file")
    operands = searched_operands(parsed, has_pattern=has_pattern)
    if any(word.could_be_flag for word in parsed.operands):
        _check_globbed_flags(parsed, access)
    follows_symlinks = parsed.has("-R", "--dereference-recursive")
    if not follows_symlinks and not parsed.has("-r", "--recursive"):
        read_all(ParsedArguments(files=parsed.files, operands=operands), access)
        return
    selections = [
        flag for flag, _ in parsed.values if flag in {"--include", "--exclude", "--exclude-from"}
    ]
    # If the first of these flags excludes, grep also reads all files that match none of them.
    names = (
        _plain_names(value.text for value in parsed.values_of("--include"))
        if selections[:1] == ["--include"]
        else ()
    )
    read_all(ParsedArguments(files=parsed.files), access)
    for word in operands or [Word(".")]:
        access.record_search(
            word, SearchedTree("", follows_symlinks=follows_symlinks, name_patterns=names)
        )


def searched_operands(parsed: ParsedArguments, *, has_pattern: bool) -> list[Word]:
    """Return the operands that are read; the first one is a text, unless a flag gives it."""
    # The first name that a glob matches is the text, and the others are read.
    if has_pattern or any(word.pattern is not None for word in parsed.operands[:1]):
        return parsed.operands
    return parsed.operands[1:]


def _plain_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return globs of file names; none, which means all files, if one is not read alike by all.

    Programs differ in escapes and sets: the glob `[^x]env` may match `.env`, or not.
    """
    globs = tuple(names)
    return globs if all(_PLAIN_NAME.fullmatch(glob) for glob in globs) else ()


def _check_globbed_flags(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Handle a glob that may match a file named `-e.py`, which is a flag with a value.

    Then the search pattern becomes a path. Without an extension the file could be any flag, even
    `-r`.
    """
    picked = [word.pattern for word in parsed.operands if word.pattern and word.could_be_flag]
    if any("." not in pattern.rpartition("/")[2].rpartition("*")[2] for pattern in picked):
        raise UndecidableCommand("a pattern in it may pick a file whose name is a flag")
    access.record_search(parsed.operands[0], SearchedTree(""))


def _judge_rg(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge rg: everything below its directories is read, except hidden and ignored files."""
    is_listing = parsed.has("--files", "--type-list", "--version")
    if is_listing and parsed.has(*_RG_SEARCH_MODES):
        raise UndecidableCommand("the last of its flags chooses whether it lists or searches")
    has_pattern = is_listing or parsed.has("-e", "-f", "--regexp", "--file")
    operands = searched_operands(parsed, has_pattern=has_pattern)
    read_all(ParsedArguments(files=parsed.files), access)
    globs = tuple(value.text for value in parsed.values_of("-g", "--glob", "--iglob"))
    names = tuple(glob for glob in globs if not glob.startswith("!"))
    ignores_case = parsed.has("--iglob", "--glob-case-insensitive")
    # A glob given to rg also selects hidden and ignored files.
    hidden = bool(names) or parsed.has("--hidden", "-.", "-u", "--unrestricted")
    file_names = [name.rstrip("/").rpartition("/")[2] for name in names]
    patterns = () if ignores_case or "**" in file_names else _plain_names(file_names)
    for word in operands or [Word(".")]:
        if is_listing:
            access.record_read(word)
        else:
            access.record_search(
                word, SearchedTree("", includes_hidden=hidden, name_patterns=patterns)
            )


def judge_find(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge find: its directories are read; only tests and printing actions pass.

    Raises:
        UndecidableCommand: It has an action that runs, deletes or writes, or an unknown one.
    """
    rest = list(reversed(words))
    while rest and rest[-1].is_literal and rest[-1].text in {"-L", "-H", "-P"}:
        rest.pop()
    roots: list[Word] = []
    while rest and not _is_expression(rest[-1]):
        roots.append(rest.pop())
    for root in roots or [Word(".")]:
        # Security: a file named `-delete` would become an action.
        if root.could_be_flag:
            raise UndecidableCommand("a pattern in it may pick a file whose name is an action")
        access.record_read(root)
    _judge_expression(rest, access)


def _is_expression(word: Word) -> bool:
    return word.text.startswith("-") or word.text in {"!", "(", ")", ","}


def _judge_expression(rest: list[Word], access: AccessRecorder) -> None:
    while rest:
        word = rest.pop()
        if not word.is_literal:
            raise UndecidableCommand("a part of it is only known when it runs")
        if word.text in _FIND_FLAGS:
            continue
        if word.text not in _FIND_TESTS | _FIND_FILE_TESTS or not rest:
            raise UndecidableCommand(f"find {word.text} is not known to only read")
        value = rest.pop()
        if not value.is_literal:
            raise UndecidableCommand("a part of it is only known when it runs")
        if word.text in _FIND_FILE_TESTS:
            access.record_read(value)


# Absent: `-d`, whose value `recurse` makes it read directories without `-r`.
_GREP = AllowedOptions(
    "abcEFGhHiLlnoPqrRsTvVwxyZzI",
    value_flags="eABCmD",
    file_flags="f",
    long_flags="extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match"
    " word-regexp line-regexp count color colour files-without-match files-with-matches"
    " only-matching quiet silent no-messages byte-offset with-filename no-filename line-number"
    " initial-tab null text binary recursive dereference-recursive no-ignore-case null-data"
    # The value of `--context` is optional on macOS.
    " context",
    long_value_flags="regexp max-count after-context before-context include exclude"
    " exclude-dir label binary-files",
    long_file_flags="file exclude-from",
    takes_number=True,
    takes_any_file_name=True,
)
# Absent: `--pre`, `--hostname-bin` and `-z` run programs, and `-L` follows symlinks.
_RG = AllowedOptions(
    "abcFhHiIlnNopPqsSUuvVwx0.",
    value_flags="eABCmMgtTjrdE",
    file_flags="f",
    long_flags="fixed-strings ignore-case smart-case case-sensitive count count-matches files"
    " files-with-matches files-without-match line-number no-line-number with-filename no-filename"
    " heading no-heading hidden no-ignore no-ignore-vcs no-ignore-parent multiline"
    " multiline-dotall only-matching pcre2 pretty quiet invert-match word-regexp line-regexp"
    " vimgrep json stats text trim unrestricted column no-config no-messages null passthru"
    " type-list version no-hidden crlf block-buffered line-buffered glob-case-insensitive",
    long_value_flags="regexp after-context before-context context max-count max-columns max-depth"
    " max-filesize glob iglob type type-not replace sort sortr color colors threads encoding"
    " engine context-separator field-match-separator",
    long_file_flags="file ignore-file",
    flags_anywhere=True,
)
# Absent: `-x` and `-X` run programs, `--base-directory` and `--search-path` move the search.
_FD = AllowedOptions(
    "HIuapgisF01q",
    value_flags="detESjc",
    long_flags="hidden no-ignore no-ignore-vcs unrestricted absolute-path full-path"
    " glob ignore-case"
    " case-sensitive fixed-strings print0 quiet show-errors",
    long_value_flags="max-depth min-depth exact-depth extension type exclude size changed-within"
    " changed-before color threads max-results",
    flags_anywhere=True,
)


def _judge_fd(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge fd: it lists the names below its directories."""
    read_here(ParsedArguments(operands=parsed.operands[1:]), access)


SEARCH_COMMANDS: dict[str, WordsJudge] = {
    "grep": ReadOnlyCommand(_GREP, _judge_grep),
    "egrep": ReadOnlyCommand(_GREP, _judge_grep),
    "fgrep": ReadOnlyCommand(_GREP, _judge_grep),
    "rg": ReadOnlyCommand(_RG, _judge_rg),
    "find": judge_find,
    "fd": ReadOnlyCommand(_FD, _judge_fd),
    "fdfind": ReadOnlyCommand(_FD, _judge_fd),
}
