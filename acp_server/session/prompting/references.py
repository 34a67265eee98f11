"""What a prompt refers to by `@`: files, lines, directories, symbols, changes, problems, web pages.

Editors send what their users attach as links. Plain clients send the text alone, so `@src/a.py`,
`@src/a.py#L10-20`, `@src/`, `@symbol:Order.total`, `@diff`, `@staged`, `@problems` and
`@https://...` are looked up here.
Everything is read through the session's own tools: it is shown, the gate decides, and what comes
back is limited and scanned as results of tools are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from acp_server.session.diagnostics import DiagnosticsStore
from acp_server.session.user_calls import run_user_call
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text
from acp_server.turn.ports import Toolbox, TurnSink
from prompt_engine.mentions import TRAILING_MARKS, find_mentions

MAX_REFERENCES = 20
MAX_PROBLEMS = 100
GIT_COMMANDS = {"diff": "git diff HEAD", "staged": "git diff --staged"}
PROBLEMS = "problems"
SYMBOL = "symbol:"
"""The start of a reference to the definition of a symbol."""
NO_PROBLEMS = "(The editor reports no problems.)"
TOO_MANY = "({count} more references were not read: a prompt may have {limit}.)"


@dataclass(slots=True)
class PromptReferences:
    """Looks up the references in the prompts of one session."""

    directory: Path
    """The session's directory, absolute."""
    diagnostics: DiagnosticsStore

    async def read(
        self, text: str, attached: Collection[str], toolbox: Toolbox, sink: TurnSink
    ) -> Sequence[PromptPart]:
        """Return what a text refers to; `attached` are the URIs that the prompt has already."""
        written = list(dict.fromkeys(each.path for each in find_mentions(text)))
        if not written:
            return ()
        located = await to_thread.run_sync(self._locate_all, written)
        parts: list[PromptPart] = []
        for name, path, is_directory in located[:MAX_REFERENCES]:
            if path is None:
                parts += await self._read_other(name, toolbox, sink)
            elif is_directory:
                outcome = await run_user_call(toolbox, sink, "read_file", {"path": str(path)})
                parts.append(Attachment(path.as_uri(), outcome))
            elif path.as_uri() not in {uri.partition("#")[0] for uri in attached}:
                lines = name.partition("#")[2]
                uri = f"{path.as_uri()}#{lines}" if lines else path.as_uri()
                parts += await toolbox.attach(Link(uri, f"@{name}"), sink)
        if len(located) > MAX_REFERENCES:
            more = len(located) - MAX_REFERENCES
            parts.append(Text(TOO_MANY.format(count=more, limit=MAX_REFERENCES)))
        return parts

    def _locate_all(self, written: Sequence[str]) -> list[tuple[str, Path | None, bool]]:
        """Return what exists: references, their paths if they are files, and if directories.

        Blocks.
        """
        found: list[tuple[str, Path | None, bool]] = []
        for name in written:
            trimmed = name.rstrip(TRAILING_MARKS)
            if _is_known(trimmed):
                found.append((trimmed, None, False))
                continue
            for candidate in (name, trimmed):
                path = self._locate(candidate)
                if path is not None:
                    found.append((candidate, path, path.is_dir()))
                    break
        return found

    def _locate(self, name: str) -> Path | None:
        """Return the path that a name means if it exists, else None."""
        try:
            whole = self.directory / Path(name).expanduser()
            if whole.exists():
                return whole
            path = self.directory / Path(name.partition("#")[0]).expanduser()
            return path if "#" in name and path.is_file() else None
        except (OSError, ValueError, RuntimeError):  # too long, a NUL byte, no such user
            return None

    async def _read_other(
        self, name: str, toolbox: Toolbox, sink: TurnSink
    ) -> Sequence[PromptPart]:
        """Return the changes, the definition, the problems or the page that a reference means."""
        if name == PROBLEMS:
            return (Text(self._describe_problems()),)
        tool, arguments = "web_fetch", {"url": name}
        if name in GIT_COMMANDS:
            tool, arguments = "terminal", {"command": GIT_COMMANDS[name]}
        elif name.startswith(SYMBOL):
            wanted = name.removeprefix(SYMBOL)
            tool, arguments = "symbols", {"action": "definition", "name": wanted}
        if not any(spec.name == tool for spec in toolbox.specs):
            return (Text(f"(@{name} was not read: this session has no `{tool}` tool.)"),)
        return (Attachment(f"@{name}", await run_user_call(toolbox, sink, tool, arguments)),)

    def _describe_problems(self) -> str:
        lines = [
            f"{path}:{each.line}: {each.severity}: {each.message}"
            for path, problems in self.diagnostics.all()
            for each in problems
        ]
        more = [f"and {len(lines) - MAX_PROBLEMS} more"] if len(lines) > MAX_PROBLEMS else []
        listed = "\n".join([*lines[:MAX_PROBLEMS], *more])
        return f"Problems that the editor reports:\n{listed}" if lines else NO_PROBLEMS


def _is_known(name: str) -> bool:
    """Whether a reference means something else than a file."""
    return name in {*GIT_COMMANDS, PROBLEMS} or (
        name.startswith(("https://", "http://", SYMBOL)) and name != SYMBOL
    )
