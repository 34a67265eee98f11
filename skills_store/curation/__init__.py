"""Curation of skills: merge candidates, transfer of files, report, and schedule.

The model decides which skills belong together; nothing here calls it.
"""

from skills_store.curation.candidates import Candidate, Hints, find_candidates, hints_on
from skills_store.curation.merging import CuratorKeeper
from skills_store.curation.outcome import Archival, archivals, discrepancies
from skills_store.curation.report import Report, report_text, report_yaml, write_report
from skills_store.curation.schedule import LastPass, Schedule
from skills_store.curation.summary import Block, BlockError, Consolidation, Pruning, parse_block

__all__ = [
    "Archival",
    "Block",
    "BlockError",
    "Candidate",
    "Consolidation",
    "CuratorKeeper",
    "Hints",
    "LastPass",
    "Pruning",
    "Report",
    "Schedule",
    "archivals",
    "discrepancies",
    "find_candidates",
    "hints_on",
    "parse_block",
    "report_text",
    "report_yaml",
    "write_report",
]
