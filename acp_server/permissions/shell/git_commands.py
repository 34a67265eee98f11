"""Judge calls of git by the table of its read-only subcommands.

Security: git runs programs that a repository's own configuration names: diff drivers, text
converters, filters. So each use of git is recorded, and callers must check the settings of the
repositories that it reaches, in each directory that it may run in. Writes into a `.git` directory
must always ask.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.dangers import describe_git
from acp_server.permissions.shell.findings import (
    GitOutput,
    GitUse,
    SearchedTree,
    UndecidableCommand,
)
from acp_server.permissions.shell.options import (
    AllowedOptions,
    ParsedArguments,
    parse_arguments,
    searched_operands,
)
from acp_server.permissions.shell.read_only_commands import (
    ReadOnlyCommand,
    load_read_only_commands,
)
from acp_server.permissions.shell.words import Word
from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass

_MAGIC = re.compile(r"[*?\[]")
_HARMLESS_CONFIG_KEYS = re.compile(
    r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|(?:push|pull|merge|diff|color|fetch)\.[\w.]+"
    r"|branch\.[\w./-]+|remote\.[\w.-]+\.(?:url|fetch|pushurl))"
)


def _judge_show(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a subcommand whose operands are revisions or paths, which look alike: all are read."""
    parsed = parse_arguments(command.options, words)
    for word in parsed.values_of("-L"):
        access.record_path_read(word.text.rpartition(":")[2])
    for word in parsed.operands:
        _read_operand(word, access)


