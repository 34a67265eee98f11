"""Commands that report about the machine and its tools, with their harmless flags."""

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
    read_none,
)
from acp_server.permissions.shell.words import Word

_PS_LETTERS = re.compile(r"[auxwf]+")
_PS_FLAGS_BESIDE_E = frozenset({"-e", "-A", "-a", "-f", "-F", "-l", "-d", "-o", "--sort"})
_PS_COLUMNS = frozenset(
    [
        "pid",
        "ppid",
        "pgid",
        "sid",
        "tty",
        "tt",
        "user",
        "uid",
        "gid",
        "group",
        "comm",
        "command",
        "cmd",
        "args",
        "stat",
        "state",
        "pcpu",
        "pmem",
        "%cpu",
        "%mem",
        "rss",
        "vsz",
        "time",
        "etime",
        "start",
        "lstart",
        "ni",
        "pri",
        "nice",
    ]
)
_DATE_FORMAT = re.compile(r"\+[^\x00-\x1f]*")

# Flags that only show the version. Security: deliberately absent are programs for which a file of
# the project selects the code that runs even then: rustc, cargo (rust-toolchain.toml), yarn
# (yarnPath), pnpm, go (toolchain), gradle, mvn (jvm.config), pytest (plug-ins). npm and uv show
# their version only: `uv pip list` runs the interpreter of the project's `.venv`, and `npm ls`
# writes logs and asks for updates where the project's `.npmrc` says.
_VERSION_FLAGS = {
    "bash": "--version",
    "cc": "--version",
    "clang": "--version",
    "cmake": "--version",
    "curl": "--version -V",
    "docker": "--version -v",
    "g++": "--version",
    "gcc": "--version -v",
    "gh": "--version",
    "java": "-version --version",
    "make": "--version -v",
    "node": "--version -v",
    "npm": "--version -v",
    "perl": "--version -v",
    "php": "--version -v",
    "pip": "--version -V",
    "pip3": "--version -V",
    "python": "--version -V -VV",
    "python3": "--version -V -VV",
    "ruby": "--version -v",
    "ruff": "--version -V",
    "sqlite3": "--version",
    "tar": "--version",
    "uv": "--version -V",
}


