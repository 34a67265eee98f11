"""Read-only git subcommands and their flags.

Security: git runs programs that a repository's own configuration names: diff drivers, text
converters, a file system monitor, a pager. So callers must ensure two things: writes into a `.git`
directory always ask, and git counts as read-only only in the directory where the command line
begins. Elsewhere a bare repository may be waiting that was written file by file.
"""

import re
from collections.abc import Sequence
from functools import partial

from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.findings import Tree, Unclear
from acp_server.permissions.shell.options import Options, WordsJudge, parse_arguments
from acp_server.permissions.shell.scope import normalised
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
_DIFF_LONG = (
    " patch no-patch stat shortstat numstat dirstat summary name-only name-status check color"
    " no-color word-diff color-words cached staged raw minimal patience histogram unified"
    " ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol find-renames"
    " find-copies no-renames full-index binary abbrev exit-code quiet text relative no-prefix"
    " function-context compact-summary no-ext-diff no-textconv merge-base cc combined-all-paths"
    " pickaxe-regex pickaxe-all inter-hunk-context"
)
_DIFF_VALUED = " diff-filter diff-algorithm word-diff-regex ignore-matching-lines"
_DIFF = Options(
    "puswbRzacm",
    valued="SGIn",
    optional="MCUBD",
    long=_DIFF_LONG,
    long_valued=_DIFF_VALUED,
    takes_number=True,
)
_LOG = Options(
    "puswbRzacmig",
    valued="SGInL",
    optional="MCUBD",
    long=_DIFF_LONG + _COMMIT_LONG,
    long_valued=_DIFF_VALUED + _COMMIT_VALUED,
    takes_number=True,
)
_LISTING = (
    " list all remotes verbose merged no-merged contains no-contains points-at sort format column"
    " no-column color ignore-case show-current"
)
_MAGIC = re.compile(r"[*?\[]")
_CONFIG_KEYS = re.compile(
    r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|(?:push|pull|merge|diff|color|fetch)\.[\w.]+"
    r"|branch\.[\w./-]+|remote\.[\w.-]+\.(?:url|fetch|pushurl))"
)


def _shown(options: Options, words: Sequence[Word], access: Access) -> None:
    """Judge a subcommand whose operands are revisions or paths, which look alike: all are read."""
    parsed = parse_arguments(options, words)
    for word in parsed.values_of("-L"):
        access.read_text(word.text.rpartition(":")[2])
    for word in parsed.operands:
        _read_operand(word, access)


def _compared(options: Options, words: Sequence[Word], access: Access) -> None:
    """Judge `git diff`: outside a repository it compares all files of two directories."""
    _shown(options, words, access)
    for word in parse_arguments(options, words).operands:
        access.search(word, Tree(""))


def _read_operand(word: Word, access: Access) -> None:
    if word.is_literal and (word.text.startswith(":") or _MAGIC.search(word.text)):
        raise Unclear("git itself would pick the files by a pattern")
    access.read(word)
    # `REVISION:path` names a file of the repository; the path is recorded, too.
    if word.is_literal and ":" in word.text:
        access.read_text(word.text.partition(":")[2])


def _named(options: Options, words: Sequence[Word], access: Access) -> None:
    """Judge a subcommand that only lists names; git may expand the patterns."""
    for word in parse_arguments(options, words).operands:
        access.read(word)


def _grepped(words: Sequence[Word], access: Access) -> None:
    """Judge a search of tracked files."""
    options = Options(
        "nilLcwvEFPphHoqI",
        valued="eABCm",
        long="line-number ignore-case files-with-matches count word-regexp heading break column"
        " fixed-strings extended-regexp perl-regexp name-only show-function only-matching",
        long_valued="max-depth max-count",
        takes_number=True,
    )
    parsed = parse_arguments(options, words)
    operands = parsed.operands if parsed.has("-e") else parsed.operands[1:]
    for word in operands:
        _read_operand(word, access)
        access.search(word, Tree(""))
    if not operands:
        access.search(Word("."), Tree(""))


def _listed(
    options: Options, needed: tuple[str, ...], words: Sequence[Word], access: Access
) -> None:
    """Judge a listing subcommand; an operand makes it change something unless a flag lists."""
    del access
    parsed = parse_arguments(options, words)
    if parsed.operands and not parsed.has(*needed):
        raise Unclear("it may make or change what it names")
    if any(not word.is_literal for word in parsed.operands):
        raise Unclear("a word in it is only known when it runs")


def _stashed(words: Sequence[Word], access: Access) -> None:
    if words and words[0] == Word("list"):
        _shown(_LOG, words[1:], access)
    elif words and words[0] == Word("show"):
        _shown(_DIFF, words[1:], access)
    else:
        raise Unclear("git stash changes files")


def _remotes(words: Sequence[Word], access: Access) -> None:
    if words and words[0] == Word("get-url"):
        _named(Options(long="all push"), words[1:], access)
    else:
        _listed(Options("v", long="verbose"), (), words, access)


def _worktrees(words: Sequence[Word], access: Access) -> None:
    if not words or words[0] != Word("list"):
        raise Unclear("git worktree changes folders")
    _listed(Options("vz", long="porcelain verbose"), (), words[1:], access)


def _reflogs(words: Sequence[Word], access: Access) -> None:
    if words and words[0].text in {"expire", "delete", "drop", "write"}:
        raise Unclear("git reflog changes history")
    rest = words[1:] if words and words[0] == Word("show") else words
    _shown(_LOG, rest, access)


