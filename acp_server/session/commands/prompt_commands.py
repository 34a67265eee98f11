"""Prompt commands that the model carries out: `/init` and `/review`. Their prompts are in `text/`.

Facts that need no model are collected here and inserted into the prompt.
"""

from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.session.commands.command import (
    PreparedPrompt,
    PromptCommand,
    PromptCommandError,
)
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.prompting.provider import PromptProvider
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.ports import TurnSink

FILE_NAME = "AGENTS.md"
REWRITE_ARGUMENT = "again"
OTHER_FILES = (".hermes.md", "HERMES.md", "CLAUDE.md", ".cursorrules", "README.md")
"""Files that may already contain text for the new file."""
MAX_NAMES = 60
ALREADY_EXISTS = (
    f"{FILE_NAME} already exists and was not changed. Run `/init {REWRITE_ARGUMENT}` "
    "to have it brought up to date."
)
UNKNOWN_ARGUMENT = f"`/init` takes no argument, or `{REWRITE_ARGUMENT}`."
IN_PLAN_MODE = "Plan mode writes and runs nothing. Run `/mode ask` to leave it, then try again."


@frozen_dataclass
class PromptCommands:
    """The prompt commands of one session."""

    directory: Path
    """The session's directory, absolute."""
    options: SelectedOptions
    provider: Lazy[PromptProvider]

    def all(self) -> Sequence[PromptCommand]:
        """Return the commands."""
        write = f"Write a first {FILE_NAME} for this project"
        review = "Review the uncommitted changes, or others"
        return (
            PromptCommand("init", write, self._init, f"[{REWRITE_ARGUMENT}]"),
            PromptCommand("review", review, self._review, "[range or path]"),
        )

    async def _init(self, arguments: str, sink: TurnSink) -> PreparedPrompt:
        """Return the prompt; an existing file is only rewritten on explicit request."""
        del sink
        self._require_write_mode()
        if arguments not in {"", REWRITE_ARGUMENT}:
            raise PromptCommandError(UNKNOWN_ARGUMENT)
        names = await to_thread.run_sync(_list_directory, self.directory)
        if FILE_NAME in names and arguments != REWRITE_ARGUMENT:
            raise PromptCommandError(ALREADY_EXISTS)
        facts = await (await self.provider.get()).workspace_facts()
        text = _read_prompt("init").format(
            task="revise" if FILE_NAME in names else "write",
            file=self.directory / FILE_NAME,
            others=", ".join(f"`{name}`" for name in OTHER_FILES if name in names) or "none",
            findings=f"{facts}\n- Entries: {_format_names(names)}".lstrip(),
        )
        return PreparedPrompt(text)

    async def _review(self, arguments: str, sink: TurnSink) -> PreparedPrompt:
        del sink
        self._require_write_mode()
        subject = arguments or "all uncommitted changes"
        return PreparedPrompt(_read_prompt("review").format(subject=subject))

    def _require_write_mode(self) -> None:
        if self.options.mode == "plan":
            raise PromptCommandError(IN_PLAN_MODE)


def _list_directory(folder: Path) -> Sequence[str]:
    """Return the entries of a directory, subdirectories with a slash; none if it cannot be read."""
    try:
        return sorted(f"{each.name}/" if each.is_dir() else each.name for each in folder.iterdir())
    except OSError:
        return ()


def _format_names(names: Sequence[str]) -> str:
    """Return the first names on one line, unprintable characters replaced."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    line = ", ".join(names[:MAX_NAMES]) or "none"
    # A file name may contain line breaks and could otherwise add lines to the prompt.
    return "".join(character if character.isprintable() else "\ufffd" for character in line) + more


def _read_prompt(name: str) -> str:
    return Path(__file__).with_name("text").joinpath(f"{name}.md").read_text("utf-8").strip()
