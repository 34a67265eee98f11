"""The facts that a prompt is made of: read once, by whoever builds it, and frozen."""

from dataclasses import dataclass
from typing import Literal

from prompt_engine.findings import Finding

FileOutcome = Literal[
    "loaded",
    "cut",
    "blocked",
    "named",
    "waiting",
    "unused",
    "empty",
    "unreadable",
    "undecodable",
    "outside",
]
"""What became of a file of instructions.

Whole or in part before the model: loaded, cut. In a line before the model: blocked (a scan found
something), named (a rule of which only the description is told). Not before the model: waiting
(a rule for paths not touched yet), unused, empty, unreadable, undecodable, outside (it leads out of
the workspace).
"""


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A project's instructions: the path as the model is told it, and the text."""

    path: str
    text: str
    total_characters: int
    """The length of the whole file; more than the text holds when it was cut."""


@dataclass(frozen=True, slots=True)
class FileNote:
    """What became of a file of instructions, for the user and for the prompt's report."""

    path: str
    """As the model is told it."""
    outcome: FileOutcome
    total_characters: int = 0
    """The length without frontmatter."""
    kept_characters: int = 0
    reason: str = ""
    """Why, or what else there is to say, in half a sentence."""
    findings: tuple[Finding, ...] = ()
    """What a scan found; in a loaded file: despite which the user trusts it."""
