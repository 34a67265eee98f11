"""Findings: named from the top of the repository, whichever folder of it the model works in."""

import json
from pathlib import Path

import pytest

from acp_server.headless.run.findings import ReviewFinding, resolve_paths
from tests.headless.run.pipeline import make_step
from tests.headless.run.repositories import git
from tests.headless.run.test_github import read_as_the_runner_does
from tests.support.messages_api import messages_api_in_thread

CASES = {
    "a.py": "sub/a.py",
    "./a.py": "sub/a.py",
    "gone.py": "sub/gone.py",
    "sub/a.py": "sub/a.py",
    "../b.py": "b.py",
    "b.py": "b.py",
    "{top}/sub/a.py": "sub/a.py",
    "../../../../etc/passwd": "../../../../etc/passwd",
    "/etc/passwd": "/etc/passwd",
    "a\0b": "sub/a\0b",
    "x" * 5000: f"sub/{'x' * 5000}",
}


def workspace(folder: Path) -> tuple[Path, Path]:
    """Make a repository with files, and return its top and a folder of it."""
    top, sub = folder / "code", folder / "code/sub"
    sub.mkdir(parents=True)
    git(top, "init", "--quiet")
    (top / "b.py").write_text("")
    (sub / "a.py").write_text("")
    return top, sub


@pytest.mark.parametrize("path", CASES, ids=lambda path: path[:20])
def test_a_path_is_relative_to_the_repository_root_however_the_model_writes_it(
    tmp_path: Path, path: str
) -> None:
    top, sub = workspace(tmp_path)
    reported = ReviewFinding(path=path.format(top=top), title="t")
    (finding,) = resolve_paths([reported], sub, top)
    assert finding.path == CASES[path]


@pytest.mark.full
def test_annotations_of_a_run_in_a_subdirectory_use_repository_paths(tmp_path: Path) -> None:
    _, sub = workspace(tmp_path)
    answer = {"findings": [{"path": "a.py", "line": 3, "severity": "error", "title": "wrong"}]}
    with messages_api_in_thread([json.dumps(answer)]) as api:
        junit = tmp_path / "junit.xml"
        options = ("--cwd", str(sub), "--mode", "plan", "--findings", "--junit", str(junit))
        done = make_step(tmp_path, api).run("Review", "--github", *options)
    annotations = [read_as_the_runner_does(line) for line in done.stderr.splitlines()]
    assert ("error", {"file": "sub/a.py", "line": "3", "title": "wrong"}, "wrong") in annotations
    assert 'name="sub/a.py:3"' in junit.read_text()
    assert "sub/a.py:3: error: wrong" in done.stdout.splitlines()
    assert done.exit_code == 6


@pytest.mark.full
def test_findings_in_the_reviewed_change_are_listed_first(tmp_path: Path) -> None:
    elsewhere = [{"path": f"{n}.py", "severity": "error", "title": "wrong"} for n in range(10)]
    inside = {"path": "z.py", "severity": "error", "title": "wrong"}
    answer = json.dumps({"findings": [*elsewhere, inside]})
    with messages_api_in_thread([answer]) as api:
        options = ("--mode", "plan", "--findings", "--github")
        done = make_step(tmp_path, api).run(
            "Review", *options, stdin="--- a/z.py\n+++ b/z.py\n@@ -1 +1 @@"
        )
    annotations = [read_as_the_runner_does(line) for line in done.stderr.splitlines()]
    files = [each[1].get("file") for each in annotations if each is not None and each[0] == "error"]
    assert files == [None, "z.py", *(f"{n}.py" for n in range(9))]
