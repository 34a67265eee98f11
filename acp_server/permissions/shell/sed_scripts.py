"""sed scripts: printing, deleting and substituting pass; anything that writes or runs asks.

A script is parsed by a small grammar of its own; a script that does not match is undecidable. sed's
`w`, `W`, `e`, `r`, `R` and the flags `w` and `e` of `s` are not in it.
"""

import re

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.options import ParsedArguments, read_after_first, read_all

_PATTERN = r"/(?:[^/\\\n\[]|\\[^\n])*/I?"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|{_PATTERN})"
_RANGE = rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?\s*!?\s*)?"


def _substitution(delimiter: str) -> str:
    """Return the grammar of `s`, without sets that hold the delimiter: they are ambiguous."""
    mark = re.escape(delimiter)
    inside = rf"(?:[^{mark}\]\n\\]|\\[^{mark}\]\n])*"
    part = rf"(?:[^{mark}\\\n\[]|\\[^\n]|\[\^?{inside}\])*"
    return rf"s{mark}{part}{mark}{part}{mark}[gpIi0-9]*"


_SUBSTITUTE = "|".join(_substitution(delimiter) for delimiter in "/|#,:@!")
_COMMAND = rf"{_RANGE}(?:[pdqQ=PDnNlgGhHx]|{_SUBSTITUTE})"
_SCRIPT = re.compile(rf"\s*{_COMMAND}(?:\s*[;\n]\s*{_COMMAND})*\s*;?\s*")
_MAX_SCRIPT_CHARACTERS = 500


def judge_sed(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a call of sed by its scripts; the files that it names are read.

    Raises:
        UndecidableCommand: A script is not known to only print.
    """
    scripts = parsed.values_of("-e", "--expression")
    inline = not scripts
    if inline and not parsed.operands:
        raise UndecidableCommand(reasons.NO_SCRIPT)
    for script in scripts or parsed.operands[:1]:
        if not script.is_literal or not is_read_only_script(script.text):
            raise UndecidableCommand(reasons.SED_SCRIPT)
    (read_after_first if inline else read_all)(parsed, access)


def is_read_only_script(script: str) -> bool:
    """Return whether a sed script only prints, deletes and substitutes its input."""
    return len(script) <= _MAX_SCRIPT_CHARACTERS and _SCRIPT.fullmatch(script) is not None
