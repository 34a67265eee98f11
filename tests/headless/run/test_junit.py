"""JUnit reports: true to the schema of those who read them, whatever a model says."""

from xml.etree import ElementTree as Xml

from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.junit import JunitCase, junit_report
from acp_server.headless.run.outcome import EXIT_CODES
from tests.headless.run.junit_schema import problems_of
from tests.support.case_table import each_case

HOSTILE = "\x00\x1b[31m]]><system-out>&amp;\ud800\ufffe"


@each_case("outcome", list(EXIT_CODES))
def test_every_outcome_produces_a_report_that_matches_the_schema(outcome: str) -> None:
    report = junit_report([JunitCase(HOSTILE, 1.25, outcome, HOSTILE, HOSTILE)])
    assert problems_of(report) == []
    suite = Xml.fromstring(report)[0]  # noqa: S314  our own
    failed = int(suite.get("failures", "")) + int(suite.get("errors", ""))
    assert (suite.get("tests"), failed) == ("1", outcome not in {"done", "not_run"})
    assert suite.get("skipped") == str(int(outcome == "not_run"))


def test_findings_are_failed_test_cases_with_their_locations() -> None:
    findings = [
        ReviewFinding(path="a.py", line=3, title="wrong", message="why"),
        ReviewFinding(path="b", title="t"),
    ]
    report = junit_report([JunitCase("task", 0.5, "findings", "there are findings")], findings)
    assert problems_of(report) == []
    cases = Xml.fromstring(report).iter("testcase")  # noqa: S314  our own
    assert [case.get("name") for case in cases] == ["task", "a.py:3", "b"]


def test_an_invalid_report_is_detected() -> None:
    wrong = (
        b"<testsuites><testsuite tests='1' failures='0' errors='0'>"
        b"<testcase name='a'><bad/></testcase></testsuite></testsuites>"
    )
    assert problems_of(wrong) == [
        "/testsuites/testsuite: missing required attribute 'name'",
        "/testsuites/testsuite/testcase: Unexpected child with tag 'bad' at position 1.",
    ]
