"""Read-only git subcommands and their flags.

Security: git runs programs that a repository's own configuration names: diff drivers, text
converters, a file system monitor, a pager. So callers must ensure two things: writes into a `.git`
directory always ask, and git counts as read-only only in the directory where the command line
begins. Elsewhere a bare repository may be waiting that was written file by file.
"""

import re
from collections.abc import Sequence
from functools import partial

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import SearchedTree, UndecidableCommand
from acp_server.permissions.shell.options import AllowedOptions, WordsJudge, parse_arguments
from acp_server.permissions.shell.scope import normalize_path
from acp_server.permissions.shell.search_commands import searched_operands
from acp_server.permissions.shell.words import Word

_COMMIT_LONG = (
    " oneline graph decorate all branches tags remotes no-merges merges first-parent reverse"
    " abbrev-commit no-abbrev-commit follow date-order topo-order author-date-order full-history"
    " simplify-by-decoration left-right cherry-pick cherry cherry-mark boundary relative-date"
    " pretty format date no-decorate source all-match invert-grep regexp-ignore-case"
)
_COMMIT_VALUED = (
    " author committer grep since after until before max-count skip exclude glob"
    " min-parents max-parents"
)
# Absent: `--output` writes a file, `--ext-diff` and `--textconv` run programs.
_DIFF_LONG = (
    " patch no-patch stat shortstat numstat dirstat summary name-only name-status check color"
    " no-color word-diff color-words cached staged raw minimal patience histogram unified"
    " ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol find-renames"
    " find-copies no-renames full-index binary abbrev exit-code quiet text relative no-prefix"
    " function-context compact-summary no-ext-diff no-textconv merge-base cc combined-all-paths"
    " pickaxe-regex pickaxe-all inter-hunk-context"
)
_DIFF_VALUED = " diff-filter diff-algorithm word-diff-regex ignore-matching-lines"
_DIFF = AllowedOptions(
    "puswbRzacm",
    value_flags="SGIn",
    optional_value_flags="MCUBD",
    long_flags=_DIFF_LONG,
    long_value_flags=_DIFF_VALUED,
    takes_number=True,
)
_LOG = AllowedOptions(
    "puswbRzacmig",
    value_flags="SGInL",
    optional_value_flags="MCUBD",
    long_flags=_DIFF_LONG + _COMMIT_LONG,
    long_value_flags=_DIFF_VALUED + _COMMIT_VALUED,
    takes_number=True,
)
_LISTING = (
    " list all remotes verbose merged no-merged contains no-contains points-at sort format column"
    " no-column color ignore-case show-current"
)
_MAGIC = re.compile(r"[*?\[]")
_HARMLESS_CONFIG_KEYS = re.compile(
    r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|(?:push|pull|merge|diff|color|fetch)\.[\w.]+"
    r"|branch\.[\w./-]+|remote\.[\w.-]+\.(?:url|fetch|pushurl))"
)


