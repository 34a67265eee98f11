"""Findings: what a run that reviews has to say about places in files, read from its answer.

The shape is asked of the model as a JSON schema; it is documented with the command.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from acp_server.headless.run.answers import AnswerShape

Severity = Literal["error", "warning", "note"]
RANK: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
_FILE_LEFT = re.compile(r"^\+\+\+ b/([^\t\r\n]+)", re.MULTILINE)
"""Where a diff of git's names a file as it is now; a name with spaces has a tab behind it."""


class Finding(BaseModel):
    """One finding; lines are counted from 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[str, Field(description="relative to the workspace", min_length=1)]
    line: Annotated[int | None, Field(ge=1)] = None
    end_line: Annotated[int | None, Field(ge=1)] = None
    severity: Severity = "warning"
    title: Annotated[str, Field(min_length=1)]
    message: str = ""


class Findings(BaseModel):
    """The whole answer of a run that reviews."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: str = ""
    findings: tuple[Finding, ...] = ()


def weighs(finding: Finding, least: Severity) -> bool:
    """Whether a finding is at least that severe."""
    return RANK[finding.severity] <= RANK[least]


def shape_of_findings() -> AnswerShape:
    """Return what the answer of a run that reviews must be."""
    return AnswerShape(Findings.model_json_schema())


def placed(findings: Sequence[Finding], folder: Path, top: Path) -> tuple[Finding, ...]:
    """Return findings whose paths are from the top of the repository, as readers need them.

    Models name files from `folder`, where they work, but also from the top, or absolutely. It looks
    at which files there are.
    """
    return tuple(
        each.model_copy(update={"path": _from_top(each.path, folder, top)}) for each in findings
    )


def _from_top(path: str, folder: Path, top: Path) -> str:
    meant = next((base / path for base in (folder, top) if _is_there(base / path)), folder / path)
    try:
        name = Path(os.path.relpath(meant, top))
    except ValueError:  # on another drive, or no path at all
        return path
    return path if os.pardir in name.parts else name.as_posix()


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a model's words may be no path at all
        return False


def files_in_diff(text: str) -> list[str]:
    r"""Return the files that a diff of git's in a text leaves behind, changed or new.

    >>> files_in_diff("Look\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n--- a/b\n+++ /dev/null\n")
    ['a.py']
    """
    return _FILE_LEFT.findall(text)


def ranked(findings: Sequence[Finding], changed: Sequence[str]) -> list[Finding]:
    """Return findings, those in files of the change first; of these the weightiest first."""
    in_change = frozenset(changed)

    def weight(finding: Finding) -> tuple[bool, int, str, int]:
        is_elsewhere = finding.path not in in_change
        return is_elsewhere, RANK[finding.severity], finding.path, finding.line or 0

    return sorted(findings, key=weight)
