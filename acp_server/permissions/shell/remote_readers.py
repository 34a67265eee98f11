"""Commands that only read from another host: `gh pr view`, `gh api` GET, `git fetch`.

They ask, because an address can carry data away; one "always" covers all of a host.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from urllib.parse import urlsplit

from acp_server.permissions.shell.findings import RemoteRead
from acp_server.permissions.shell.words import Word
from acp_server.permissions.word_lists import read_word_lists

# They show the environment of gh, with its key.
_OUTSIDE_INPUT = re.compile(r"\b(?:env|ENV|input_filename|import|include)\b|__")
_HARMLESS_HEADER = re.compile(r"(?:Accept|X-GitHub-Api-Version):[ \w.+/;=-]*", re.IGNORECASE)
_REPOSITORY_FLAGS = frozenset({"-R", "--repo"})
_PARTS_WITH_HOST = 3


def find_remote_read(words: Sequence[Word]) -> RemoteRead | None:
    """Return what a command only reads from another host; None if it does more."""
    if not all(word.is_literal and not word.is_pipe for word in words):
        return None
    name, *texts = [word.text for word in words]
    if name == "git":
        return _find_git_read(texts)
    return _find_gh_read(texts) if name == "gh" else None


def _find_git_read(texts: Sequence[str]) -> RemoteRead | None:
    rest = list(texts)
    while rest[:1] and rest[0] in {"--no-pager", "-P"}:
        del rest[0]
    length = 2 if rest[:1] == ["remote"] else 1
    subcommand = "-".join(rest[:length])
    flags = _lists().get(f"git_{subcommand}", ())
    value_flags = _lists().get(f"git_{subcommand}_values", ())
    if not flags:
        return None
    operands: list[str] = []
    is_all = False
    rest = list(reversed(rest[length:]))
    while rest:
        text = rest.pop()
        if not text.startswith("-"):
            operands.append(text)
        elif text in value_flags:
            # A value that looks like a flag is none that is known.
            if not rest or rest.pop().startswith("-"):
                return None
        elif text not in flags and text.partition("=")[0] not in value_flags:
            return None
        is_all = is_all or text == "--all"
    is_fetch = subcommand == "fetch"
    # `a:b` and `+a` change branches.
    if is_fetch and any(":" in each or each.startswith("+") for each in operands[1:]):
        return None
    if subcommand == "remote-show" and len(operands) != 1:
        return None
    return RemoteRead("git", "", *operands[:1], uses_all_remotes=is_all, is_fetch=is_fetch)


def _find_gh_read(texts: Sequence[str]) -> RemoteRead | None:
    length = 1 if texts[:1] == ["api"] else 2
    subcommand = "-".join(texts[:length])
    arguments = texts[length:]
    if subcommand not in _lists()["subcommands"] or not all(map(_is_harmless, arguments)):
        return None
    # Queries of GraphQL are sent like changes.
    if not _has_harmless_values(arguments) or "graphql" in arguments:
        return None
    repositories = set(_repositories(subcommand, arguments))
    hosts = {host for each in arguments if (host := _named_host(each))}
    hosts |= {
        parts[0]
        for each in repositories
        if "://" not in each and len(parts := each.split("/")) == _PARTS_WITH_HOST
    }
    if len(hosts) > 1:
        return None
    has_own_host = subcommand == "api" or texts[0] in {"search"}
    # gh fills `{owner}` in.
    is_filled_in = any("{" in each for each in arguments)
    return RemoteRead(
        "gh",
        *hosts,
        uses_all_remotes=not repositories and (is_filled_in or not has_own_host),
    )


def _repositories(subcommand: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the repositories that gh is given, as `[HOST/]OWNER/REPO` or an address."""
    for flag, value in pairwise(arguments):
        if flag in _REPOSITORY_FLAGS:
            yield value
    for each in arguments:
        flag, has_value, value = each.partition("=")
        if has_value and flag in _REPOSITORY_FLAGS:
            yield value
        elif subcommand == "repo-view" and not each.startswith("-") and "/" in each:
            yield each


def _named_host(text: str) -> str:
    """Return the host that a word may name, as an address or as `HOST/OWNER/REPO`."""
    value = text.partition("=")[2] if text.startswith("-") else text
    if "://" in value:
        try:
            return urlsplit(value).netloc or value
        except ValueError:
            return value
    first, slash, _ = value.partition("/")
    return first if slash and "." in first else ""


def _is_harmless(text: str) -> bool:
    if not text.startswith("-") or text == "-":
        return True
    if text.partition("=")[0] in _lists()["flags"]:
        return True
    # One letter with its value or alone; `-f` and `-F` are fields of a request, `-w` is `--web`.
    letters = "".join(_lists()["letters"])
    return not text.startswith("--") and text[1] in letters and len(text) == len("-c")


def _has_harmless_values(arguments: Sequence[str]) -> bool:
    """Return whether the method is GET, headers say nothing, and filters read only the answer."""
    pairs = [each.partition("=")[::2] for each in arguments if "=" in each and each[:1] == "-"]
    pairs += pairwise(arguments)
    for flag, value in pairs:
        if flag in {"-X", "--method"} and value.upper() != "GET":
            return False
        if flag in {"-H", "--header"} and ":" in value and not _HARMLESS_HEADER.fullmatch(value):
            return False
        if flag in {"-q", "--jq", "-t", "--template"} and _OUTSIDE_INPUT.search(value):
            return False
    return arguments[-1:] not in (["-X"], ["--method"])


@cache
def _lists() -> Mapping[str, tuple[str, ...]]:
    return read_word_lists(__file__)
