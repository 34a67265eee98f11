"""Reads the results of output directories: one fleet, or the shards of one.

Results come from the journal; details (answer, findings, changed files) stay in each unit's own
file until a report needs them, so that memory does not grow with the length of the answers.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.fleet.journal import read_journal
from acp_server.fleet.results import UnitResult, result_from_json
from acp_server.fleet.transcripts import MAX_BYTES, parse_transcript
from acp_server.headless.run.findings import ReviewFinding, ReviewFindings
from acp_server.text.json_values import Object, as_list, as_object, as_text

MAX_LOG_BYTES = 64 * 1024
MAX_PATCH_BYTES = 256 * 1024


class ReportError(Exception):
    """Results that cannot be read; the text is for the user."""


@dataclass(frozen=True, slots=True)
class ReportedUnit:
    """One unit with its result, and the directory of its files."""

    result: UnitResult
    directory: Path

    def details(self) -> Object:
        """Read the unit's result file; empty if it has none, because it did not run."""
        file = self._file("json")
        try:
            return as_object(cast("JsonValue", json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            return {}

    def patch(self) -> str:
        """Read the beginning of the unit's patch; empty if it changed nothing."""
        return _read_start(self._file("patch"), MAX_PATCH_BYTES)

    def log(self) -> str:
        """Read the end of the unit's log: its calls and problems."""
        file = self._file("log")
        try:
            with file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - MAX_LOG_BYTES))
                return stream.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def transcript(self) -> Iterator[Object]:
        """Yield the events of the unit's last attempt; none if it has no transcript."""
        return parse_transcript(_read_start(self._file("transcript.jsonl"), 2 * MAX_BYTES))

    def _file(self, kind: str) -> Path:
        # A journal of another machine must not name files outside of its directory.
        return self.directory / f"{Path(self.result.id).name}.{kind}"


def load_units(directories: Sequence[Path]) -> list[ReportedUnit]:
    """Return the units of all directories, each once, in their order.

    A unit that is in several counts where it has run, and where it ran last.

    Raises:
        ReportError: A directory has no results.
    """
    units: dict[str, ReportedUnit] = {}
    for directory in directories:
        found = [ReportedUnit(each, directory) for each in _read_results(directory)]
        if not found:
            raise ReportError(
                f"{directory} has no results: name the --output directory of a run with --tasks"
            )
        for unit in found:
            key = unit.result.key or f"{directory}/{unit.result.id}"
            if key not in units or unit.result.has_run:
                units[key] = unit
    return [*units.values()]


def findings_of(details: Object) -> Sequence[ReviewFinding]:
    """Return the findings in a unit's result file."""
    found = as_list(as_object(details.get("result")).get("findings"))
    return ReviewFindings.model_validate({"findings": found}).findings


def _read_results(directory: Path) -> Iterator[UnitResult]:
    results = read_journal(directory).results
    if results:
        yield from results
        return
    merged = directory / "report.json"
    if merged.is_file():  # of several directories
        yield from _read_report(merged)
        return
    for file in sorted(directory.glob("*.json")):  # a directory whose journal was not kept
        value = as_object(cast("JsonValue", json.loads(file.read_text(encoding="utf-8"))))
        if "unit" in value and as_text(as_object(value["unit"]).get("id")) == file.stem:
            yield result_from_json(value["unit"])


def _read_report(file: Path) -> Iterator[UnitResult]:
    """Yield the results in a JSON report, which has one task per line."""
    with file.open("rb") as lines:
        for line in lines:
            with suppress(ValueError):
                value = as_object(cast("JsonValue", json.loads(line.rstrip(b",\n"))))
                if "unit" in value:
                    yield result_from_json(value["unit"])


def _read_start(file: Path, limit: int) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
