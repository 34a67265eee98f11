"""What a command was found to do: the paths it reads and writes, and why a person must be asked.

Knows paths as text. Whether a path exists, is a link or is protected is the gate's to find out.
"""

from dataclasses import dataclass, field
from typing import Literal

from acp_server.frozen import frozen

Verdict = Literal["reads", "asks", "refused"]


class Unclear(Exception):  # noqa: N818 - not a failure: the answer is to ask
    """The text cannot be shown to only read; carries the phrase a person is told."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@frozen
class Tree:
    """A folder that is searched: the contents of the files below it are read."""

    root: str
    hidden: bool = True
    """Whether files and folders whose names begin with a dot are read too."""
    follows: bool = False
    """Whether links below it are followed, also out of it."""
    names: tuple[str, ...] = ()
    """If given, only files whose names match one of these patterns are read."""


@frozen
class Assessment:
    """What a command would do. `reads` holds only if the gate allows every path it names."""

    verdict: Verdict
    reason: str = ""
    """Why it asks or is refused, as one phrase for a person; empty when it only reads."""
    reads: tuple[str, ...] = ()
    """Every path it names to read, absolute; of a pattern or a tree, the folder it begins in."""
    globs: tuple[str, ...] = ()
    """The absolute patterns among what it reads; `patterns.could_name` says what they may hit."""
    trees: tuple[Tree, ...] = ()
    """The folders whose contents it searches at any depth."""
    writes: tuple[str, ...] = ()
    """Paths it would write, as far as they can be told: for the question, not for a decision."""
    prefix: tuple[str, ...] | None = None
    """What an "always" may cover: the words up to the first flag. None: do not offer one."""

    @property
    def has_globs(self) -> bool:
        """Whether the shell picks some of the paths by a pattern."""
        return bool(self.globs)


@dataclass(slots=True)
class Findings:
    """What was found so far, each thing once, in the order of the text."""

    reads: dict[str, None] = field(default_factory=dict[str, None])
    globs: dict[str, None] = field(default_factory=dict[str, None])
    trees: dict[Tree, None] = field(default_factory=dict[Tree, None])
    writes: dict[str, None] = field(default_factory=dict[str, None])
    reasons: list[str] = field(default_factory=list[str])

    def ask(self, reason: str) -> None:
        """Keep a reason to ask."""
        self.reasons.append(reason)