def _judge_diff(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge `git diff`: outside a repository it compares all files of two directories."""
    _judge_show(command, words, access)
    for word in parse_arguments(command.options, words).operands:
        access.record_search(word, SearchedTree(""))


def _read_operand(word: Word, access: AccessRecorder) -> None:
    # `:(glob)*`, `:!x` and `*` reach git itself, so the shell has not expanded them.
    if word.is_literal and (word.text.startswith(":") or _MAGIC.search(word.text)):
        raise UndecidableCommand(reasons.GIT_PATTERN)
    access.record_read(word)
    # `REVISION:path` names a file of the repository; the path is recorded, too.
    if word.is_literal:
        # The revision may hold a colon, too: `HEAD^{/fix: x}:path`.
        parts = word.text.split(":")
        for index in range(1, len(parts)):
            access.record_path_read(":".join(parts[index:]))


def _judge_names(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a subcommand that only lists names; git may expand the patterns."""
    parsed = parse_arguments(command.options, words)
    _check_format(parsed)
    for word in parsed.operands:
        access.record_read(word)


def _check_format(parsed: ParsedArguments) -> None:
    """Check that a format shows no contents of files: `%(raw)` does, of a reference to a file."""
    texts = [word.text for word in parsed.values_of("--format")]
    # A wildcard could match a file that is named like the whole flag.
    if any("raw" in text or _MAGIC.search(text) for text in texts):
        raise UndecidableCommand(reasons.GIT_FORMAT)


def _judge_grep(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a search of tracked files."""
    parsed = parse_arguments(command.options, words)
    operands = searched_operands(parsed, has_pattern=parsed.has("-e"))
    for word in operands:
        _read_operand(word, access)
        access.record_search(word, SearchedTree(""))
    if not operands:
        access.record_search(Word("."), SearchedTree(""))


def _judge_listing(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a listing subcommand; an operand makes it change something unless a flag lists."""
    del access
    parsed = parse_arguments(command.options, words)
    _check_format(parsed)
    listing_flags = command.table.get("listing_flags", "").split()
    if parsed.operands and not parsed.has(*listing_flags):
        raise UndecidableCommand(reasons.GIT_LISTING)
    if any(not word.is_literal for word in parsed.operands):
        raise UndecidableCommand(reasons.UNKNOWN_WORD)


def _judge_reflog(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    changing = {"expire", "delete", "drop", "write"}
    if any(not word.is_literal or word.text in changing for word in words):
        raise UndecidableCommand(reasons.GIT_REFLOG)
    is_named = bool(words) and words[0] == Word("show")
    _judge_show(command, words[1:] if is_named else words, access)


def _judge_config(command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a query for one setting; others may hold a password or token."""
    del command, access
    texts = [word.text for word in words if word.is_literal]
    queries = {"--get", "--get-all", "get", "--local", "--global", "--system"}
    names = [text for text in texts if text not in queries]
    # With a second operand it would set the first.
    is_query = len(texts) == len(words) and len(names) == 1 and names == texts[-1:]
    if not is_query or names[0].startswith("-"):
        raise UndecidableCommand(reasons.GIT_SETTINGS)
    if _HARMLESS_CONFIG_KEYS.fullmatch(names[0]) is None:
        raise UndecidableCommand(reasons.GIT_PRIVATE)


GIT_JUDGES: dict[str, Callable[[ReadOnlyCommand, Sequence[Word], AccessRecorder], None]] = {
    "config": _judge_config,
    "diff": _judge_diff,
    "grep": _judge_grep,
    "listing": _judge_listing,
    "names": _judge_names,
    "reflog": _judge_reflog,
    "show": _judge_show,
}


def judge_git(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a call of git by its subcommand.

    Raises:
        UndecidableCommand: The subcommand or a flag may change or run something.
    """
    del options
    rest = list(words)
    # Security: absent are `-c`, `--exec-path` and `--git-dir`, which choose what git runs.
    while rest and rest[0].text in {"--no-pager", "-P", "--no-optional-locks", "-C"}:
        if rest.pop(0).text != "-C":
            continue
        if not rest or not rest[0].is_literal:
            raise UndecidableCommand(reasons.GIT_FOLDER)
        folder = rest.pop(0)
        access.record_read(folder)
        scope = access.scope.with_directories(access.scope.resolve_paths(folder.text))
        access = AccessRecorder(access.findings, scope)
    subcommands = load_read_only_commands().git
    names = [word.text if word.is_literal else "" for word in rest[:2]]
    # A quoted blank makes one word of two, which is no entry of the table.
    length = 2 if " ".join(names) in subcommands and len(names) > 1 else 1
    command = subcommands.get(" ".join(names[:length]))
    if command is None or any(" " in name for name in names[:length]):
        raise UndecidableCommand(describe_git(names[0] if names else ""))
    if "asks" in command.table:
        raise UndecidableCommand(command.table["asks"])
    GIT_JUDGES[command.table.get("judge", "")](command, rest[length:], access)
    use = _describe_use(" ".join(names[:length]), command, rest[length:], access)
    access.findings.git_uses[use] = None


def follow_git_directory(
    words: tuple[Word, ...], access: AccessRecorder
) -> tuple[tuple[Word, ...], AccessRecorder]:
    """Return `git -C DIR …` as `git …` in that directory; anything else as it is.

    Raises:
        UndecidableCommand: The directory is no ordinary one.
    """
    while (
        [word.text for word in words[:2] if word.is_literal] == ["git", "-C"]
        and len(words) > len(("git", "-C", "DIR"))
        and words[2].is_literal
        and not words[2].text.startswith("-")
    ):
        access.record_read(words[2])
        scope = access.scope.with_directories(access.scope.resolve_paths(words[2].text))
        words, access = (words[0], *words[3:]), AccessRecorder(access.findings, scope)
    return words, access


def record_unknown_git_use(words: Sequence[Word], access: AccessRecorder) -> None:
    """Record a use of git that may do more than read, or that another program starts."""
    names = [word.text.rpartition("/")[2] if word.is_literal else "" for word in words]
    if "git" not in names:
        return
    rest = names[names.index("git") + 1 :]
    subcommand = rest[0] if rest else ""
    known = load_read_only_commands().git.get(subcommand)
    prints = known is not None and known.table.get("output", "")
    use = GitUse(access.scope.directories, subcommand, "any" if prints else "")
    access.findings.git_uses[use] = None


@frozen_dataclass
class _FlagGroups:
    """Flags by what they do to git's output, from `git_commands.toml`."""

    selecting: frozenset[str]
    """They choose which commits or changes are shown."""
    naming: frozenset[str]
    """Names or counts take the place of changes."""
    silent: frozenset[str]
    """With these alone, `git log` prints no content of files."""


@cache
def _flag_groups() -> _FlagGroups:
    groups = {name: frozenset(flags) for name, flags in read_word_lists(__file__).items()}
    selecting, naming = groups["selecting"], groups["naming"]
    silent = selecting | naming | groups["formatting"]
    return _FlagGroups(selecting | groups["comparing"], naming, silent)


def _describe_use(
    subcommand: str, command: ReadOnlyCommand, words: Sequence[Word], access: AccessRecorder
) -> GitUse:
    """Return a use of git that only reads, with the part that decides what it may print."""
    if subcommand == "config":
        return GitUse(access.scope.directories, subcommand, "")
    if subcommand == "reflog" and words and words[0] == Word("show"):
        words = words[1:]
    parsed = parse_arguments(command.options, words)
    # After `--`, all words are operands.
    path_count = next(
        (len(words) - index - 1 for index, word in enumerate(words) if word.text == "--"), 0
    )
    revision_count = len(parsed.operands) - path_count
    literals = [word.text if word.is_literal else "" for word in parsed.operands]
    return GitUse(
        access.scope.directories,
        subcommand,
        _find_output(subcommand, command, parsed),
        tuple(_selecting_words(parsed)),
        tuple(filter(None, literals[:revision_count])),
        tuple(filter(None, literals[revision_count:])),
        has_globs="" in literals,
    )


def _find_output(subcommand: str, command: ReadOnlyCommand, parsed: ParsedArguments) -> GitOutput:
    output = command.table.get("output", "")
    flags, groups = frozenset(parsed.flags), _flag_groups()
    shows_names = bool(flags & groups.naming) and flags <= groups.silent
    match subcommand:
        case "status":
            is_printing = bool(flags & {"-v", "--verbose"})
        case "cat-file":
            is_printing = not flags & {"-t", "-s", "-e"}
        case "show" | "grep":
            # Objects and files are printed whatever the format of changes is.
            is_printing = True
        case "diff":
            is_printing = not shows_names
        case _:
            is_printing = subcommand == "stash show" or not flags <= groups.silent
    if subcommand == "show" and shows_names:
        return "objects"
    return output if is_printing else ""


def _selecting_words(parsed: ParsedArguments) -> Iterator[str]:
    """Yield the flags, spelled so that each with its value is one word."""
    for flag, last in parsed.flags.items():
        if flag not in _flag_groups().selecting:
            continue
        values = parsed.values_of(flag) or ((last,) if last is not None else ())
        if flag == "-0":
            yield from (value.text for value in values)
        elif values:
            gap = "=" if flag.startswith("--") else ""
            yield from (f"{flag}{gap}{value.text}" for value in values)
        else:
            yield flag
