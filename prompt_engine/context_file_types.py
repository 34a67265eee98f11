"""Instruction files and their outcomes, as inputs of a prompt. Frozen after collection."""

from dataclasses import dataclass
from typing import Literal

from prompt_engine.findings import ThreatFinding

ContextFileOutcome = Literal[
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
"""Outcome of an instruction file.

Shown completely or in part: loaded, cut. Represented by one line: blocked (a scan found something),
named (a rule of which only the description is shown). Not shown: waiting (a rule for paths that
were not touched yet), unused, empty, unreadable, undecodable, outside (it links outside the
workspace).
"""


@dataclass(frozen=True, slots=True)
class ContextFile:
    """Project instructions: the path as shown to the model, and the text."""

    path: str
    text: str
    total_characters: int
    """Length of the complete file; greater than that of `text` if it was cut."""


@dataclass(frozen=True, slots=True)
class ContextFileNote:
    """Outcome of an instruction file, for the user and for the prompt's report."""

    path: str
    """As shown to the model."""
    outcome: ContextFileOutcome
    total_characters: int = 0
    """Length without frontmatter."""
    kept_characters: int = 0
    reason: str = ""
    """Reason or further detail, as a clause."""
    findings: tuple[ThreatFinding, ...] = ()
    """Scan findings; in a loaded file, those it is marked for, or the user accepted by trust."""
    is_marked: bool = False
    """Whether the file is shown with a warning to the model."""
