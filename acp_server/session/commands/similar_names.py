"""Suggestions for misspelled names."""

from collections.abc import Iterable, Sequence


def find_similar_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """Return up to three names that are most similar to an unknown one."""
    from difflib import get_close_matches  # here, because most sessions never need it

    return get_close_matches(name, list(names), n=3, cutoff=0.5)
