"""Changes a review proposes and the user decides about: one file for each review.

Each call is listed with all of its arguments, so that a person can read it, or the agent can make
the call when asked to.
"""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from acp_server.session.commands.markdown import fenced_block
from acp_server.turn.conversation import ToolCall, parse_arguments
from skills_store.atomic import write_atomically

_PRIVATE = 0o600


@dataclass(slots=True)
class Proposals:
    """The proposals of one review. All methods block."""

    directory: Path
    session_id: str
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    path: Path = field(init=False)
    """The file; it exists once there is a proposal."""
    _calls: list[ToolCall] = field(default_factory=list[ToolCall], init=False)

    def __post_init__(self) -> None:
        """Choose a file name."""
        name = f"{self.created_at:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}.md"
        self.path = self.directory / name

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: ToolCall) -> None:
        """Add a call and rewrite the file.

        Raises:
            OSError: the file cannot be written.
        """
        self._calls.append(call)
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Private: the arguments may quote the conversation.
        write_atomically(self.path, self._text().encode(), mode=_PRIVATE)

    def _text(self) -> str:
        lines = [
            f"# Proposed on {self.created_at:%Y-%m-%d at %H:%M} UTC",
            "",
            f"By a review of session {self.session_id}. None of these changes has been made.",
        ]
        for number, call in enumerate(self._calls, start=1):
            lines += ["", f"## {number}. `{call.name}`", ""]
            blocks: list[str] = []
            for name, value in parse_arguments(call).items():
                if isinstance(value, str) and "\n" in value:
                    blocks += ["", f"{name}:", "", fenced_block(value, "")]
                else:
                    lines.append(f"- {name}: {value}")
            lines += blocks
        return "\n".join(lines) + "\n"