def _configured(words: Sequence[Word], access: Access) -> None:
    """Judge a query for one setting; others may hold a password or token."""
    del access
    texts = [word.text for word in words if word.is_literal]
    if len(texts) != len(words) or texts[:1] != ["--get"] or len(texts[1:]) != 1:
        raise Unclear("it may show or change any setting of git")
    if _CONFIG_KEYS.fullmatch(texts[1]) is None:
        raise Unclear("it shows a setting that may be secret")


_BRANCH = Options("arvi", long=_LISTING)
_STATUS = Options(
    "sbvz",
    optional="u",
    long="short branch porcelain long verbose ignored untracked-files show-stash ahead-behind"
    " no-ahead-behind renames no-renames column no-column ignore-submodules",
)
_REVISIONS = Options(
    "q",
    long="abbrev-ref verify short show-toplevel show-prefix show-cdup git-dir git-common-dir"
    " is-inside-work-tree is-bare-repository is-inside-git-dir symbolic symbolic-full-name all"
    " branches tags remotes absolute-git-dir quiet is-shallow-repository",
)
_TREE = Options("rtdlz", long="name-only name-status long full-name full-tree abbrev object-only")
_FILES = Options(
    "cdmosiktuvz",
    valued="x",
    long="cached deleted modified others ignored stage unmerged killed exclude-standard full-name"
    " error-unmatch deduplicate directory abbrev",
    long_valued="exclude",
)
_BLAME = Options(
    "wpsetlfnc",
    valued="L",
    optional="MC",
    long="porcelain line-porcelain show-name show-number show-email date abbrev root",
    long_valued="since",
)
_REFS = Options(long="", long_valued="sort format count points-at merged no-merged contains")
_SHOW_REF = Options("dqs", long="heads branches tags head dereference hash verify quiet")
_TAG = Options("li", optional="n", long=_LISTING)
_COUNT = Options("vH", long="verbose human-readable")
_DESCRIBE = Options(
    long="tags all always dirty long abbrev contains exact-match first-parent broken",
    long_valued="match exclude candidates",
)
_SHORTLOG = Options(
    "snecg", long="summary numbered email group" + _COMMIT_LONG, long_valued=_COMMIT_VALUED
)

SUBCOMMANDS: dict[str, WordsJudge] = {
    "status": partial(_shown, _STATUS),
    "log": partial(_shown, _LOG),
    "show": partial(_shown, _LOG),
    "diff": partial(
        _compared,
        Options(
            _DIFF.flags,
            _DIFF.valued,
            optional=_DIFF.optional,
            long=_DIFF.long + " no-index",
            long_valued=_DIFF.long_valued,
            takes_number=True,
        ),
    ),
    "diff-tree": partial(_shown, Options("rptsz", long=_DIFF_LONG + " no-commit-id root")),
    "blame": partial(_shown, _BLAME),
    "grep": _grepped,
    "branch": partial(
        _listed,
        _BRANCH,
        ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
    ),
    "tag": partial(_listed, _TAG, ("-l", "--list", "--contains", "--merged", "--points-at")),
    "rev-parse": partial(_named, _REVISIONS),
    "rev-list": partial(
        _shown,
        Options(
            valued="n",
            long="count all parents objects" + _COMMIT_LONG,
            long_valued=_COMMIT_VALUED,
            takes_number=True,
        ),
    ),
    "ls-files": partial(_named, _FILES),
    "ls-tree": partial(_named, _TREE),
    "cat-file": partial(_shown, Options("tspe")),
    "merge-base": partial(_named, Options("a", long="all is-ancestor fork-point octopus")),
    "describe": partial(_named, _DESCRIBE),
    "name-rev": partial(_named, Options(long="tags name-only always")),
    "shortlog": partial(_shown, _SHORTLOG),
    "for-each-ref": partial(_named, _REFS),
    "show-ref": partial(_named, _SHOW_REF),
    "check-ignore": partial(_named, Options("qvn", long="quiet verbose non-matching no-index")),
    "count-objects": partial(_listed, _COUNT, ()),
    "version": partial(_listed, Options(long="build-options"), ()),
    "stash": _stashed,
    "remote": _remotes,
    "worktree": _worktrees,
    "reflog": _reflogs,
    "config": _configured,
}


def judge_git(words: Sequence[Word], access: Access) -> None:
    """Judge a call of git by its subcommand.

    Raises:
        UndecidableCommand: The subcommand or a flag may change or run something.
    """
    rest = list(words)
    if rest == [Word("--version")]:
        return
    while rest and rest[0].text in {"--no-pager", "-P", "--no-optional-locks", "-C"}:
        if rest.pop(0).text == "-C":
            access = _elsewhere(rest, access)
    # Security: the configuration in another directory may make git run programs, see above.
    if any(folder != normalised(access.scope.start) for folder in access.scope.folders):
        raise Unclear("git may be set up in that folder to run something")
    if not rest or not rest[0].is_literal or rest[0].text not in SUBCOMMANDS:
        raise Unclear("this git command is not known to only read")
    SUBCOMMANDS[rest[0].text](rest[1:], access)


def _elsewhere(rest: list[Word], access: Access) -> Access:
    """Return the recorder moved by `-C`; removes its value from the words."""
    if not rest or not rest[0].is_literal:
        raise Unclear("the folder git runs in is only known when it runs")
    word = rest.pop(0)
    access.read(word)
    return Access(access.findings, access.scope.moved(access.scope.paths(word.text)))
