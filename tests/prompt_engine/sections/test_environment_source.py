"""What files and variables tell of a machine; every fact is handed in."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prompt_engine.facts import MachineFacts, SourcedText
from prompt_engine.sources.environment import (
    HostInfo,
    active_profile,
    describe_python,
    read_environment,
)

MANAGED = "The system's Python is externally managed (PEP 668): install packages into"


def linux(root: Path, release: str = "6.8.0") -> HostInfo:
    return HostInfo("linux", release, "x86_64", root)


def write_file(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def program(root: Path, name: str) -> Path:
    path = write_file(root, name, "#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_distribution_uses_its_own_name(tmp_path: Path) -> None:
    write_file(tmp_path, "etc/os-release", 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n')
    found = read_environment({"SHELL": "/usr/bin/zsh"}, linux(tmp_path))
    assert found == MachineFacts("Linux (Ubuntu 24.04.1 LTS)", "x86_64", "zsh")


def test_a_deceptive_name_becomes_one_short_line(tmp_path: Path) -> None:
    write_file(tmp_path, "etc/os-release", f"PRETTY_NAME=a\x1b[2J{'b' * 500}\n")
    system = read_environment({}, linux(tmp_path)).system
    assert system.isprintable()
    assert len(system) < 100


@pytest.mark.parametrize(
    ("host", "system"),
    [
        (HostInfo("darwin", "15.1", "arm64"), "macOS 15.1"),
        (HostInfo("win32", "11", "AMD64"), "Windows 11"),
        (HostInfo("freebsd14", "14.1", "amd64"), "freebsd14 14.1"),
    ],
    ids=lambda value: value.platform if isinstance(value, HostInfo) else "",
)
def test_other_systems_are_reported_with_their_release(
    host: HostInfo, system: str, tmp_path: Path
) -> None:
    assert read_environment({}, replace(host, root=tmp_path)).system == system


def test_the_shell_of_the_tools_takes_precedence_over_the_users(tmp_path: Path) -> None:
    found = read_environment({"SHELL": "/usr/bin/fish"}, linux(tmp_path), tool_shell="bash")
    assert found.shell == "bash"


@pytest.mark.parametrize(
    ("variables", "service"),
    [
        ({}, ""),
        ({"CI": "true"}, "unnamed service"),
        ({"CI": "false"}, ""),
        ({"CI": "true", "GITHUB_ACTIONS": "true"}, "GitHub Actions"),
        ({"GITLAB_CI": "true"}, "GitLab CI"),
    ],
    ids=["none", "unnamed", "switched off", "github", "gitlab"],
)
def test_the_service_that_runs_the_job_is_detected(
    variables: Mapping[str, str], service: str, tmp_path: Path
) -> None:
    assert read_environment(variables, linux(tmp_path)).ci_service == service


@pytest.mark.parametrize(
    ("file", "variables", "container"),
    [
        ("nothing", {}, ""),
        (".dockerenv", {}, "docker"),
        ("run/.containerenv", {}, "podman"),
        (".dockerenv", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ("nothing", {"container": "lxc"}, "lxc"),
    ],
)
def test_a_container_is_detected_by_its_markers(
    file: str, variables: Mapping[str, str], container: str, tmp_path: Path
) -> None:
    write_file(tmp_path, file)
    assert read_environment(variables, linux(tmp_path)).container == container


def test_wsl_is_detected_by_its_kernel_or_its_variable(tmp_path: Path) -> None:
    kernel = linux(tmp_path, "5.15.0-microsoft-standard-WSL2")
    assert read_environment({}, kernel).is_wsl
    assert read_environment({"WSL_DISTRO_NAME": "Ubuntu"}, linux(tmp_path)).is_wsl
    assert not read_environment({}, linux(tmp_path)).is_wsl


def test_a_container_on_wsl_reports_no_drives(tmp_path: Path) -> None:
    write_file(tmp_path, ".dockerenv")
    assert not read_environment({}, linux(tmp_path, "5.15.0-microsoft")).is_wsl


@pytest.mark.parametrize(
    "variables",
    [{"TERMUX_VERSION": "0.118"}, {"PREFIX": "/data/data/com.termux/files/usr"}],
    ids=["version", "prefix"],
)
def test_termux_is_detected_by_its_variables(variables: Mapping[str, str], tmp_path: Path) -> None:
    assert read_environment(variables, linux(tmp_path)).is_termux


def test_hints_come_from_the_variable_before_the_setting(tmp_path: Path) -> None:
    variables = {"HERMES_ENVIRONMENT_HINT": "One."}
    assert read_environment(variables, linux(tmp_path), hint="Two.").hints == (
        SourcedText("One.", "HERMES_ENVIRONMENT_HINT"),
        SourcedText("Two.", "agent.environment_hint"),
    )


def system_python(root: Path) -> Path:
    """Make an ordinary Python with pip; return its folder of programs."""
    program(root, "usr/bin/python3.12")
    (root / "usr/bin/python3").symlink_to("python3.12")
    write_file(root, "usr/lib/python3.12/site-packages/pip/__init__.py")
    return root / "usr/bin"


def test_an_ordinary_python_is_not_mentioned(tmp_path: Path) -> None:
    assert describe_python(str(system_python(tmp_path))) == ""


def test_a_missing_python_is_not_mentioned(tmp_path: Path) -> None:
    assert describe_python(str(tmp_path)) == ""


def test_a_managed_python_needs_a_virtual_environment(tmp_path: Path) -> None:
    folder = system_python(tmp_path)
    write_file(tmp_path, "usr/lib/python3.12/EXTERNALLY-MANAGED")
    assert describe_python(str(folder)) == f"{MANAGED} a virtual environment."
    program(folder, "uv")
    expected = f"{MANAGED} a virtual environment, as `uv venv` makes one."
    assert describe_python(str(folder)) == expected


def test_the_python_of_a_virtual_environment_is_not_the_system_python(tmp_path: Path) -> None:
    folder = system_python(tmp_path)
    write_file(tmp_path, "usr/lib/python3.12/EXTERNALLY-MANAGED")
    write_file(tmp_path, "venv/pyvenv.cfg")
    write_file(tmp_path, "venv/lib/python3.12/site-packages/pip/__init__.py")
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python3").symlink_to(folder / "python3.12")
    assert describe_python(f"{tmp_path / 'venv/bin'}:{folder}") == ""


def test_a_python_without_pip_is_reported(tmp_path: Path) -> None:
    program(tmp_path, "bin/python3.12")
    (tmp_path / "bin/python3").symlink_to("python3.12")
    (tmp_path / "lib/python3.12").mkdir(parents=True)
    assert describe_python(str(tmp_path / "bin")) == "Python has no pip here."
    program(tmp_path, "bin/uv")
    assert describe_python(str(tmp_path / "bin")) == "Python has no pip here: use `uv pip`."


def test_uv_without_a_python_is_reported(tmp_path: Path) -> None:
    program(tmp_path, "uv")
    assert describe_python(str(tmp_path)) == "Python runs only through uv: `uv run`, `uv pip`."


def test_a_standard_library_in_another_place_is_not_judged(tmp_path: Path) -> None:
    program(tmp_path, "bin/python3")
    assert describe_python(str(tmp_path / "bin")) == ""


def test_the_probe_can_be_skipped(tmp_path: Path) -> None:
    program(tmp_path, "uv")
    variables = {"PATH": str(tmp_path)}
    assert read_environment(variables, linux(tmp_path)).python
    assert not read_environment(variables, linux(tmp_path), is_python_probed=False).python


def test_the_current_host_can_be_read() -> None:
    assert read_environment({}, HostInfo.current()).system


def test_a_profile_is_named_only_if_there_are_others(tmp_path: Path) -> None:
    assert active_profile(tmp_path) == ""
    (tmp_path / "profiles").mkdir()
    assert active_profile(tmp_path) == ""
    (tmp_path / "profiles" / "work").mkdir()
    assert active_profile(tmp_path) == "default"
    assert active_profile(tmp_path / "profiles" / "work") == "work"
