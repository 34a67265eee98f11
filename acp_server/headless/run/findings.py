"""Review findings at places in files, parsed from a run's final answer.

The models' JSON schema, including their docstrings, is part of the prompt of a review run. It is
documented with the command.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from acp_server.headless.run.answer_schema import AnswerSchema

Severity = Literal["error", "warning", "note"]
RANK: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
_NEW_FILE_NAME = re.compile(r"^\+\+\+ b/([^\t\r\n]+)", re.MULTILINE)
"""The new name of a file in a git diff; git adds a tab after a name with spaces."""


class ReviewFinding(BaseModel):
    """One finding; lines are counted from 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[str, Field(description="relative to the workspace", min_length=1)]
    line: Annotated[int | None, Field(ge=1)] = None
    end_line: Annotated[int | None, Field(ge=1)] = None
    severity: Severity = "warning"
    title: Annotated[str, Field(min_length=1)]
    message: str = ""


class ReviewFindings(BaseModel):
    """The whole answer of a run that reviews."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: str = ""
    findings: tuple[ReviewFinding, ...] = ()


def is_at_least(finding: ReviewFinding, minimum: Severity) -> bool:
    """Return whether a finding has at least this severity."""
    return RANK[finding.severity] <= RANK[minimum]


def findings_schema() -> AnswerSchema:
    """Return the answer schema of a review run."""
    return AnswerSchema(ReviewFindings.model_json_schema())


def resolve_paths(
    findings: Sequence[ReviewFinding], folder: Path, top: Path
) -> tuple[ReviewFinding, ...]:
    """Return findings with paths relative to the repository root `top`. Reads the disk.

    Models write paths relative to `folder`, their working directory, or to the root, or absolute;
    the first that exists is taken.
    """
    return tuple(
        each.model_copy(update={"path": _path_from_root(each.path, folder, top)})
        for each in findings
    )


def _path_from_root(path: str, folder: Path, top: Path) -> str:
    resolved = next((base / path for base in (folder, top) if _exists(base / path)), folder / path)
    try:
        name = Path(os.path.relpath(resolved, top))
    except ValueError:  # on another drive, or not a valid path
        return path
    return path if os.pardir in name.parts else name.as_posix()


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the model's text may not be a valid path
        return False


def files_in_diff(text: str) -> list[str]:
    r"""Return the changed and new files of a git diff that is part of a text.

    >>> files_in_diff("Look\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n--- a/b\n+++ /dev/null\n")
    ['a.py']
    """
    return _NEW_FILE_NAME.findall(text)


def sort_findings(findings: Sequence[ReviewFinding], changed: Sequence[str]) -> list[ReviewFinding]:
    """Return findings sorted: those in changed files first, then by severity."""
    changed_paths = frozenset(changed)

    def sort_key(finding: ReviewFinding) -> tuple[bool, int, str, int]:
        is_elsewhere = finding.path not in changed_paths
        return is_elsewhere, RANK[finding.severity], finding.path, finding.line or 0

    return sorted(findings, key=sort_key)
