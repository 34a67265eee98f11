"""Prompt commands that the model carries out: `/init` and `/review`. Their prompts are in `text/`.

Facts that need no model are collected here and inserted into the prompt.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.permissions.modes import Mode
from acp_server.session.commands.registry import Errand, ErrandError
from acp_server.startup.fast_dataclass import frozen

FILE_NAME = "AGENTS.md"
REWRITE = "again"
OTHER_FILES = (".hermes.md", "HERMES.md", "CLAUDE.md", ".cursorrules", "README.md")
"""Files that may already contain text for the new file."""
MOST_NAMES = 60
IS_THERE = (
    f"{FILE_NAME} already exists and was not changed. Run `/init {REWRITE}` to have it brought "
    "up to date."
)
UNKNOWN = f"`/init` takes no argument, or `{REWRITE}`."
IN_PLAN_MODE = "Plan mode writes and runs nothing. Run `/mode ask` to leave it, then try again."

Findings = Callable[[], Awaitable[str]]
"""Returns the workspace facts as Markdown; empty if none are known."""


@frozen
class Errands:
    """The prompt commands of one session."""

    folder: Path
    """The session's directory, absolute."""
    mode: Callable[[], Mode]
    findings: Findings

    def all(self) -> Sequence[Errand]:
        """Return the commands."""
        write = f"Write a first {FILE_NAME} for this project"
        review = "Review the uncommitted changes, or others"
        return (
            Errand("init", write, self._init, f"[{REWRITE}]"),
            Errand("review", review, self._review, "[range or path]"),
        )

    async def _init(self, arguments: str) -> str:
        """Return the prompt; an existing file is only rewritten on explicit request."""
        self._require_deeds()
        if arguments not in {"", REWRITE}:
            raise ErrandError(UNKNOWN)
        names = await to_thread.run_sync(_names_in, self.folder)
        if FILE_NAME in names and arguments != REWRITE:
            raise ErrandError(IS_THERE)
        return _text("init").format(
            task="revise" if FILE_NAME in names else "write",
            file=self.folder / FILE_NAME,
            others=", ".join(f"`{name}`" for name in OTHER_FILES if name in names) or "none",
            findings=f"{await self.findings()}\n- Entries: {_listed(names)}".lstrip(),
        )

    async def _review(self, arguments: str) -> str:
        self._require_deeds()
        return _text("review").format(subject=arguments or "all uncommitted changes")

    def _require_deeds(self) -> None:
        if self.mode() == "plan":
            raise ErrandError(IN_PLAN_MODE)


def _names_in(folder: Path) -> Sequence[str]:
    """Return the entries of a directory, subdirectories with a slash; none if it cannot be read."""
    try:
        return sorted(f"{each.name}/" if each.is_dir() else each.name for each in folder.iterdir())
    except OSError:
        return ()


def _listed(names: Sequence[str]) -> str:
    """Return the first names on one line, unprintable characters replaced."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    line = ", ".join(names[:MOST_NAMES]) or "none"
    # A file name may contain line breaks and could otherwise add lines to the prompt.
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line) + more


def _text(name: str) -> str:
    return Path(__file__).with_name("text").joinpath(f"{name}.md").read_text("utf-8").strip()
