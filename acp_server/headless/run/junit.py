"""JUnit report of runs: each task is a test case. Writes no files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from acp_server.headless.run.findings import ReviewFinding

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "acp-server run"


@dataclass(frozen=True, slots=True)
class JunitCase:
    """One JUnit test case."""

    name: str
    seconds: float
    outcome: str
    """`done` is a success; others are errors or skipped by the tables below, or failures."""
    reason: str = ""
    text: str = ""
    """The answer of the run."""


ERROR_OUTCOMES = frozenset(
    {
        *(
            "internal_error",
            "usage_error",
            "authentication",
            "provider_error",
            "terminated",
            "interrupted",
        ),
        "setup_failed",
    }
)
SKIPPED_OUTCOMES = frozenset({"not_run"})


def junit_report(cases: Sequence[JunitCase], findings: Iterable[ReviewFinding] = ()) -> bytes:
    """Return a JUnit XML report; each finding becomes a failed test case."""
    all_cases = [*cases]
    for each in findings:
        location = each.path if each.line is None else f"{each.path}:{each.line}"
        reason = f"{each.severity}: {each.title}"
        all_cases.append(JunitCase(location, 0.0, "findings", reason, each.message))
    skipped = sum(case.outcome in SKIPPED_OUTCOMES for case in all_cases)
    counts = {**_counts(all_cases), "skipped": str(skipped)}
    suite = Xml.Element("testsuite", {"name": SUITE, **counts})
    for case in all_cases:
        suite.append(_element(case))
    root = Xml.Element("testsuites", _counts(all_cases))
    root.append(suite)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _counts(cases: Sequence[JunitCase]) -> dict[str, str]:
    failed = [case for case in cases if case.outcome not in {"done", *SKIPPED_OUTCOMES}]
    errors = sum(case.outcome in ERROR_OUTCOMES for case in failed)
    return {
        "tests": str(len(cases)),
        "failures": str(len(failed) - errors),
        "errors": str(errors),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _element(case: JunitCase) -> Xml.Element:
    element = Xml.Element(
        "testcase", name=_replace_illegal(case.name), classname=SUITE, time=f"{case.seconds:.3f}"
    )
    if case.outcome in SKIPPED_OUTCOMES:
        Xml.SubElement(element, "skipped", message=_replace_illegal(case.reason))
    elif case.outcome != "done":
        kind = "error" if case.outcome in ERROR_OUTCOMES else "failure"
        failure = Xml.SubElement(
            element, kind, type=case.outcome, message=_replace_illegal(case.reason)
        )
        failure.text = _replace_illegal(case.text) or None
    elif case.text:
        Xml.SubElement(element, "system-out").text = _replace_illegal(case.text)
    return element


def _replace_illegal(text: str) -> str:
    """Replace the characters that XML cannot contain, even escaped."""
    return _NOT_XML.sub("\ufffd", text)
