"""Table of all read-only commands by name."""

from acp_server.permissions.shell.file_commands import FILE_COMMANDS
from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.git_commands import judge_git
from acp_server.permissions.shell.options import WordsJudge
from acp_server.permissions.shell.search_commands import SEARCH_COMMANDS
from acp_server.permissions.shell.system_commands import TOOLS
from acp_server.permissions.shell.text_commands import TEXT_COMMANDS
from acp_server.permissions.shell.words import Word

PROGRAMS: dict[str, WordsJudge] = {
    **TOOLS,
    **FILE_COMMANDS,
    **TEXT_COMMANDS,
    **SEARCH_COMMANDS,
    "git": judge_git,
}

_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/")


def name_of(word: Word) -> str:
    """Return the name of the command that a word calls.

    Raises:
        UndecidableCommand: It is only known at run time, or is a file outside the system
            directories.
    """
    if not word.is_literal:
        raise Unclear("which command it runs is only known when it runs")
    folder, slash, name = word.text.rpartition("/")
    # Security: `./ls` or `/tmp/ls` may be any program.
    if slash and folder + slash not in _SYSTEM_FOLDERS:
        raise Unclear(f"it runs the file {word.text}")
    return name
