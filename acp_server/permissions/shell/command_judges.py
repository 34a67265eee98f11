"""Judge the words of a simple command by the table of read-only commands.

A judge records the effects of a command, or raises UndecidableCommand. Most commands need the
general ones of `options.py`; those here know the arguments of a single command.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.awk_programs import judge_awk
from acp_server.permissions.shell.dangers import describe_program
from acp_server.permissions.shell.findings import (
    SearchedTree,
    UndecidableCommand,
)
from acp_server.permissions.shell.git_commands import judge_git
from acp_server.permissions.shell.name_sources import FileNames, find_names, is_conjunction
from acp_server.permissions.shell.options import (
    AllowedOptions,
    ParsedArguments,
    parse_arguments,
    read_after_first,
    read_all,
    read_here,
    read_none,
    searched_operands,
)
from acp_server.permissions.shell.read_only_commands import load_read_only_commands
from acp_server.permissions.shell.sed_scripts import judge_sed
from acp_server.permissions.shell.words import Word, is_shown_variable

_SYSTEM_DIRECTORIES = ("/bin/", "/usr/bin/")


def command_name(word: Word) -> str:
    """Return the name of the command that a word calls.

    Raises:
        UndecidableCommand: It is only known at run time, or is a file outside the system
            directories.
    """
    if not word.is_literal:
        raise UndecidableCommand(reasons.UNKNOWN_COMMAND)
    folder, slash, name = word.text.rpartition("/")
    # Security: `./ls` or `/tmp/ls` may be any program.
    if slash and folder + slash not in _SYSTEM_DIRECTORIES:
        raise UndecidableCommand(reasons.runs_file(word.text))
    return name


def judge_command(words: Sequence[Word], access: AccessRecorder) -> None:
    """Record the effects of a simple command, name first.

    Raises:
        UndecidableCommand: It may do more than read.
    """
    table = load_read_only_commands()
    access.record_program(words[0])
    name, arguments = command_name(words[0]), words[1:]
    # Alone only: with a further word a flag may mean something else; `gcc -v x.c` compiles.
    is_alone = len(arguments) == 1 and arguments[0].is_literal
    if is_alone and arguments[0].text in table.version_flags.get(name, "").split():
        return
    command = table.commands.get(name)
    if command is None:
        raise UndecidableCommand(describe_program(words))
    judge = command.table.get("judge", "")
    if judge in WORDS_JUDGES:
        WORDS_JUDGES[judge](command.options, arguments, access)
        return
    parsed = parse_arguments(command.options, arguments)
    max_operands = command.table.get("max_operands")
    if max_operands is not None:
        # A glob may expand to more operands than the line shows.
        may_expand = max_operands and any(not word.is_literal for word in parsed.operands)
        if len(parsed.operands) > max_operands or may_expand:
            raise UndecidableCommand(reasons.MORE_ARGUMENTS)
    ARGUMENTS_JUDGES[judge](parsed, access)


# Files and text


def _judge_diff(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge diff; of two directories all files are read, and symlinks among them followed."""
    read_all(ParsedArguments(files=parsed.files), access)
    for word in parsed.operands:
        if word.text != "-":
            access.record_search(word, SearchedTree("", follows_symlinks=True))


