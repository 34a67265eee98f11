"""The commands that the model carries out: /init and /review. Their prompts stand in `text/`.

What can be found out without a model is found out here and put into the prompt.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.frozen import frozen
from acp_server.permissions.modes import Mode
from acp_server.session.commands import Errand, ErrandError

FILE_NAME = "AGENTS.md"
REWRITE = "again"
OTHER_FILES = (".hermes.md", "HERMES.md", "CLAUDE.md", ".cursorrules", "README.md")
"""What may say already what belongs into the new file."""
MOST_NAMES = 60
IS_THERE = (
    f"There is an {FILE_NAME} already, and it was left as it is. `/init {REWRITE}` has it brought "
    "up to date."
)
UNKNOWN = f"`/init` takes nothing, or `{REWRITE}`."
IN_PLAN_MODE = "Plan mode writes nothing and runs nothing; `/mode ask` leaves it."

Findings = Callable[[], Awaitable[str]]
"""Returns what is known of the workspace, as Markdown; empty if nothing is."""


@frozen
class Errands:
    """The errands of one session."""

    folder: Path
    """The session's own, absolute."""
    mode: Callable[[], Mode]
    findings: Findings

    def all(self) -> Sequence[Errand]:
        """Return them."""
        write = f"Write a first {FILE_NAME} for this project"
        review = "Review the uncommitted changes, or others"
        return (
            Errand("init", write, self._init, f"[{REWRITE}]"),
            Errand("review", review, self._review, "[range or path]"),
        )

    async def _init(self, arguments: str) -> str:
        """Return the prompt; a file that is there is rewritten only when that was asked for."""
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
    """Return the names in a folder, of folders with a slash; none if it cannot be listed."""
    try:
        return sorted(f"{each.name}/" if each.is_dir() else each.name for each in folder.iterdir())
    except OSError:
        return ()


def _listed(names: Sequence[str]) -> str:
    """Return the first of many names on one line, whatever they hold."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    line = ", ".join(names[:MOST_NAMES]) or "none"
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line) + more


def _text(name: str) -> str:
    return Path(__file__).with_name("text").joinpath(f"{name}.md").read_text("utf-8").strip()
