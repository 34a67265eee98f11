"""The commands that the user has named for checking a file, by its language.

Only the user's own settings name them, never a project, so they need no leave of their own. They
run as every local command does: without our secrets, ended with all that they started.
"""

import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.tools.shell.command import Ended, LocalCommand
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.session import ShellSession

logger = logging.getLogger(__name__)

MOST_OUTPUT_BYTES = 20_000
PATH_MARK = "{path}"
CANNOT_RUN = frozenset({126, 127})
"""How a shell ends that cannot run what it was given."""
LANGUAGES: Mapping[str, str] = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "typescript"),
    **dict.fromkeys((".sh", ".bash"), "shell"),
    **dict.fromkeys((".yml", ".yaml"), "yaml"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp"), "cpp"),
    ".cs": "csharp",
    ".css": "css",
    ".go": "go",
    ".html": "html",
    ".java": "java",
    ".json": "json",
    ".kt": "kotlin",
    ".lua": "lua",
    ".md": "markdown",
    ".php": "php",
    ".rb": "ruby",
    ".rs": "rust",
    ".swift": "swift",
    ".toml": "toml",
    ".zig": "zig",
}
"""The language of a file, by how its name ends; what else it ends in counts as one itself."""


def language_of(path: Path) -> str:
    """Return the name under which a check for a file is looked up.

    >>> language_of(Path("a.pyi")), language_of(Path("a.vue"))
    ('python', 'vue')
    """
    ending = path.suffix.lower()
    return LANGUAGES.get(ending, ending.removeprefix("."))


@frozen
class Checks:
    """The checks of one session."""

    shell: ShellSession
    commands: Mapping[str, Sequence[str]]
    """By language: a program and its arguments, in which `{path}` stands for the file."""
    cwd: Path
    seconds: float
    """How long one may take."""
    _is_missing: set[str] = field(default_factory=set[str], init=False)

    def has_one_for(self, path: Path) -> bool:
        """Whether a file can be checked."""
        language = language_of(path)
        return language in self.commands and language not in self._is_missing

    async def lines(self, path: Path) -> tuple[str, ...]:
        """Return what the check of a file complains of; nothing if it is content, or cannot run.

        Raises:
            KeyError: there is no check for it.
        """
        language = language_of(path)
        words = [word.replace(PATH_MARK, str(path)) for word in self.commands[language]]
        log = OutputLog(MOST_OUTPUT_BYTES, 0)

        async def keep(chunk: bytes) -> None:
            log.write(chunk)

        try:
            command = LocalCommand(self.shell, shlex.join(words), self.cwd)
            ended = await command.run(keep, self.seconds)
        except ShellError as error:
            logger.warning("the check for %s cannot be started: %s", language, error)
            return ()
        if ended.exit.code in CANNOT_RUN:
            self._is_missing.add(language)
            logger.warning("the check for %s cannot be run: %s", language, words[0])
        return _complaints(ended, log)


def _complaints(ended: Ended, log: OutputLog) -> tuple[str, ...]:
    """Return the lines of a check that has something to complain of."""
    if ended.timed_out or ended.exit.code in {0, None, *CANNOT_RUN}:
        return ()
    return tuple(line.rstrip() for line in log.text().splitlines() if line.strip())
