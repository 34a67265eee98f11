"""Ranks the commands of a line by what they may do, so that a question names the worst."""

from collections.abc import Mapping, Sequence
from functools import cache

from acp_server.permissions.shell.words import Word
from acp_server.permissions.word_lists import read_word_lists

RANKS = ("", "other", "changes", "sends", "removes", "runs_code")
"""Kinds of reasons, from the least dangerous; the first are those of the shell's own words."""


def find_rank(words: Sequence[Word]) -> int:
    """Return the rank of a command that asks, an index of `RANKS`."""
    names = _names_of(words)
    ranked = (rank for rank, kind in enumerate(RANKS) if names & _lists().get(kind, frozenset()))
    return max(ranked, default=RANKS.index("other"))


def describe_input(words: Sequence[Word], *, has_input: bool) -> str | None:
    """Return the reason to ask if a command runs its input as code; None if it does not."""
    operands = [word for word in words[1:] if word.text not in {"-", "-s", "/dev/stdin"}]
    if not has_input or operands or find_rank(words) != RANKS.index("runs_code"):
        return None
    return f"{words[0].text} runs what it is given as its input"


def _names_of(words: Sequence[Word]) -> set[str]:
    """Return the name of a program, its name without a version, and with its subcommand."""
    name = words[0].text.rpartition("/")[2]
    second = words[1].text if len(words) > 1 else ""
    return {name, name.rstrip("0123456789."), f"{name}-{second}"}


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in read_word_lists(__file__).items()}
