"""Reports of fleets: merged, complete, escaped, in the formats of others."""

import hashlib
import json
import xml.etree.ElementTree as Xml
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import jsonschema
import pytest
from pydantic import JsonValue

from acp_server.fleet.reports.loading import load_units
from acp_server.fleet.reports.markdown import MAX_ROWS
from acp_server.fleet.reports.writing import WrittenReports, write_reports
from acp_server.headless.run.finding_formats import code_quality_report, sarif_report
from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.text.json_values import Object, as_list
from tests.cli.command_line import run
from tests.fleet.made_results import make_fleet, make_result, store

HOSTILE = "<script>alert(1)</script> | `x` \x1b[31m"
SECRET = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
FINDINGS: list[JsonValue] = [
    {"path": "a b/c.py", "line": 3, "end_line": 5, "severity": "error", "title": "Wrong"},
    {"path": "d.py", "line": None, "severity": "note", "title": "Odd", "message": "Why?"},
]


def write(directory: Path, min_pass: float | None = None) -> WrittenReports:
    return write_reports(load_units([directory]), directory, OutputSanitizer(), min_pass=min_pass)


class PageReader(HTMLParser):
    """Collects the tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_all_reports_of_a_run_agree(tmp_path: Path) -> None:
    results = [*make_fleet(20), make_result(90, outcome="not_run", attempts=0)]
    store(tmp_path, results, FINDINGS)
    written = write(tmp_path)
    passed = sum(each.is_passed for each in results)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [each["id"] for each in report["tasks"]] == [each.id for each in results]
    assert (report["summary"]["passed"], report["summary"]["not_run"]) == (passed, 1)
    assert written.markdown.startswith(f"### acp-server: {passed} of 21 tasks passed\n")
    suite = Xml.fromstring((tmp_path / "junit.xml").read_bytes())  # noqa: S314  our own file
    assert suite.get("tests") == "21"
    assert [file.name for file in written.files] == [
        *("report.json", "summary.md", "report.html", "junit.xml"),
        *("findings.sarif", "gl-code-quality-report.json"),
    ]
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_texts_of_others_are_escaped_and_secrets_removed(tmp_path: Path) -> None:
    bad = make_result(1, outcome="timeout", reason=f"{HOSTILE} {SECRET}", model=HOSTILE)
    store(tmp_path, [bad])
    (tmp_path / "task-1.log").write_text(f"{HOSTILE}\n{SECRET}\n")
    event: Object = {"type": "message", "text": f"{HOSTILE} {SECRET}"}
    (tmp_path / "task-1.transcript.jsonl").write_text(f"{json.dumps(event)}\n")
    written = write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    for text in (page, written.markdown, (tmp_path / "report.json").read_text()):
        assert SECRET not in text
        assert "\x1b" not in text
    found = PageReader(page)
    assert "script" not in found.tags
    assert any("<script>alert(1)</script>" in text for text in found.texts)
    assert "<script>" not in written.markdown
    # No cell of a table is cut in two.
    row = next(line for line in written.markdown.splitlines() if line.startswith("| task-1 "))
    assert row.replace("\\|", "").count("|") == 7


def test_the_page_loads_nothing_and_its_policy_allows_its_styles_alone(tmp_path: Path) -> None:
    store(tmp_path, make_fleet(5))
    write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    found = PageReader(page)
    names = {name for name, _ in found.attributes}
    assert names.isdisjoint({"src", "href", "style", "srcset", "onclick", "onerror", "action"})
    assert set(found.tags).isdisjoint({"script", "link", "img", "iframe", "object", "form"})
    styles = page.split("<style>")[1].split("</style>")[0]
    digest = b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    policy = dict(found.attributes)["content"] if not names else page.split('content="')[1]
    assert policy is not None
    assert policy.startswith(f"default-src &#x27;none&#x27;; style-src &#x27;sha256-{digest}")
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_summary_has_at_most_fifty_rows(tmp_path: Path) -> None:
    store(tmp_path, [make_result(number, outcome="timeout") for number in range(60)])
    markdown = write(tmp_path).markdown
    assert sum(line.startswith("| task-") for line in markdown.splitlines()) == MAX_ROWS
    assert "… and 10 more" in markdown


def test_a_minimal_pass_rate_decides_the_outcome(tmp_path: Path) -> None:
    outcomes = ["done"] * 8 + ["check_failed"] * 2
    results = [make_result(number, outcome=each) for number, each in enumerate(outcomes)]
    store(tmp_path, results)
    assert write(tmp_path).outcome == "check_failed"
    assert write(tmp_path, 0.8).outcome == "done"
    assert write(tmp_path, 0.81).outcome == "check_failed"


def test_shards_are_merged_and_a_unit_counts_where_it_ran(tmp_path: Path) -> None:
    results = [make_result(number) for number in range(4)]
    first = store(tmp_path / "1", [results[0], replace(results[1], outcome="not_run")])
    again = store(tmp_path / "2", [replace(results[1], outcome="timeout"), *results[2:]])
    units = load_units([first, again])
    assert [each.result.id for each in units] == [f"task-{number}" for number in range(4)]
    assert [each.result.outcome for each in units] == ["done", "timeout", "done", "done"]
    assert [each.directory.name for each in units] == ["1", "2", "2", "2"]
    write_reports(units, tmp_path / "all", OutputSanitizer())
    merged = load_units([tmp_path / "all"])
    assert [each.result for each in merged] == [each.result for each in units]


def test_a_journal_names_no_file_outside_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_text("secret")
    store(tmp_path / "out", [make_result(1)])
    journal = tmp_path / "out" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"id": "task-1"', '"id": "../secret"'))
    (unit,) = load_units([tmp_path / "out"])
    assert (unit.result.id, unit.log()) == ("../secret", "")


def test_sarif_has_the_members_that_its_readers_need() -> None:
    """The whole published schema accepts it too; these are the members that are used."""
    closed: Object = {"additionalProperties": False}
    text: JsonValue = {**closed, "properties": {"text": {"type": "string"}}, "required": ["text"]}
    region: JsonValue = {
        **closed,
        "properties": {
            "startLine": {"type": "integer", "minimum": 1},
            "endLine": {"type": "integer", "minimum": 1},
        },
        "required": ["startLine"],
    }
    place: JsonValue = {
        **closed,
        "properties": {
            "artifactLocation": {
                **closed,
                "properties": {
                    "uri": {"type": "string", "format": "uri-reference"},
                    "uriBaseId": {"type": "string"},
                },
            },
            "region": region,
        },
        "required": ["artifactLocation", "region"],
    }
    result: JsonValue = {
        **closed,
        "properties": {
            "ruleId": {"type": "string"},
            "ruleIndex": {"const": 0},
            "level": {"enum": ["none", "note", "warning", "error"]},
            "message": text,
            "locations": {
                "type": "array",
                "items": {**closed, "properties": {"physicalLocation": place}},
                "minItems": 1,
            },
            "partialFingerprints": {"additionalProperties": {"type": "string"}},
        },
        "required": ["message", "ruleId", "locations"],
    }
    findings = [ReviewFinding.model_validate(each) for each in FINDINGS]
    log = json.loads(sarif_report(findings))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    schema = {"type": "array", "items": result}
    check = cast("Callable[..., None]", jsonschema.validate)
    check(log["runs"][0]["results"], schema, jsonschema.Draft7Validator)
    results = log["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == [rule["id"]] * 2
    places = [each["locations"][0]["physicalLocation"] for each in results]
    assert places[0]["artifactLocation"]["uri"] == "a%20b/c.py"
    assert [each["region"] for each in places] == [{"startLine": 3, "endLine": 5}, {"startLine": 1}]


def test_code_quality_reports_have_unique_fingerprints_that_survive_moved_lines() -> None:
    finding = ReviewFinding(path="a.py", line=1, severity="warning", title="Wrong")
    moved = finding.model_copy(update={"line": 9})

    def fingerprints(*findings: ReviewFinding) -> list[str]:
        report: list[JsonValue] = as_list(json.loads(code_quality_report(findings)))
        keys = {"description", "check_name", "fingerprint", "severity", "location"}
        assert all(isinstance(each, dict) and each.keys() == keys for each in report)
        return [str(each["fingerprint"]) for each in report if isinstance(each, dict)]

    assert fingerprints(finding) == fingerprints(moved)
    assert len(set(fingerprints(finding, finding))) == 2


def test_the_command_merges_shards_and_writes_the_step_summary(tmp_path: Path) -> None:
    results = make_fleet(6)
    first, second = (store(tmp_path / str(part), results[part::2]) for part in (0, 1))
    step, home = tmp_path / "step.md", tmp_path / "home"
    home.mkdir()
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(step)}
    folders, output = (str(first), str(second)), str(tmp_path / "all")
    done = run(home, "report", *folders, "--output", output, "--min-pass", "0", **variables)
    assert done.exit_code == 0, done
    assert len(json.loads((tmp_path / "all" / "report.json").read_text())["tasks"]) == 6
    assert "tasks passed" in step.read_text()
    assert run(home, "report", *folders).exit_code == 2
    both = ("--merge", folders[0], "--merge", folders[1])
    merged = run(home, "run", *both, "--output", str(tmp_path / "again"), "--format", "json")
    assert json.loads(merged.stdout)["summary"]["total"] == 6
    assert (tmp_path / "again" / "report.html").exists()
    assert run(home, "run", *both).exit_code == 2


@pytest.mark.parametrize("is_json", [False, True])
def test_the_command_compares_two_runs(tmp_path: Path, is_json: bool) -> None:  # noqa: FBT001
    before = store(tmp_path / "before", make_fleet(12))
    after = store(tmp_path / "after", make_fleet(12, seed=2))
    (tmp_path / "home").mkdir()
    options = ("--json",) if is_json else ()
    done = run(tmp_path / "home", "compare", str(before), str(after), *options)
    assert done.exit_code == 0, done
    if is_json:
        assert json.loads(done.stdout)["tasks"] == 12
    else:
        assert "12 tasks ran in both" in done.stdout
        assert "(exact paired test)" in done.stdout
