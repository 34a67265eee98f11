"""What Claude Code's settings allow, as far as saved answers of this program could allow it.

A workspace's file counts only once the user trusts the workspace and has seen these rules; the
user's own file counts at once. A rule that is wider than any answer that could be saved here, such
as one for all commands, is not used. What a rule covers is decided like a saved answer: protected
files, programs of the workspace and leaving the sandbox still ask. All calls block.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    DirectoryScope,
    FileAccess,
    Scope,
    SiteScope,
)
from acp_server.permissions.shell.assessment import assess, split_plain_command
from acp_server.permissions.symlinks import resolve_links
from acp_server.permissions.trust import ProjectUse
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.lines import to_single_line

MAX_USED = 50
"""Rules of one file: more could not be read in a question."""
MAX_TEXT_CHARACTERS = 120
_GLOB_CHARACTERS = frozenset("*?[]!{}")
_ACCESS: dict[str, FileAccess] = {
    "Read": "read",
    "LS": "read",
    "Edit": "write",
    "Write": "write",
    "MultiEdit": "write",
}


@frozen_dataclass
class AllowedFile:
    """The rules of one settings file that allow something."""

    file: str
    """Its path, for people."""
    used: tuple[str, ...]
    """The rules that count, as written; `rules` holds them in our form, in the same order."""
    rules: tuple[PermissionRule, ...]
    unused: tuple[str, ...]
    """Those that no saved answer could express, as written."""
    use: ProjectUse | None
    """What the user decides on; None for the user's own file, which counts at once."""


@frozen_dataclass
class _Place:
    """Where the rules of a file hold."""

    root: Path
    """The directory that relative paths are relative to, symlinks resolved."""
    home: Path
    is_own: bool
    """Whether it is the user's own file, which may also name directories outside the workspace."""


def read_allowed(
    texts: Sequence[str], path: Path, root: Path, home: Path, *, is_own: bool
) -> AllowedFile | None:
    """Return what the `allow` rules of one file allow in a workspace; None without any rule.

    `root` has its symlinks resolved.
    """
    place = _Place(root, home, is_own)
    used: dict[str, PermissionRule] = {}
    unused: list[str] = []
    for text in dict.fromkeys(texts):
        is_shown_whole = to_single_line(text, MAX_TEXT_CHARACTERS) == text
        scope = _parse(text, place) if is_shown_whole and len(used) < MAX_USED else None
        if scope is None:
            unused.append(to_single_line(text, MAX_TEXT_CHARACTERS))
        else:
            used[text] = PermissionRule(scope, is_allowed=True)
    if not used and not unused:
        return None
    file = str(path) if is_own else path.relative_to(root).as_posix()
    use = None if is_own or not used else _use_of(file, tuple(used))
    return AllowedFile(file, tuple(used), tuple(used.values()), tuple(unused), use)


def _use_of(file: str, texts: Sequence[str]) -> ProjectUse:
    listed = ", ".join(f"`{text}`" for text in texts)
    facts = json.dumps([file, sorted(texts)]).encode()
    return ProjectUse(
        f"permission rules of {file}, which allow without a question: {listed}",
        hashlib.sha256(facts).hexdigest(),
    )


def _parse(text: str, place: _Place) -> Scope | None:
    """Return the scope of a rule, `Tool` or `Tool(what)`; None if no saved answer has it."""
    name, bracket, rest = text.strip().partition("(")
    if bracket and not rest.endswith(")"):
        return None
    what = rest.removesuffix(")").strip()
    match name:
        case "Bash":
            return _parse_command(what, place)
        case "WebFetch":
            site = what.removeprefix("domain:")
            is_site = what.startswith("domain:") and site and not _GLOB_CHARACTERS & {*site}
            return SiteScope(site.lower()) if is_site else None
        case _:
            access = _ACCESS.get(name)
            directory = None if access is None else _directory_of(what, place)
            return DirectoryScope(access, directory) if access and directory else None


def _parse_command(what: str, place: _Place) -> CommandScope | None:
    """Return the commands of `npm test`, `npm run build:*` or `npm run build *`."""
    begin = next((what.removesuffix(end) for end in (":*", " *") if what.endswith(end)), None)
    text = what if begin is None else begin
    words = split_plain_command(text)
    if not words or not _may_cover(text, words, place, is_exact=begin is None):
        return None
    return CommandScope((CommandPattern(words, place.root, is_exact=begin is None),))


def _may_cover(text: str, words: tuple[str, ...], place: _Place, *, is_exact: bool) -> bool:
    """Return whether an "always" could cover a command, or it never asks anyway."""
    assessment = assess(text, str(place.root), str(place.home))
    if assessment.verdict != "asks":
        return assessment.verdict == "reads"
    return assessment.is_coverable and all(
        asked.is_exact if is_exact else any(words[: len(p)] == p for p in asked.prefixes)
        for asked in assessment.asked
    )


def _directory_of(what: str, place: _Place) -> Path | None:
    """Return the directory that a path pattern covers whole; None for any other pattern."""
    base = what.removesuffix("**").removesuffix("*") if what.endswith(("/**", "/*")) else what
    if what in ("", "*", "**"):
        base = "./"
    if _GLOB_CHARACTERS & {*base} or not base.endswith("/") or "\0" in base:
        return None
    if what.endswith("/*"):
        return None  # one level only; a saved answer covers all below
    directory = resolve_links(_to_path(base, place))
    if directory == place.root:
        return directory
    is_below = directory.is_relative_to(place.root)
    is_wide = place.home.is_relative_to(directory) or place.root.is_relative_to(directory)
    return directory if (is_below or place.is_own) and not is_wide else None


def _to_path(text: str, place: _Place) -> Path:
    if text.startswith("//"):  # absolute; a single slash is the directory of the settings
        return Path(text[1:])
    if text.startswith("~/"):
        return place.home / text[2:]
    return place.root / text.removeprefix("./").removeprefix("/")


def describe_allowed(file: AllowedFile, *, is_approved: bool) -> Iterator[str]:
    """Yield a line of Markdown for each rule."""
    state = "allowed" if file.use is None or is_approved else "allowed once you agree"
    yield from (f"- {state}: `{text} in {file.file}`" for text in file.used)
    yield from (
        f"- not used, wider than what can be allowed here: `{text} in {file.file}`"
        for text in file.unused
    )
