"""Curation of skills: merge candidates, transfer of files, report, and schedule.

The model decides which skills belong together; nothing here calls it.
"""

from skills_store.curation.candidates import (
    CurationCandidate,
    NameHints,
    find_candidates,
    find_name_hints,
)
from skills_store.curation.merging import CuratorSkillEditor
from skills_store.curation.outcome import ArchiveOutcome, archive_outcomes, find_discrepancies
from skills_store.curation.report import (
    CurationReport,
    render_report,
    render_report_yaml,
    write_report,
)
from skills_store.curation.schedule import CurationSchedule, LastCuration
from skills_store.curation.summary import (
    Consolidation,
    CuratorSummary,
    CuratorSummaryError,
    Pruning,
    parse_summary,
)

__all__ = [
    "ArchiveOutcome",
    "Consolidation",
    "CurationCandidate",
    "CurationReport",
    "CurationSchedule",
    "CuratorSkillEditor",
    "CuratorSummary",
    "CuratorSummaryError",
    "LastCuration",
    "NameHints",
    "Pruning",
    "archive_outcomes",
    "find_candidates",
    "find_discrepancies",
    "find_name_hints",
    "parse_summary",
    "render_report",
    "render_report_yaml",
    "write_report",
]