def _judge_numbers(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge operands that are numbers with an optional unit."""
    read_none(parsed, access)
    if any(re.fullmatch(r"[0-9.]+[smhd]?", word.text) is None for word in parsed.operands):
        raise UndecidableCommand("it has an operand that is no number")


def _judge_date(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge date; an operand that is no format would set the clock."""
    read_none(parsed, access)
    if any(_DATE_FORMAT.fullmatch(word.text) is None for word in parsed.operands):
        raise UndecidableCommand("it may set the clock")


def _judge_ps(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge ps; the letter `e` would show the environment of processes."""
    read_none(parsed, access)
    # Security: if ps cannot read its flags in the style of System V, for example because of a `x`
    # or an unknown user, it reads all of them in the style of BSD, where `-e` is that letter.
    may_be_bsd = parsed.operands or not _PS_FLAGS_BESIDE_E.issuperset(parsed.flags)
    if (parsed.has("-e") and may_be_bsd) or any(
        _PS_LETTERS.fullmatch(word.text) is None for word in parsed.operands
    ):
        raise UndecidableCommand("it may show the environment of processes")
    columns = [name for word in parsed.values_of("-o") for name in word.text.split(",")]
    if any(column.partition("=")[0] not in _PS_COLUMNS for column in columns):
        raise UndecidableCommand("it shows columns that are not known to be harmless")


def _judge_command(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge `command`: with -v it describes a name, otherwise it runs one."""
    if not parsed.has("-v", "-V"):
        raise UndecidableCommand("it runs another command")
    read_none(parsed, access)


def _judge_pip(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge pip's local queries; those that contact a package index are not included."""
    name, *rest = words or [Word("")]
    # Absent: `--python`, which names an interpreter to run, and `--outdated`, which goes online.
    options = AllowedOptions(
        "v",
        long_flags="verbose not-required user local editable files all",
        long_value_flags="format",
    )
    if name.text == "check" and not rest:
        return
    if not name.is_literal or name.text not in {"list", "show", "freeze"}:
        raise UndecidableCommand("it is not known to only list packages")
    ReadOnlyCommand(options, read_none)(rest, access)


def allow_version_flag(name: str, judge: WordsJudge | None) -> WordsJudge:
    """Return a judge that also accepts the version flag as the only argument."""
    flags = _VERSION_FLAGS.get(name, "").split()

    def judge_tool(words: Sequence[Word], access: AccessRecorder) -> None:
        # Alone only: with a further word a flag may mean something else; `gcc -v x.c` compiles.
        if len(words) == 1 and words[0].is_literal and words[0].text in flags:
            return
        if judge is None:
            raise UndecidableCommand(f"{name} is not known to only read")
        judge(words, access)

    return judge_tool


_NO_OPERANDS = limit_operands(0, read_none)

SYSTEM_COMMANDS: dict[str, WordsJudge] = {
    ":": ReadOnlyCommand(AllowedOptions(), read_none),
    "true": ReadOnlyCommand(AllowedOptions(), read_none),
    "false": ReadOnlyCommand(AllowedOptions(), read_none),
    "exit": ReadOnlyCommand(AllowedOptions(), _judge_numbers),
    "sleep": ReadOnlyCommand(AllowedOptions(), _judge_numbers),
    "pwd": ReadOnlyCommand(AllowedOptions("LP"), _NO_OPERANDS),
    "date": ReadOnlyCommand(
        AllowedOptions(
            # Absent: `-s` sets the clock, and the errors of `-f` show the lines of any file.
            "uRI",
            value_flags="d",
            long_flags="utc universal rfc-email iso-8601",
            long_value_flags="date",
        ),
        _judge_date,
    ),
    "which": ReadOnlyCommand(AllowedOptions("as"), read_none),
    "type": ReadOnlyCommand(AllowedOptions("aptPf"), read_none),
    "command": ReadOnlyCommand(AllowedOptions("vVp", flags_first=True), _judge_command),
    "nproc": ReadOnlyCommand(AllowedOptions(long_flags="all"), _NO_OPERANDS),
    "uname": ReadOnlyCommand(
        AllowedOptions("amnoprsvi", long_flags="all kernel-name machine"), _NO_OPERANDS
    ),
    "arch": ReadOnlyCommand(AllowedOptions(), _NO_OPERANDS),
    "id": ReadOnlyCommand(
        AllowedOptions("ugGnr", long_flags="user group groups name real"), read_none
    ),
    "groups": ReadOnlyCommand(AllowedOptions(), read_none),
    "whoami": ReadOnlyCommand(AllowedOptions(), _NO_OPERANDS),
    # An operand would set the host name.
    "hostname": ReadOnlyCommand(
        AllowedOptions("fsIid", long_flags="fqdn short ip-address"), _NO_OPERANDS
    ),
    "uptime": ReadOnlyCommand(AllowedOptions("ps", long_flags="pretty since"), _NO_OPERANDS),
    "free": ReadOnlyCommand(
        AllowedOptions("bkmghtwl", long_flags="human mega giga total wide si"), _NO_OPERANDS
    ),
    "lscpu": ReadOnlyCommand(AllowedOptions("J"), _NO_OPERANDS),
    "sw_vers": ReadOnlyCommand(
        AllowedOptions(long_flags="productName productVersion buildVersion"), _NO_OPERANDS
    ),
    "cal": ReadOnlyCommand(AllowedOptions("13y"), read_none),
    "tty": ReadOnlyCommand(AllowedOptions("s"), _NO_OPERANDS),
    "ps": ReadOnlyCommand(
        AllowedOptions("eAaflFdxu", value_flags="pUGto", long_value_flags="sort pid ppid"),
        _judge_ps,
    ),
    "pgrep": ReadOnlyCommand(
        AllowedOptions("aflnoxiv", value_flags="uPtG", long_flags="full list-name"), read_none
    ),
    "pip": _judge_pip,
    "pip3": _judge_pip,
}

SYSTEM_AND_VERSION_COMMANDS: dict[str, WordsJudge] = {
    name: allow_version_flag(name, SYSTEM_COMMANDS.get(name))
    for name in (*_VERSION_FLAGS, *SYSTEM_COMMANDS)
}
