"""Commands that read from a remote service with the user's account: `gh pr view`, `gh api` GET.

They ask, because an address can carry data away; one "always" covers all of a service.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from acp_server.permissions.shell.words import Word
from acp_server.permissions.word_lists import read_word_lists

# They show the environment of gh, with its key.
_OUTSIDE_INPUT = re.compile(r"\b(?:env|ENV|input_filename|import|include)\b|__")
_HARMLESS_HEADER = re.compile(r"(?:Accept|X-GitHub-Api-Version):[ \w.+/;=-]*", re.IGNORECASE)


def find_remote_service(words: Sequence[Word]) -> str:
    """Return the service that a command only reads from; empty if it does not."""
    texts = [word.text for word in words]
    if texts[:1] != ["gh"] or not all(word.is_literal and not word.is_pipe for word in words):
        return ""
    length = 1 if texts[1:2] == ["api"] else 2
    arguments = texts[1 + length :]
    is_known = "-".join(texts[1 : 1 + length]) in _lists()["subcommands"]
    is_reading = all(map(_is_harmless, arguments)) and _has_harmless_values(arguments)
    # Queries of GraphQL are sent like changes.
    if "graphql" in arguments or any(map(_names_host, arguments)):
        is_reading = False
    return "GitHub" if is_known and is_reading else ""


def _is_harmless(text: str) -> bool:
    if not text.startswith("-") or text == "-":
        return True
    if text.partition("=")[0] in _lists()["flags"]:
        return True
    # One letter with its value or alone; `-f` and `-F` are fields of a request, `-w` is `--web`.
    letters = "".join(_lists()["letters"])
    return not text.startswith("--") and text[1] in letters and len(text) == len("-c")


def _names_host(text: str) -> bool:
    """Return whether a word may name another host, as an address or as `HOST/OWNER/REPO`."""
    value = text.partition("=")[2] if text.startswith("-") else text
    is_address = "://" in value and not value.startswith("https://github.com/")
    first = value.partition("/")[0]
    return is_address or ("/" in value and "." in first and not value.startswith("https://"))


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
