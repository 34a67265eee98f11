"""Lenient parsing of the URLs that servers send."""

from urllib.parse import SplitResult, urlsplit


def split_url(url: str) -> SplitResult:
    """Split a URL; an invalid URL becomes a path only."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")
