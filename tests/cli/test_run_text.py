"""What `acp-server run` prints for people at the end."""

from pathlib import Path

import pytest

from acp_server.cli.run_options import RunOptions
from acp_server.cli.run_outputs import describe_finding, summarize_use
from acp_server.cli.run_requests import RunOptionsError, request_from
from acp_server.headless.run.denials import Denial, EffectTarget
from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.report import RunReport, result_as_json
from acp_server.headless.run.request import LAST_SESSION
from acp_server.turn.events import Usage
from acp_server.turn.usage_totals import UsageTotals


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (ReviewFinding(path="a.py", title="Wrong"), "a.py: warning: Wrong"),
        (
            ReviewFinding(path="a.py", line=3, severity="error", title="Wrong", message="It\nis."),
            "a.py:3: error: Wrong\n    It\n    is.",
        ),
    ],
    ids=["without a line", "with a message"],
)
def test_a_finding_is_printed_as_compilers_do(finding: ReviewFinding, text: str) -> None:
    assert describe_finding(finding) == text


def test_a_run_ends_with_what_it_took() -> None:
    report = RunReport(duration_seconds=12.3)
    assert summarize_use(report) == "12.3 s, 0 requests, 0 tokens in, 0 out"
    usage = Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=3000)
    report.usage = UsageTotals(usage, requests=2, cost_usd=0.01234)
    assert summarize_use(report) == (
        "12.3 s, 2 requests, 4,000 tokens in (75% cached), 50 out, $0.0123"
    )


def test_a_denial_names_the_rule_that_would_allow_it_if_there_is_one() -> None:
    targets = (EffectTarget("run", "make"),)
    denials = [
        Denial("a", "terminal", targets, "no", "terminal(make)"),
        Denial("b", "terminal", targets, "no"),
    ]
    rows = result_as_json(RunReport(denials=denials))["permission_denials"]
    assert isinstance(rows, list)
    assert [isinstance(each, dict) and each["allow"] for each in rows] == ["terminal(make)", None]


def test_undo_needs_a_session_to_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    with pytest.raises(RunOptionsError, match="--resume last"):
        request_from(RunOptions(prompt="/undo"), None)
    assert request_from(RunOptions(prompt="/undo", resume="last"), None).session == LAST_SESSION
