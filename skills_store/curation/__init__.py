"""Putting skills in order: what may be merged, what became of it, and when it is time.

Which skills belong together is for a model to judge; nothing here asks one.
"""

from skills_store.curation.block import Block, BlockError, Consolidation, Pruning, parse_block
from skills_store.curation.candidates import Candidate, Hints, find_candidates, hints_on
from skills_store.curation.merging import CuratorKeeper
from skills_store.curation.outcome import Archival, archivals, discrepancies
from skills_store.curation.report import Report, report_text, report_yaml, write_report
from skills_store.curation.schedule import LastPass, Schedule

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
