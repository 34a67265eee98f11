"""Runs the check commands that the user configured per language, such as a linter.

They come from the user's own settings only, never from a project, so they need no permission. They
run as every local command does: without the agent's secrets, and terminated together with all
processes that they started.
"""

import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.session import ShellSession

logger = logging.getLogger(__name__)

MAX_OUTPUT_BYTES = 20_000
PATH_PLACEHOLDER = "{path}"
CANNOT_RUN_EXIT_CODES = frozenset({126, 127})
"""Exit codes of a shell that could not run its command: not executable, or not found."""
LANGUAGES: Mapping[str, str] = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "typescript"),
    **dict.fromkeys((".sh", ".bash"), "shell"),
    **dict.fromkeys((".yml", ".yaml"), "yaml"),
    ".h": "c",
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp"), "cpp"),
    ".cs": "csharp",
    ".kt": "kotlin",
    ".md": "markdown",
    ".rb": "ruby",
    ".rs": "rust",
}
"""Languages by file suffix. Any other suffix is used as the language name, without its dot."""


def language_of(path: Path) -> str:
    """Return the language of a file, which is the key of its check in the settings.

    >>> language_of(Path("a.pyi")), language_of(Path("a.vue"))
    ('python', 'vue')
    """
    suffix = path.suffix.lower()
    return LANGUAGES.get(suffix, suffix.removeprefix("."))


@frozen_dataclass
class FileChecks:
    """The configured checks of one session."""

    shell: ShellSession
    commands: Mapping[str, Sequence[str]]
    """By language: a program and its arguments, in which `{path}` stands for the file."""
    cwd: Path
    timeout_seconds: float
    """Timeout of one check."""
    _missing_languages: set[str] = field(default_factory=set[str], init=False)

    def has_check_for(self, path: Path) -> bool:
        """Whether there is a check for this file, and its program was not found missing before."""
        language = language_of(path)
        return language in self.commands and language not in self._missing_languages

    async def run(self, path: Path) -> tuple[str, ...]:
        """Run the check of a file and return the lines it printed.

        Empty if the check passed, timed out or could not run.

        Raises:
            KeyError: There is no check for this file.
        """
        language = language_of(path)
        words = [word.replace(PATH_PLACEHOLDER, str(path)) for word in self.commands[language]]
        log = OutputLog(MAX_OUTPUT_BYTES, 0)
        try:
            result = await self.shell.run(
                shlex.join(words), self.cwd, log.write, self.timeout_seconds
            )
        except ShellError as error:
            logger.warning("the %s check could not be started: %s", language, error)
            return ()
        if result.exit.code in CANNOT_RUN_EXIT_CODES:
            # Off from now on: every edit would wait for it in vain.
            self._missing_languages.add(language)
            logger.warning(
                "the %s check is off for this session: %s was not found or is not executable",
                language,
                words[0],
            )
            return ()
        if result.timed_out or result.exit.code in {0, None}:
            return ()
        return tuple(line.rstrip() for line in log.text().splitlines() if line.strip())
