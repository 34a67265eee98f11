"""Globs over relative paths, with shell and .gitignore syntax. Pure text, no disk access."""

import re
from collections.abc import Callable

_WILDCARDS = {"deep": "(?:.*/)?", "rest": ".*", "star": "[^/]*", "one": "[^/]"}
NamePredicate = Callable[[str], bool]

_SPECIAL = re.compile(r"[*?\[{]")
_TOKEN = re.compile(
    r"(?P<deep>(?:^|(?<=/))\*\*/)|(?P<rest>\*\*)|(?P<star>\*)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?[^]/]*\])|(?P<escaped>\\.)|(?P<other>.)",
    re.DOTALL,
)


def is_glob(pattern: str) -> bool:
    """Return whether a pattern has wildcard characters."""
    return _SPECIAL.search(pattern) is not None


def compile_name_predicate(pattern: str) -> NamePredicate:
    """Return a predicate over relative paths: a glob, or else a case-insensitive substring.

    A pattern with a slash is matched against the end of the path, or all of it if it begins with a
    slash; a pattern without a slash is matched against the file name.
    """
    if is_glob(pattern):
        return compile_glob(pattern)
    substring = pattern.removeprefix("./").lower()
    if "/" in substring:
        return lambda path: substring in f"/{path.lower()}"
    return lambda path: substring in path.rpartition("/")[2].lower()


def compile_glob(pattern: str) -> NamePredicate:
    """Return a predicate over relative paths for a glob; braces and `**` are supported."""
    pattern = pattern.removeprefix("./") + ("**" if pattern.endswith("/") else "")
    expression = re.compile(f"(?s:{_glob_to_regex(pattern.removeprefix('/'))})")
    if "/" not in pattern:
        return lambda path: expression.fullmatch(path.rpartition("/")[2]) is not None
    if pattern.startswith("/"):
        return lambda path: expression.fullmatch(path) is not None
    anywhere = re.compile(f"(?s:(?:.*/)?{expression.pattern})")
    return lambda path: anywhere.fullmatch(path) is not None


def file_name_glob(pattern: str) -> str | None:
    """Return the glob that the file name alone must match; None if that is unknown."""
    name = pattern.rpartition("/")[2]
    is_closed = name.count("{") == name.count("}") and name.count("[") == name.count("]")
    return name if name and "**" not in name and is_closed else None


def _glob_to_regex(pattern: str) -> str:
    has_braces = pattern.count("{") == pattern.count("}")
    depth = 0
    pieces: list[str] = []
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if has_braces and token.lastgroup == "other":
            depth += (text == "{") - (text == "}" and depth > 0)
        pieces.append(_token_to_regex(token, depth if has_braces else -1))
    return "".join(pieces) if not depth else re.escape(pattern)


def _token_to_regex(token: re.Match[str], depth: int) -> str:
    text = token[0]
    match token.lastgroup:
        case "deep" | "rest" | "star" | "one" as kind:
            return _WILDCARDS[kind]
        case "set":
            return _character_set(text)
        case "escaped":
            return re.escape(text[1:])
        case _ if depth >= 0 and text in "{}":
            return "(?:" if text == "{" else ")"
        case _:
            return "|" if depth > 0 and text == "," else re.escape(text)


def _character_set(text: str) -> str:
    """Return a character set as a regex; an invalid one is matched literally."""
    inner = text[1:-1]
    sign = "^/" if inner[:1] in ("!", "^") else ""
    body = inner[1:] if sign else inner
    escaped = re.sub(r"([\\\]\[^&~|])", r"\\\1", body)
    try:
        re.compile(f"[{sign}{escaped}]")
    except re.error:
        return re.escape(text)
    return f"[{sign}{escaped}]"