def _judge_show(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a subcommand whose operands are revisions or paths, which look alike: all are read."""
    parsed = parse_arguments(options, words)
    for word in parsed.values_of("-L"):
        access.record_path_read(word.text.rpartition(":")[2])
    for word in parsed.operands:
        _read_operand(word, access)


def _judge_diff(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge `git diff`: outside a repository it compares all files of two directories."""
    _judge_show(options, words, access)
    for word in parse_arguments(options, words).operands:
        access.record_search(word, SearchedTree(""))


def _read_operand(word: Word, access: AccessRecorder) -> None:
    # `:(glob)*`, `:!x` and `*` reach git itself, so the shell has not expanded them.
    if word.is_literal and (word.text.startswith(":") or _MAGIC.search(word.text)):
        raise UndecidableCommand("git itself would pick the files by a pattern")
    access.record_read(word)
    # `REVISION:path` names a file of the repository; the path is recorded, too.
    if word.is_literal:
        # The revision may hold a colon, too: `HEAD^{/fix: x}:path`.
        parts = word.text.split(":")
        for index in range(1, len(parts)):
            access.record_path_read(":".join(parts[index:]))


def _judge_names(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a subcommand that only lists names; git may expand the patterns."""
    for word in parse_arguments(options, words).operands:
        access.record_read(word)


def _judge_grep(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a search of tracked files."""
    # Absent: `-O` runs a pager, `-f` reads a file.
    options = AllowedOptions(
        "nilLcwvEFPphHoqI",
        value_flags="eABCm",
        long_flags="line-number ignore-case files-with-matches count word-regexp heading"
        " break column"
        " fixed-strings extended-regexp perl-regexp name-only show-function only-matching",
        long_value_flags="max-depth max-count",
        takes_number=True,
    )
    parsed = parse_arguments(options, words)
    operands = searched_operands(parsed, has_pattern=parsed.has("-e"))
    for word in operands:
        _read_operand(word, access)
        access.record_search(word, SearchedTree(""))
    if not operands:
        access.record_search(Word("."), SearchedTree(""))


def _judge_listing(
    options: AllowedOptions,
    listing_flags: tuple[str, ...],
    words: Sequence[Word],
    access: AccessRecorder,
) -> None:
    """Judge a listing subcommand; an operand makes it change something unless a flag lists."""
    del access
    parsed = parse_arguments(options, words)
    if parsed.operands and not parsed.has(*listing_flags):
        raise UndecidableCommand("it may make or change what it names")
    if any(not word.is_literal for word in parsed.operands):
        raise UndecidableCommand("a word in it is only known when it runs")


def _judge_stash(words: Sequence[Word], access: AccessRecorder) -> None:
    if words and words[0] == Word("list"):
        _judge_show(_LOG, words[1:], access)
    elif words and words[0] == Word("show"):
        _judge_show(_DIFF, words[1:], access)
    else:
        raise UndecidableCommand("git stash changes files")


def _judge_remote(words: Sequence[Word], access: AccessRecorder) -> None:
    if words and words[0] == Word("get-url"):
        _judge_names(AllowedOptions(long_flags="all push"), words[1:], access)
    else:
        _judge_listing(AllowedOptions("v", long_flags="verbose"), (), words, access)


def _judge_worktree(words: Sequence[Word], access: AccessRecorder) -> None:
    if not words or words[0] != Word("list"):
        raise UndecidableCommand("git worktree changes folders")
    _judge_listing(AllowedOptions("vz", long_flags="porcelain verbose"), (), words[1:], access)


def _judge_reflog(words: Sequence[Word], access: AccessRecorder) -> None:
    changing = {"expire", "delete", "drop", "write"}
    if any(not word.is_literal or word.text in changing for word in words):
        raise UndecidableCommand("git reflog changes history")
    rest = words[1:] if words and words[0] == Word("show") else words
    _judge_show(_LOG, rest, access)


def _judge_config(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a query for one setting; others may hold a password or token."""
    del access
    texts = [word.text for word in words if word.is_literal]
    if len(texts) != len(words) or texts[:1] != ["--get"] or len(texts[1:]) != 1:
        raise UndecidableCommand("it may show or change any setting of git")
    if _HARMLESS_CONFIG_KEYS.fullmatch(texts[1]) is None:
        raise UndecidableCommand("it shows a setting that may be secret")


_BRANCH = AllowedOptions("arvi", long_flags=_LISTING)
_STATUS = AllowedOptions(
    "sbvz",
    optional_value_flags="u",
    long_flags="short branch porcelain long verbose ignored untracked-files show-stash ahead-behind"
    " no-ahead-behind renames no-renames column no-column ignore-submodules",
)
_REVISIONS = AllowedOptions(
    "q",
    long_flags="abbrev-ref verify short show-toplevel show-prefix show-cdup git-dir git-common-dir"
    " is-inside-work-tree is-bare-repository is-inside-git-dir symbolic symbolic-full-name all"
    " branches tags remotes absolute-git-dir quiet is-shallow-repository",
)
_TREE = AllowedOptions(
    "rtdlz", long_flags="name-only name-status long full-name full-tree abbrev object-only"
)
_FILES = AllowedOptions(
    "cdmosiktuvz",
    value_flags="x",
    long_flags="cached deleted modified others ignored stage unmerged killed"
    " exclude-standard full-name"
    " error-unmatch deduplicate directory abbrev",
    long_value_flags="exclude",
)
# Absent: `--contents` and `-S`, which read a file.
_BLAME = AllowedOptions(
    "wpsetlfnc",
    value_flags="L",
    optional_value_flags="MC",
    long_flags="porcelain line-porcelain show-name show-number show-email date abbrev root",
    long_value_flags="since",
)
_REFS = AllowedOptions(
    long_flags="", long_value_flags="sort format count points-at merged no-merged contains"
)
_SHOW_REF = AllowedOptions(
    "dqs", long_flags="heads branches tags head dereference hash verify quiet"
)
_TAG = AllowedOptions("li", optional_value_flags="n", long_flags=_LISTING)
_COUNT = AllowedOptions("vH", long_flags="verbose human-readable")
_DESCRIBE = AllowedOptions(
    long_flags="tags all always dirty long abbrev contains exact-match first-parent broken",
    long_value_flags="match exclude candidates",
)
_SHORTLOG = AllowedOptions(
    "snecg",
    long_flags="summary numbered email group" + _COMMIT_LONG,
    long_value_flags=_COMMIT_VALUED,
)

GIT_SUBCOMMANDS: dict[str, WordsJudge] = {
    "status": partial(_judge_show, _STATUS),
    "log": partial(_judge_show, _LOG),
    "show": partial(_judge_show, _LOG),
    "diff": partial(
        _judge_diff,
        AllowedOptions(
            _DIFF.flags,
            _DIFF.value_flags,
            optional_value_flags=_DIFF.optional_value_flags,
            long_flags=_DIFF.long_flags + " no-index",
            long_value_flags=_DIFF.long_value_flags,
            takes_number=True,
        ),
    ),
    "diff-tree": partial(
        _judge_show, AllowedOptions("rptsz", long_flags=_DIFF_LONG + " no-commit-id root")
    ),
    "blame": partial(_judge_show, _BLAME),
    "grep": _judge_grep,
    "branch": partial(
        _judge_listing,
        _BRANCH,
        ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
    ),
    "tag": partial(_judge_listing, _TAG, ("-l", "--list", "--contains", "--merged", "--points-at")),
    "rev-parse": partial(_judge_names, _REVISIONS),
    "rev-list": partial(
        _judge_show,
        AllowedOptions(
            value_flags="n",
            long_flags="count all parents objects" + _COMMIT_LONG,
            long_value_flags=_COMMIT_VALUED,
            takes_number=True,
        ),
    ),
    "ls-files": partial(_judge_names, _FILES),
    "ls-tree": partial(_judge_names, _TREE),
    # Absent: `--textconv` and `--filters` run programs.
    "cat-file": partial(_judge_show, AllowedOptions("tspe")),
    "merge-base": partial(
        _judge_names, AllowedOptions("a", long_flags="all is-ancestor fork-point octopus")
    ),
    "describe": partial(_judge_names, _DESCRIBE),
    "name-rev": partial(_judge_names, AllowedOptions(long_flags="tags name-only always")),
    "shortlog": partial(_judge_show, _SHORTLOG),
    "for-each-ref": partial(_judge_names, _REFS),
    "show-ref": partial(_judge_names, _SHOW_REF),
    "check-ignore": partial(
        _judge_names, AllowedOptions("qvn", long_flags="quiet verbose non-matching no-index")
    ),
    "count-objects": partial(_judge_listing, _COUNT, ()),
    "version": partial(_judge_listing, AllowedOptions(long_flags="build-options"), ()),
    "stash": _judge_stash,
    "remote": _judge_remote,
    "worktree": _judge_worktree,
    "reflog": _judge_reflog,
    "config": _judge_config,
}


def judge_git(words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a call of git by its subcommand.

    Raises:
        UndecidableCommand: The subcommand or a flag may change or run something.
    """
    rest = list(words)
    if rest == [Word("--version")]:
        return
    # Security: absent are `-c`, `--exec-path` and `--git-dir`, which choose what git runs.
    while rest and rest[0].text in {"--no-pager", "-P", "--no-optional-locks", "-C"}:
        if rest.pop(0).text == "-C":
            access = _apply_directory_flag(rest, access)
    # Security: the configuration in another directory may make git run programs, see above.
    if any(
        folder != normalize_path(access.scope.start_directory)
        for folder in access.scope.directories
    ):
        raise UndecidableCommand("git may be set up in that folder to run something")
    if not rest or not rest[0].is_literal or rest[0].text not in GIT_SUBCOMMANDS:
        raise UndecidableCommand("this git command is not known to only read")
    GIT_SUBCOMMANDS[rest[0].text](rest[1:], access)


def _apply_directory_flag(rest: list[Word], access: AccessRecorder) -> AccessRecorder:
    """Return the recorder moved by `-C`; removes its value from the words."""
    if not rest or not rest[0].is_literal:
        raise UndecidableCommand("the folder git runs in is only known when it runs")
    word = rest.pop(0)
    access.record_read(word)
    return AccessRecorder(
        access.findings, access.scope.with_directories(access.scope.resolve_paths(word.text))
    )
