"""Commands that report about the machine and its tools, with their harmless flags."""

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
    read_none,
)
from acp_server.permissions.shell.words import Word

_PS_LETTERS = re.compile(r"[auxwf]+")
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
_PLAIN_DATE = re.compile(r"\+[^\x00-\x1f]*")

# Flags that only show the version. Security: deliberately absent are programs for which a file of
# the project selects the code that runs even then: rustc, cargo (rust-toolchain.toml), yarn
# (yarnPath), pnpm, go (toolchain), gradle, mvn (jvm.config), pytest (plug-ins).
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


def _judge_numbers(parsed: Parsed, access: Access) -> None:
    """Judge operands that are numbers with an optional unit."""
    read_none(parsed, access)
    if any(re.fullmatch(r"[0-9.]+[smhd]?", word.text) is None for word in parsed.operands):
        raise Unclear("it has an operand that is no number")


def _judge_date(parsed: Parsed, access: Access) -> None:
    """Judge date; an operand that is no format would set the clock."""
    read_none(parsed, access)
    if any(_PLAIN_DATE.fullmatch(word.text) is None for word in parsed.operands):
        raise Unclear("it may set the clock")


def _judge_ps(parsed: Parsed, access: Access) -> None:
    """Judge ps; the letter `e` would show the environment of processes."""
    read_none(parsed, access)
    if any(_PS_LETTERS.fullmatch(word.text) is None for word in parsed.operands):
        raise Unclear("it may show the environment of processes")
    columns = [name for word in parsed.values_of("-o") for name in word.text.split(",")]
    if any(column.partition("=")[0] not in _PS_COLUMNS for column in columns):
        raise Unclear("it shows columns that are not known to be harmless")


def _judge_command(parsed: Parsed, access: Access) -> None:
    """Judge `command`: with -v it describes a name, otherwise it runs one."""
    if not parsed.has("-v", "-V"):
        raise Unclear("it runs another command")
    read_none(parsed, access)


def _judge_pip(words: Sequence[Word], access: Access) -> None:
    """Judge pip's local queries; those that contact a package index are not included."""
    name, *rest = words or [Word("")]
    options = Options(
        "v", long="verbose not-required user local editable files all", long_valued="format"
    )
    if name.text == "check" and not rest:
        return
    if not name.is_literal or name.text not in {"list", "show", "freeze"}:
        raise Unclear("it is not known to only list packages")
    Command(options, read_none)(rest, access)


def _judge_npm(words: Sequence[Word], access: Access) -> None:
    """Judge npm's list of installed packages."""
    name, *rest = words or [Word("")]
    if not name.is_literal or name.text not in {"ls", "list", "root", "bin"}:
        raise Unclear("it is not known to only list packages")
    Command(Options("ag", long="all json long parseable global", long_valued="depth"), read_none)(
        rest, access
    )


def _judge_uv(words: Sequence[Word], access: Access) -> None:
    """Judge uv's queries through its pip interface."""
    if not words or words[0] != Word("pip") or words[1:2] == [Word("check")]:
        raise Unclear("it is not known to only list packages")
    _judge_pip(words[1:], access)


def with_version(name: str, judge: WordsJudge | None) -> WordsJudge:
    """Return a judge that also accepts the version flag as the only argument."""
    flags = _VERSION_FLAGS.get(name, "").split()

    def judge_tool(words: Sequence[Word], access: Access) -> None:
        if len(words) == 1 and words[0].is_literal and words[0].text in flags:
            return
        if judge is None:
            raise Unclear(f"{name} is not known to only read")
        judge(words, access)

    return judge_tool


_NO_OPERANDS = at_most(0, read_none)

SYSTEM_COMMANDS: dict[str, WordsJudge] = {
    ":": Command(Options(), read_none),
    "true": Command(Options(), read_none),
    "false": Command(Options(), read_none),
    "exit": Command(Options(), _judge_numbers),
    "sleep": Command(Options(), _judge_numbers),
    "pwd": Command(Options("LP"), _NO_OPERANDS),
    "date": Command(
        Options("uRI", valued="d", long="utc universal rfc-email iso-8601", long_valued="date"),
        _judge_date,
    ),
    "which": Command(Options("as"), read_none),
    "type": Command(Options("aptPf"), read_none),
    "command": Command(Options("vVp"), _judge_command),
    "nproc": Command(Options(long="all"), _NO_OPERANDS),
    "uname": Command(Options("amnoprsvi", long="all kernel-name machine"), _NO_OPERANDS),
    "arch": Command(Options(), _NO_OPERANDS),
    "id": Command(Options("ugGnr", long="user group groups name real"), read_none),
    "groups": Command(Options(), read_none),
    "whoami": Command(Options(), _NO_OPERANDS),
    "hostname": Command(Options("fsIid", long="fqdn short ip-address"), _NO_OPERANDS),
    "uptime": Command(Options("ps", long="pretty since"), _NO_OPERANDS),
    "free": Command(Options("bkmghtwl", long="human mega giga total wide si"), _NO_OPERANDS),
    "lscpu": Command(Options("J"), _NO_OPERANDS),
    "sw_vers": Command(Options(long="productName productVersion buildVersion"), _NO_OPERANDS),
    "cal": Command(Options("13y"), read_none),
    "tty": Command(Options("s"), _NO_OPERANDS),
    "ps": Command(Options("eAaflFdxu", valued="pUGto", long_valued="sort pid ppid"), _judge_ps),
    "pgrep": Command(Options("aflnoxiv", valued="uPtG", long="full list-name"), read_none),
    "pip": _judge_pip,
    "pip3": _judge_pip,
    "npm": _judge_npm,
    "uv": _judge_uv,
}

TOOLS: dict[str, WordsJudge] = {
    name: with_version(name, SYSTEM_COMMANDS.get(name))
    for name in (*_VERSION_FLAGS, *SYSTEM_COMMANDS)
}
