"""`acp-server doctor --bundle`: what is in the archive, what is not, and what it never replaces."""

import json
import os
import stat
from io import BytesIO
from pathlib import Path
from typing import cast
from zipfile import ZipFile

import pytest

from acp_server.cli.bundle import (
    MAX_LOG_LINES,
    BundleContents,
    build_bundle,
    describe_machine,
    read_log_tail,
    write_bundle,
)
from acp_server.cli.doctor_checks import CheckResult
from acp_server.text.redaction import REDACTED, Redactor
from tests.cli.command_line import run

KEY = "sk-ant-" + "0123456789abcdef"
FILES = [
    "README.txt",
    "findings.json",
    "settings.json",
    "editors.json",
    "environment.json",
    "log.txt",
]


def texts(archive: bytes) -> dict[str, str]:
    with ZipFile(BytesIO(archive)) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


def test_a_bundle_contains_the_findings_and_no_secret(tmp_path: Path) -> None:
    log, file = tmp_path / "acp.log", tmp_path / "report.zip"
    log.write_text(f"it began\nthe key {KEY} was refused\nANTHROPIC: a-plain-secret\n")
    (tmp_path / "acp").mkdir()
    (tmp_path / "acp" / "config.yaml").write_text(
        "mcp_servers: {a: {command: x, env: {SOME: another-plain-secret}}}"
    )
    outcome = run(
        tmp_path,
        "doctor",
        "--bundle",
        str(file),
        ACP_SERVER_MODEL="scripted:demo",
        ACP_SERVER_LOG_FILE=str(log),
        ANTHROPIC_API_KEY="a-plain-secret",
    )
    found = texts(file.read_bytes())
    assert (outcome.exit_code, list(found)) == (0, FILES)
    assert outcome.stderr == f"Wrote {file}. Review it before you share it.\n"
    assert found["log.txt"] == f"it began\nthe key {REDACTED} was refused\nANTHROPIC: {REDACTED}\n"
    assert not [name for name, text in found.items() if "plain-secret" in text or KEY in text]
    settings = cast("list[dict[str, object]]", json.loads(found["settings.json"]))
    values = {row["name"]: (row["value"], row["origin"]) for row in settings}
    assert values["api_key"] == (REDACTED, "environment")
    findings = cast("list[dict[str, object]]", json.loads(found["findings.json"]))
    assert "round trip" in [finding["name"] for finding in findings]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_existing_file_is_not_overwritten_and_no_checks_run(tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    file.write_text("mine")
    outcome = run(tmp_path, "doctor", "--bundle", str(file))
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "add --force to replace it" in outcome.stderr
    assert file.read_text() == "mine"


def test_with_force_a_file_is_replaced_and_made_private(tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    file.write_text("mine")
    file.chmod(0o644)
    write_bundle(b"archive", file, is_forced=True)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"archive", 0o600)


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_symlink_created_meanwhile_is_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").write_text("mine")
    file = tmp_path / "report.zip"
    file.symlink_to(tmp_path / target)
    with pytest.raises(FileExistsError):
        write_bundle(b"archive", file, is_forced=False)
    assert (tmp_path / "there").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "absent" / "report.zip"
    outcome = run(
        tmp_path, "doctor", "--json", "--bundle", str(file), ACP_SERVER_MODEL="scripted:demo"
    )
    assert outcome.exit_code == 1
    assert "cannot be written: No such file or directory" in outcome.stderr
    assert json.loads(outcome.stdout)["status"] in {"ok", "warning"}


def test_texts_are_redacted_but_names_are_not() -> None:
    finding = CheckResult("state", "ok", "/home/ann/x and token=abc", milliseconds={"answer": 3})
    redactor = Redactor(home_directories=(Path("/home/ann"),))
    found = texts(build_bundle(BundleContents([finding], [], [], {}, None), redactor))
    assert json.loads(found["findings.json"]) == [
        {
            "name": "state",
            "status": "ok",
            "fact": f"~/x and token={REDACTED}",
            "advice": "",
            "milliseconds": {"answer": 3},
        }
    ]


def test_only_the_names_of_variables_are_included() -> None:
    variables = {"ACP_SERVER_MODEL": "hidden-value", "HTTPS_PROXY": "hidden-value", "MY_OWN": "x"}
    machine = describe_machine(variables)
    assert isinstance(machine, dict)
    assert machine["variables"] == ["ACP_SERVER_MODEL", "HTTPS_PROXY"]
    assert "hidden-value" not in json.dumps(machine)


def test_only_the_end_of_a_long_log_is_included(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"\xff" + b"".join(b"line %d\n" % number for number in range(200_000)))
    lines = read_log_tail(file).splitlines()
    assert (len(lines), lines[-1]) == (MAX_LOG_LINES, "line 199999")


def test_an_unreadable_log_is_reported(tmp_path: Path) -> None:
    assert read_log_tail(tmp_path / "absent").endswith(
        "cannot be read: No such file or directory\n"
    )
    assert "No log file is set" in read_log_tail(None)


def test_a_pipe_in_place_of_the_log_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_log_tail(tmp_path / "pipe") == f"{tmp_path / 'pipe'} is not a regular file\n"
