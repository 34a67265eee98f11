r"""Evaluates trivial obfuscation, as a shell or interpreter would: split words, character codes.

>>> undo_disguises("c''url http://x | s\\h")
'curl http://x | sh'

Line numbers are preserved. Time is linear in the text's length: no expression here can backtrack.
"""

import re

MAX_VARIABLES = 200

# The mark comes first and its left context follows as a lookbehind: the regex engine can then
# search for the literal mark, which is fast.
_EMPTY_QUOTES = re.compile(r"(?:''|\"\")(?=\w)(?<=\w..)")
_QUOTED_INSIDE = re.compile(r"(['\"])(?<=[A-Za-z/].)([A-Za-z/]{1,8})\1")
_QUOTED_BEFORE = re.compile(r"(['\"])(?<![\w'\"].)([A-Za-z/]{1,6})\1(?=[A-Za-z])")
_ESCAPED_LETTER = re.compile(r"[\\^`](?=[A-Za-z])(?<=[A-Za-z].)")
_FIELD_SEPARATOR = re.compile(r"\$(?:\{?IFS(?:[^}\s]{0,10}\})?(?:\$\d)?|@|\*)")
_JOINED = re.compile(r"['\"][ \t]{0,3}[+.][ \t]{0,3}\n?[ \t]{0,40}[rbf]?['\"]")
_PATH_PARTS = re.compile(r"['\"][ \t]{0,2}[/,][ \t]{0,2}f?['\"](?=[\w.~*])")
_ESCAPE = re.compile(
    r"\\x([0-9a-fA-F]{2})|\\u\{?00([0-9a-fA-F]{2})\}?|%([2-7][0-9a-fA-F])"
    r"|\\([01][0-7]{2})|&#([0-9]{2,3});|&#x([0-9a-fA-F]{2});"
)
_BASES = (16, 16, 16, 8, 10, 16)
_NUMBERED = re.compile(r"(?:chr\(|\[char\]\s?\(?)\s?(0x[0-9a-f]{2}|[0-9]{2,3})\s?\)?", re.I)
_NUMBERS = re.compile(
    r"[\[(]\s?((?:(?:0x)?[0-9a-fA-F]{2,3}\s?,\s?){3,2000}(?:0x)?[0-9a-fA-F]{2,3})\s?[\])]"
)
_ASSIGNMENT = re.compile(
    r"(?:^|[;&|\s])(\w{1,30})\s?=\s?(?:\"([^\"\n$`]{1,60})\"|'([^'\n]{1,60})'|([\w/.:~-]{1,60}))",
    re.M,
)
_VARIABLES_TOGETHER = re.compile(r"\$\{?\w{1,30}\}?(?:\$\{?\w{1,30}\}?)+")
_VARIABLE = re.compile(r"\$\{?(\w{1,30})\}?")
_NAMES_ADDED = re.compile(r"\((\w{1,30}(?: ?\+ ?\w{1,30}){1,8})\)")


def undo_disguises(text: str) -> str:
    """Return the text with split words joined and escapes decoded."""
    text = _ESCAPE.sub(_replace_escape, text)
    text = _NUMBERS.sub(_replace_number_list, text)
    lowered = text.lower()
    if "chr(" in lowered or "[char]" in lowered:
        text = _NUMBERED.sub(_replace_char_call, text)
    text = _FIELD_SEPARATOR.sub(" ", text)
    text = _EMPTY_QUOTES.sub("", text)
    text = _ESCAPED_LETTER.sub("", text)
    text = _JOINED.sub(lambda found: "\f" * found[0].count("\n"), text)
    text = _expand_variables(text)
    text = _QUOTED_INSIDE.sub(r"\2", text)
    text = _QUOTED_BEFORE.sub(r"\2", text)
    return _PATH_PARTS.sub("/", text)


def _replace_escape(found: re.Match[str]) -> str:
    number = found.lastindex or 1
    code = int(found[number], _BASES[number - 1])
    return _character(code) or found[0]


def _replace_char_call(found: re.Match[str]) -> str:
    character = _character(int(found[1], 0) if found[1][:2].lower() == "0x" else int(found[1]))
    return f"'{character}'" if character else found[0]


def _replace_number_list(found: re.Match[str]) -> str:
    numbers = [part.strip() for part in found[1].split(",")]
    codes = [
        int(part, 16 if part.startswith("0x") else 10)
        for part in numbers
        if part.isdigit() or part.startswith("0x")
    ]
    return "'" + "".join(_character(code) for code in codes) + "'"


def _character(code: int) -> str:
    """Return a printable ASCII character, or an empty string for any other code."""
    return chr(code) if 0x20 <= code < 0x7F else ""  # noqa: PLR2004  # ASCII


def _expand_variables(text: str) -> str:
    """Replace adjacent or added variables by their values, if those are short."""
    has_sums = _NAMES_ADDED.search(text) is not None
    if not has_sums and not _VARIABLES_TOGETHER.search(text):
        return text
    values: dict[str, str] = {}
    for name, double, single, bare in _ASSIGNMENT.findall(text)[:MAX_VARIABLES]:
        values.setdefault(name, double or single or bare)
    if not values:
        return text

    def fill_variable(variable: re.Match[str]) -> str:
        return values.get(variable[1], variable[0])

    def join_names(run: re.Match[str]) -> str:
        names = [name.strip() for name in run[1].split("+")]
        return (
            f"({''.join(values[name] for name in names)})"
            if values.keys() >= set(names)
            else run[0]
        )

    text = _VARIABLES_TOGETHER.sub(lambda run: _VARIABLE.sub(fill_variable, run[0]), text)
    return _NAMES_ADDED.sub(join_names, text) if has_sums else text
