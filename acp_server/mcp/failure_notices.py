"""Tells the user once about a server that is not available."""

from collections.abc import Callable, Sequence

from acp_server.text.lines import to_single_line

SIGN_IN_NEEDED = (
    "The MCP server “{name}” is not available yet: {problem}. Run `/mcp sign-in {name}` for that; "
    "everything else works without it."
)
FAILED = (
    "The MCP server “{name}” is not available: {problem}. Everything else works without it; `/mcp` "
    "shows more, and `/reload` tries again."
)
MAX_NAME_CHARACTERS = 100


class FailureNotices:
    """The notices about one server."""

    def __init__(self, server: str, notify_user: Callable[[str], None]) -> None:
        self._server = to_single_line(server, MAX_NAME_CHARACTERS)
        self._notify_user = notify_user
        self._last_problem = ""
        self._has_sign_in = False

    def reset(self) -> None:
        """Start again: the server is connected."""
        self._last_problem, self._has_sign_in = "", False

    def add(self, problem: str, output: Sequence[str]) -> None:
        """Tell the user about a failure, unless it repeats the last one."""
        if problem != self._last_problem:
            self._last_problem = problem
            full = f"{problem} ({output[-1]})" if output else problem
            self._notify_user(FAILED.format(name=self._server, problem=full))

    def add_sign_in(self, problem: str) -> None:
        """Tell the user that the server wants a sign-in, unless they know."""
        # Whatever the reason: the command that signs in shows its own outcome.
        if not self._has_sign_in:
            self._has_sign_in = True
            self._notify_user(SIGN_IN_NEEDED.format(name=self._server, problem=problem))

    def mark_sign_in(self) -> None:
        """Record that the user knows that the server wants a sign-in."""
        self._has_sign_in = True
