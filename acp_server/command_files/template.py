"""The text of a command file: its arguments, and the commands whose output it asks for.

`$ARGUMENTS` and `$1` stand for what the user typed behind the command's name, `${input:name}` too.
``!`command` `` stands for the output of a command. It is recognised in the file's own text only, so
what the user types cannot add one. Amounts of money stay, as in "costs $8.50" or "$1M".
"""

import re
import shlex
from collections.abc import Sequence

from acp_server.startup.fast_dataclass import frozen_dataclass

_COMMAND = re.compile(r"!`([^`\n]+)`")
_PLACEHOLDER = re.compile(
    r"\\\$(?=\d)|\$ARGUMENTS\[(\d)\]|\$ARGUMENTS\b|\$(\d)(?!\w|\.\d)|\$\{input:[^}\n]*\}"
)
_ESCAPED_DOLLAR = "\\$"


@frozen_dataclass
class CommandOutput:
    """A command whose output belongs at this place of the text."""

    command: str


def fill_template(body: str, arguments: str) -> Sequence[str | CommandOutput]:
    """Return the pieces of a text with the arguments filled in.

    Arguments that the text does not ask for follow at its end.
    """
    words = _split(arguments)
    has_placeholder = False

    def fill(found: re.Match[str]) -> str:
        nonlocal has_placeholder
        if found[0] == _ESCAPED_DOLLAR:
            return "$"
        has_placeholder = True
        number = found[2] or (None if found[1] is None else str(int(found[1]) + 1))
        if number is None:
            return arguments
        # `$0` is the first word too: there is no name of a program here.
        return words[max(int(number), 1) - 1] if max(int(number), 1) <= len(words) else ""

    pieces: list[str | CommandOutput] = []
    end = 0
    for command in _COMMAND.finditer(body):
        pieces.append(_PLACEHOLDER.sub(fill, body[end : command.start()]))
        pieces.append(CommandOutput(_PLACEHOLDER.sub(fill, command[1])))
        end = command.end()
    pieces.append(_PLACEHOLDER.sub(fill, body[end:]))
    if arguments and not has_placeholder:
        pieces.append(f"\n\nARGUMENTS: {arguments}")
    return [each for each in pieces if each]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an unclosed quote is an apostrophe
        return text.split()
