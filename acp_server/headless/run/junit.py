"""JUnit report of runs: each task is a test case. Writes no files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from acp_server.headless.run.findings import Finding

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "acp-server run"


@dataclass(frozen=True, slots=True)
class Case:
    """One JUnit test case."""

    name: str
    seconds: float
    outcome: str
    """`done` is a success, an outcome in ERRORS is an error, all others are failures."""
    reason: str = ""
    text: str = ""
    """The answer of the run."""


ERRORS = frozenset(
    {"internal_error", "usage_error", "authentication", "provider_error", "terminated"}
)


def junit(cases: Sequence[Case], findings: Iterable[Finding] = ()) -> bytes:
    """Return a JUnit XML report; each finding becomes a failed test case."""
    all_cases = [*cases, *map(_found, findings)]
    suite = Xml.Element("testsuite", {"name": SUITE, **_counts(all_cases)})
    for case in all_cases:
        suite.append(_element(case))
    root = Xml.Element("testsuites", _counts(all_cases))
    root.append(suite)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    bad = [case for case in cases if case.outcome != "done"]
    errors = sum(case.outcome in ERRORS for case in bad)
    return {
        "tests": str(len(cases)),
        "failures": str(len(bad) - errors),
        "errors": str(errors),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _found(finding: Finding) -> Case:
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    reason = f"{finding.severity}: {finding.title}"
    return Case(place, 0.0, "findings", reason, finding.message)


def _element(case: Case) -> Xml.Element:
    element = Xml.Element(
        "testcase", name=_legal(case.name), classname=SUITE, time=f"{case.seconds:.3f}"
    )
    if case.outcome != "done":
        kind = "error" if case.outcome in ERRORS else "failure"
        fault = Xml.SubElement(element, kind, type=case.outcome, message=_legal(case.reason))
        fault.text = _legal(case.text) or None
    elif case.text:
        Xml.SubElement(element, "system-out").text = _legal(case.text)
    return element


def _legal(text: str) -> str:
    """Replace the characters that XML cannot contain, even escaped."""
    return _NOT_XML.sub("\ufffd", text)