def _judge_strings(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge strings; it replaces a word `@FILE` by the words in that file."""
    if any(word.text.startswith("@") or word.could_be_flag for word in words):
        raise UndecidableCommand(reasons.WORDS_FROM_FILE)
    read_all(parse_arguments(options, words), access)


_JQ_OUTSIDE_INPUT = re.compile(
    r"\b(?:env|ENV|import|include|modulemeta|get_search_list|input_filename)\b|__"
)


def _judge_jq(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a jq program; `env` in it would show the environment."""
    if not parsed.operands:
        raise UndecidableCommand(reasons.NO_PROGRAM)
    program = parsed.operands[0]
    if not program.is_literal or _JQ_OUTSIDE_INPUT.search(program.text):
        raise UndecidableCommand(reasons.JQ_PROGRAM)
    read_after_first(parsed, access)


def _judge_echo(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge printed words; a glob among them lists file names."""
    del options
    for word in words:
        if word.pattern is not None:
            access.record_read(word)


# `%n` sets a variable, and `*` takes the width from an argument; neither is in it.
_HARMLESS_CONVERSIONS = re.compile(r"%[-+ 0#]*\d*(?:\.\d+)?[sbqdiouxXeEfFgGc%]")


def _judge_printf(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a format; `-v` and some conversions set variables."""
    if not words or not words[0].is_literal or words[0].text.startswith("-"):
        raise UndecidableCommand(reasons.UNKNOWN_FORMAT)
    if "%" in _HARMLESS_CONVERSIONS.sub("", words[0].text):
        raise UndecidableCommand(reasons.PRINTF_FORMAT)
    _judge_echo(options, words, access)


# Search


_PLAIN_NAME = re.compile(r"[\w.*?-]+")
_RG_SEARCH_MODES = (
    *("--json", "--count", "--count-matches", "--files-with-matches", "--files-without-match"),
    *("-c", "-l"),
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


def _check_globbed_flags(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Handle a glob that may match a file named `-e.py`, which is a flag with a value.

    Then the search pattern becomes a path. Without an extension the file could be any flag, even
    `-r`.
    """
    picked = [word.pattern for word in parsed.operands if word.pattern and word.could_be_flag]
    if any("." not in pattern.rpartition("/")[2].rpartition("*")[2] for pattern in picked):
        raise UndecidableCommand(reasons.MATCHES_FLAG)
    access.record_search(parsed.operands[0], SearchedTree(""))


def _plain_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return globs of file names; none, which means all files, if one is not read alike by all.

    Programs differ in escapes and sets: the glob `[^x]env` may match `.env`, or not.
    """
    globs = tuple(names)
    return globs if all(_PLAIN_NAME.fullmatch(glob) for glob in globs) else ()


def _judge_rg(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge rg: everything below its directories is read, except hidden and ignored files."""
    is_listing = parsed.has("--files", "--type-list", "--version")
    if is_listing and parsed.has(*_RG_SEARCH_MODES):
        raise UndecidableCommand(reasons.LAST_FLAG)
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


def _judge_find(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge find: its directories are read; only tests and printing actions pass."""
    rest = list(reversed(words))
    while rest and rest[-1].is_literal and rest[-1].text in {"-L", "-H", "-P"}:
        follows = rest.pop().text != "-P"
        if follows and Word("-exec") in rest:
            raise UndecidableCommand(reasons.FIND_FILES)
    roots: list[Word] = []
    while rest and not rest[-1].text.startswith("-") and rest[-1].text not in {"!", "(", ")", ","}:
        roots.append(rest.pop())
    for root in roots or [Word(".")]:
        # Security: a file named `-delete` would become an action.
        if root.could_be_flag:
            raise UndecidableCommand(reasons.MATCHES_ACTION)
        access.record_read(root)
    _judge_expression(options, roots or [Word(".")], rest, access)


def _judge_expression(
    options: AllowedOptions, roots: Sequence[Word], rest: list[Word], access: AccessRecorder
) -> None:
    """Judge the tests and actions of find, which are given in reverse order."""
    tests = list(reversed(rest))
    file_tests = options.long_file_flags.split()
    valued_tests = options.long_value_flags.split()
    while rest:
        word = rest.pop()
        if not word.is_literal:
            raise UndecidableCommand(reasons.UNKNOWN_PART)
        if word.text in options.long_flags.split():
            continue
        if word.text == "-exec":
            _judge_executed(_take_executed(rest), roots, tests, access)
            continue
        if word.text not in file_tests + valued_tests or not rest:
            raise UndecidableCommand(reasons.flag(word.text))
        value = rest.pop()
        if not value.is_literal:
            raise UndecidableCommand(reasons.UNKNOWN_PART)
        if word.text in file_tests:
            access.record_read(value)


def _take_executed(rest: list[Word]) -> list[Word]:
    """Take the words of `-exec` up to `;` or `+`, which are given in reverse order."""
    words: list[Word] = []
    while rest:
        word = rest.pop()
        if word.is_literal and (
            word.text == ";" or (word.text == "+" and words[-1:] == [Word("{}")])
        ):
            return words
        words.append(word)
    raise UndecidableCommand(reasons.OPEN_EXEC)


def _judge_executed(
    words: Sequence[Word], roots: Sequence[Word], tests: Sequence[Word], access: AccessRecorder
) -> None:
    """Judge the command that find runs for the files it finds."""
    names = find_names(roots, tests[: tests.index(Word("-exec"))])
    if names is None or Word("-follow") in tests:
        raise UndecidableCommand(reasons.FIND_FILES)
    # With `-o`, even behind it, the tests before it may not hold.
    if not is_conjunction(tests):
        names = FileNames(names.roots, replace(names.tree, name_patterns=()))
    judge_on_names(words, names.separated(), access)


def judge_on_names(words: Sequence[Word], names: FileNames, access: AccessRecorder) -> None:
    """Judge a command with `{}` for each of these files.

    Raises:
        UndecidableCommand: It may do more than read, or a name would be a part of a word.
    """
    if not words or words[0] == Word("{}") or command_name(words[0]) in _RUNNERS:
        raise UndecidableCommand(reasons.COMMAND_PER_FILE)
    if any("{}" in word.text and word != Word("{}") for word in words):
        raise UndecidableCommand(reasons.WORDS_FROM_NAMES)
    for root in names.roots:
        if not root.is_literal or root.text.startswith("-"):
            raise UndecidableCommand(reasons.UNKNOWN_FILES)
        judge_command([root if word == Word("{}") else word for word in words], access)
        # Whatever is done with them, the files count as read.
        access.record_search(root, names.tree)


_XARGS_ALONE = frozenset({"-0", "-l", "-r", "-t", "--null", "--no-run-if-empty"})
_XARGS_NUMBERED = re.compile(r"-[nPL]\d*")


def judge_xargs(words: Sequence[Word], names: FileNames | None, access: AccessRecorder) -> None:
    """Judge xargs, name first; `names` are those on its input, if they are known.

    Raises:
        UndecidableCommand: It runs what may do more than read, or on unknown names.
    """
    if names is None:
        raise UndecidableCommand(reasons.XARGS_NAMES)
    if not all(word.is_literal for word in words):
        raise UndecidableCommand(reasons.UNKNOWN_WORD)
    rest = [word.text for word in words[1:]]
    flags = dict(_take_xargs_flags(rest))
    placeholder = flags.get("-I", "")
    if "-0" in flags:
        names = names.separated()
    # xargs replaces the text anywhere in a word, so it must be one that stands alone.
    if placeholder and any(placeholder in word and placeholder != word for word in rest):
        raise UndecidableCommand(reasons.WORDS_FROM_NAMES)
    inner = [Word("{}") if placeholder and word == placeholder else Word(word) for word in rest]
    judge_on_names(inner if placeholder else [*inner, Word("{}")], names, access)


def _take_xargs_flags(rest: list[str]) -> Iterator[tuple[str, str]]:
    """Take the flags of xargs before its command; yield each with its value."""
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in _XARGS_ALONE:
            yield ("-0" if flag == "--null" else flag), ""
        elif flag.startswith("-I") and (len(flag) > len("-I") or rest):
            yield "-I", flag[2:] or rest.pop(0)
        elif _XARGS_NUMBERED.fullmatch(flag) and (
            len(flag) > len("-n") or (rest and rest.pop(0).isdecimal())
        ):
            yield flag[:2], ""
        else:
            raise UndecidableCommand(reasons.flag(flag))


NAME_RUNNERS = frozenset({"find", "xargs", "git", "command", "go", "awk"})
"""They run other commands, or have rules of their own for the names of files."""
_RUNNERS = NAME_RUNNERS | {"echo", "printf", "test", "["}


def _judge_fd(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge fd: it lists the names below its directories."""
    read_here(ParsedArguments(operands=parsed.operands[1:]), access)


# The machine and its tools


def _judge_numbers(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge operands that are numbers with an optional unit."""
    read_none(parsed, access)
    if any(re.fullmatch(r"[0-9.]+[smhd]?", word.text) is None for word in parsed.operands):
        raise UndecidableCommand(reasons.NOT_A_NUMBER)


def _judge_date(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge date; an operand that is no format would set the clock."""
    read_none(parsed, access)
    if any(re.fullmatch(r"\+[^\x00-\x1f]*", word.text) is None for word in parsed.operands):
        raise UndecidableCommand(reasons.CLOCK)


_PS_LETTERS = re.compile(r"[auxwf]+")
_PS_FLAGS_BESIDE_E = frozenset({"-e", "-A", "-a", "-f", "-F", "-l", "-d", "-o", "--sort"})
_PS_COLUMN = re.compile(
    r"pid|ppid|pgid|sid|tty|tt|user|uid|gid|group|comm|command|cmd|args|stat|state|pcpu|pmem|%cpu"
    r"|%mem|rss|vsz|time|etime|start|lstart|ni|pri|nice"
)


def _judge_ps(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge ps; the letter `e` would show the environment of processes."""
    read_none(parsed, access)
    # Security: if ps cannot read its flags in the style of System V, for example because of a `x`
    # or an unknown user, it reads all of them in the style of BSD, where `-e` is that letter.
    may_be_bsd = parsed.operands or not _PS_FLAGS_BESIDE_E.issuperset(parsed.flags)
    if (parsed.has("-e") and may_be_bsd) or any(
        _PS_LETTERS.fullmatch(word.text) is None for word in parsed.operands
    ):
        raise UndecidableCommand(reasons.PROCESS_ENVIRONMENT)
    columns = [name for word in parsed.values_of("-o") for name in word.text.split(",")]
    if any(_PS_COLUMN.fullmatch(column.partition("=")[0]) is None for column in columns):
        raise UndecidableCommand(reasons.PROCESS_COLUMNS)


_HARMLESS_SHELL_OPTIONS = frozenset({"pipefail", "errexit", "nounset", "xtrace"})
_HARMLESS_SHELL_FLAGS = re.compile(r"[-+][euxo]+")


def _judge_set(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge `set`: options that end a line earlier or print it; others change what it means."""
    del options, access
    texts = [word.text for word in words if word.is_literal]
    are_known = len(texts) == len(words) > 0 and all(
        _HARMLESS_SHELL_FLAGS.fullmatch(text) or text in _HARMLESS_SHELL_OPTIONS for text in texts
    )
    if not are_known or not texts[0].startswith(("-", "+")):
        raise UndecidableCommand(reasons.SHELL_OPTIONS)


def _judge_printenv(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge printenv; without a name it would show all variables."""
    del options, access
    if not words or not all(word.is_literal and is_shown_variable(word.text) for word in words):
        raise UndecidableCommand(reasons.SHOWN_VARIABLES)


def _judge_command(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge `command`: with -v it describes a name, otherwise it runs one."""
    if not parsed.has("-v", "-V"):
        raise UndecidableCommand(reasons.RUNS_COMMAND)
    read_none(parsed, access)


_SAFE_GO_SETTINGS = re.compile(
    r"GO(?:ROOT|PATH|MODCACHE|CACHE|OS|ARCH|VERSION|MOD|WORK|BIN|EXE|TOOLCHAIN|TOOLDIR|HOSTOS|HOSTARCH"
    r"|FLAGS|EXPERIMENT|111MODULE)|CGO_ENABLED|CC|CXX"
)
_GO_FLAGS: dict[str, str] = {
    "version": "-m -v",
    "env": "-json",
    "doc": "-all -c -cmd -short -src -u",
    "list": "-m -json -f -deps -e -find -test -versions -retracted",
}


def _judge_go(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge go's queries; others build, run, download or change settings.

    What passes runs without the network and with the installed version of go only.
    """
    del options
    name, *rest = words or [Word("")]
    flags = _GO_FLAGS.get(name.text, "").split()
    if not flags or not all(word.is_literal for word in words):
        raise UndecidableCommand(reasons.GO_COMMAND)
    operands = [word for word in rest if not word.text.startswith("-")]
    for word in rest:
        flag = word.text.partition("=")[0]
        # `go list -u` and `go doc -http` go online.
        if word.text.startswith("-") and (
            flag not in flags or (flag == "-u" and name.text != "doc")
        ):
            raise UndecidableCommand(reasons.flag(word.text))
    # Without a name it shows all of them; those with addresses and keys are overridden.
    if name.text == "env" and not all(_SAFE_GO_SETTINGS.fullmatch(word.text) for word in operands):
        raise UndecidableCommand(reasons.GO_SETTINGS)
    if name.text != "env":
        for word in operands:
            access.record_read(Word(word.text.removesuffix("/...")))


def _judge_gofmt(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge gofmt; it reads the Go files below its operands."""
    for word in parsed.operands:
        access.record_search(word, SearchedTree("", name_patterns=("*.go",)))


def _judge_pip(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge pip's local queries; those that contact a package index are not included.

    Absent is `freeze`: it runs git and Mercurial in the directories of editable packages.
    """
    name, *rest = words or [Word("")]
    if name.text == "check" and not rest:
        return
    if not name.is_literal or name.text not in {"list", "show"}:
        raise UndecidableCommand(reasons.PACKAGES)
    read_none(parse_arguments(options, rest), access)


ARGUMENTS_JUDGES: dict[str, Callable[[ParsedArguments, AccessRecorder], None]] = {
    "read_all": read_all,
    "read_here": read_here,
    "read_none": read_none,
    "command": _judge_command,
    "date": _judge_date,
    "diff": _judge_diff,
    "fd": _judge_fd,
    "gofmt": _judge_gofmt,
    "grep": _judge_grep,
    "jq": _judge_jq,
    "numbers": _judge_numbers,
    "ps": _judge_ps,
    "rg": _judge_rg,
    "sed": judge_sed,
}
WORDS_JUDGES: dict[str, Callable[[AllowedOptions, Sequence[Word], AccessRecorder], None]] = {
    "awk": judge_awk,
    "echo": _judge_echo,
    "find": _judge_find,
    "git": judge_git,
    "go": _judge_go,
    "pip": _judge_pip,
    "printenv": _judge_printenv,
    "printf": _judge_printf,
    "set": _judge_set,
    "strings": _judge_strings,
}
