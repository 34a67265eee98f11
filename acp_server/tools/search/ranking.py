"""Rank of a file for a reader of code: source first, then tests, docs, lock files."""

import re

from acp_server.tools.read.machine_text import is_lock_file

_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testdata|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|_test\.\w+$|[._](?:test|spec)s?\.\w+$",
    re.IGNORECASE,
)
_DOCS = re.compile(
    r"(?:^|/)docs?/|\.(?:md|mdx|rst|adoc)$|(?:^|/)(?:changelog|changes|license|notice)$",
    re.IGNORECASE,
)
_GENERATED = re.compile(r"[.-]min\.\w+$|\.map$|\.snap$|\.svg$|_pb2(?:_grpc)?\.pyi?$", re.IGNORECASE)


MAX_RANK = 3


def path_rank(path: str) -> int:
    """Return 0 for source, 1 for tests, 2 for docs, 3 for lock and generated files."""
    if is_lock_file(path.rpartition("/")[2]) or _GENERATED.search(path):
        return MAX_RANK
    if _DOCS.search(path):
        return 2
    return 1 if _TESTS.search(path) else 0
