"""Findings as SARIF 2.1.0 and as GitLab's Code Quality report. Writes no files.

Sources: https://docs.oasis-open.org/sarif/sarif/v2.1.0/, GitHub's "SARIF support for code
scanning", and GitLab's "Code Quality report format".
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from urllib.parse import quote

from pydantic import JsonValue

from acp_server.headless.run.findings import ReviewFinding
from acp_server.version import __version__

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULE = "acp-server/review"
_CODE_QUALITY_SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def sarif_report(findings: Iterable[ReviewFinding]) -> bytes:
    """Return findings as a SARIF log; all have one rule, since models name none."""
    driver: JsonValue = {
        "name": "acp-server",
        "version": __version__,
        "rules": [
            {
                "id": RULE,
                "name": "Review",
                "shortDescription": {"text": "Finding of a review by a model"},
                "defaultConfiguration": {"level": "warning"},
            }
        ],
    }
    run: JsonValue = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(each, mark) for each, mark in _with_fingerprints(findings)],
    }
    return _encode({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def code_quality_report(findings: Iterable[ReviewFinding]) -> bytes:
    """Return findings as a Code Quality report."""
    return _encode(
        [
            {
                "description": _text_of(each),
                "check_name": RULE,
                "fingerprint": mark,
                "severity": _CODE_QUALITY_SEVERITIES[each.severity],
                "location": {"path": each.path, "lines": _code_quality_lines(each)},
            }
            for each, mark in _with_fingerprints(findings)
        ]
    )


def _sarif_result(finding: ReviewFinding, fingerprint: str) -> JsonValue:
    # GitHub shows no finding without a line; the first one stands for the file.
    region: dict[str, JsonValue] = {"startLine": finding.line or 1}
    if finding.line and finding.end_line and finding.end_line >= finding.line:
        region["endLine"] = finding.end_line
    return {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": finding.severity,
        "message": {"text": _text_of(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {"acpServerFinding/v1": fingerprint},
    }


def _code_quality_lines(finding: ReviewFinding) -> JsonValue:
    lines: dict[str, JsonValue] = {"begin": finding.line or 1}
    if finding.line and finding.end_line and finding.end_line >= finding.line:
        lines["end"] = finding.end_line
    return lines


def _text_of(finding: ReviewFinding) -> str:
    return f"{finding.title}\n\n{finding.message}" if finding.message else finding.title


def _with_fingerprints(
    findings: Iterable[ReviewFinding],
) -> Iterator[tuple[ReviewFinding, str]]:
    """Yield findings with fingerprints: the same in the next commit, unique in one report."""
    counts: dict[tuple[str, str], int] = {}
    for each in findings:
        # Without the line, which other changes move.
        identity = each.path, each.title
        number = counts[identity] = counts.get(identity, 0) + 1
        yield each, sha256("\0".join((*identity, str(number))).encode()).hexdigest()


def _encode(value: JsonValue) -> bytes:
    return f"{json.dumps(value, indent=1)}\n".encode()
