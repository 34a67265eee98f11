"""GitHub's commands: escaped as its runner unescapes them, and never a model's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.headless.run.findings import ReviewFinding, Severity
from acp_server.headless.run.github import (
    MAX_ANNOTATIONS_PER_LEVEL,
    MAX_SUMMARY_BYTES,
    GithubStep,
    annotation_command,
    format_command,
    neutralize_commands,
    output_text,
    select_annotations,
    truncate,
)

HOSTILE = (
    "x\n::error file=a::evil\n  ::set-output name=a::b\r\n##[add-path]/tmp\n::stop-commands::a"
)


def read_as_the_runner_does(line: str) -> tuple[str, dict[str, str], str] | None:
    """Return the command on a line, by the rules of actions/runner's ActionCommand."""
    text = line.lstrip()
    if not text.startswith("::") or (end := text.find("::", 2)) < 0:
        return None
    name, _, listed = text[2:end].partition(" ")
    pairs = (each.split("=", 1) for each in listed.split(",") if "=" in each)
    properties = {key: _unescaped(value, {":": "%3A", ",": "%2C"}) for key, value in pairs}
    return name, properties, _unescaped(text[end + 2 :], {})


def _unescaped(text: str, more: dict[str, str]) -> str:
    for sign, escape in ({"\r": "%0D", "\n": "%0A"} | more | {"%": "%25"}).items():
        text = text.replace(escape, sign)
    return text


@given(st.text(max_size=30), st.text(min_size=1, max_size=30))
def test_escaped_values_survive_a_round_trip(value: str, title: str) -> None:
    line = format_command("error", value, title=title)
    assert "\n" not in line
    assert read_as_the_runner_does(line) == ("error", {"title": title}, value)


@given(st.text(st.sampled_from(":#[ \ta\n%"), max_size=30))
def test_no_text_is_parsed_as_a_workflow_command(text: str) -> None:
    shown = neutralize_commands(text)
    assert all(read_as_the_runner_does(line) is None for line in shown.splitlines())
    assert "##[" not in shown


def test_hostile_model_output_contains_no_workflow_commands() -> None:
    lines = neutralize_commands(HOSTILE).splitlines()
    assert [read_as_the_runner_does(line) for line in lines] == [None] * len(lines)


def test_a_finding_is_annotated_at_its_lines() -> None:
    finding = ReviewFinding(
        path="a,b:c.py", line=3, end_line=5, severity="note", title="50%", message="m"
    )
    assert annotation_command(finding) == (
        "::notice file=a%2Cb%3Ac.py,line=3,endLine=5,title=50%25::m"
    )


@pytest.mark.parametrize("severity", ["error", "warning", "note"])
def test_the_number_of_annotations_is_limited_to_what_github_shows(severity: Severity) -> None:
    findings = [ReviewFinding(path=f"{n}.py", severity=severity, title="t") for n in range(30)]
    changed = ["29.py", "28.py"]
    shown = select_annotations(findings, changed)
    assert len(shown) == MAX_ANNOTATIONS_PER_LEVEL
    assert [each.path for each in shown[:2]] == ["28.py", "29.py"]


def test_workflow_commands_are_enabled_only_while_one_is_written(tmp_path: Path) -> None:
    lines: list[str] = []
    summary, output = tmp_path / "summary", tmp_path / "output"
    workflow = GithubStep(
        lines.append, {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    )
    stop = lines[0]
    token = stop.removeprefix("::stop-commands::")
    workflow.start_group("a")
    workflow.annotate([ReviewFinding(path="a.py", title="t")], [])
    workflow.append_summary("# told")
    workflow.set_outputs({"text": HOSTILE})
    workflow.resume_commands()
    go = f"::{token}::"
    assert lines == [
        *(stop, go, "::group::a", stop),
        *(go, "::warning file=a.py,title=t::t", stop),
        go,
    ]
    assert summary.read_text() == "# told"
    assert output.read_text().count("text<<output_") == 1


def test_no_value_can_terminate_its_own_output_block() -> None:
    name, *value, delimiter, rest = output_text("text", "a\noutput_0\nb").split("\n")
    assert (value, rest) == (["a", "output_0", "b"], "")
    assert name == f"text<<{delimiter}"


@pytest.mark.parametrize("limit", [0, 10, 100, 3000])
def test_a_summary_stays_under_its_limit_without_splitting_characters(limit: int) -> None:
    text = "é" * 1000
    assert len(truncate(text, limit).encode()) <= max(limit, 0)


def test_a_nearly_full_summary_accepts_only_what_fits(tmp_path: Path) -> None:
    summary = tmp_path / "summary"
    summary.write_text("x" * (MAX_SUMMARY_BYTES - 100))
    GithubStep(list[str]().append, {"GITHUB_STEP_SUMMARY": str(summary)}).append_summary(
        "y" * 10_000
    )
    assert summary.stat().st_size <= MAX_SUMMARY_BYTES
