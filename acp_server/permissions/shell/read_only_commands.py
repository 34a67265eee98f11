"""Table of all read-only commands by name."""

from acp_server.permissions.shell.file_commands import FILE_COMMANDS
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.git_commands import judge_git
from acp_server.permissions.shell.options import WordsJudge
from acp_server.permissions.shell.search_commands import SEARCH_COMMANDS
from acp_server.permissions.shell.system_commands import SYSTEM_AND_VERSION_COMMANDS
from acp_server.permissions.shell.text_commands import TEXT_COMMANDS
from acp_server.permissions.shell.words import Word

READ_ONLY_COMMANDS: dict[str, WordsJudge] = {
    **SYSTEM_AND_VERSION_COMMANDS,
    **FILE_COMMANDS,
    **TEXT_COMMANDS,
    **SEARCH_COMMANDS,
    "git": judge_git,
}

_SYSTEM_DIRECTORIES = ("/bin/", "/usr/bin/")


def command_name(word: Word) -> str:
    """Return the name of the command that a word calls.

    Raises:
        UndecidableCommand: It is only known at run time, or is a file outside the system
            directories.
    """
    if not word.is_literal:
        raise UndecidableCommand("which command it runs is only known when it runs")
    folder, slash, name = word.text.rpartition("/")
    # Security: `./ls` or `/tmp/ls` may be any program.
    if slash and folder + slash not in _SYSTEM_DIRECTORIES:
        raise UndecidableCommand(f"it runs the file {word.text}")
    return name
