"""What is not known before somebody publishes stands in one file, and all others agree with it."""

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from acp_server.version import __version__
from tests.support.editor import json_at

ROOT = Path(__file__).parents[2]
EDITORS = ROOT / "editors"
VSCODE = EDITORS / "vscode"


def toml_of(path: Path) -> dict[str, JsonValue]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def values() -> dict[str, str]:
    return cast("dict[str, str]", toml_of(EDITORS / "publishing.toml"))


def manifest() -> dict[str, JsonValue]:
    return json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))


def test_the_extension_has_the_right_publisher_and_version() -> None:
    assert manifest()["publisher"] == values()["publisher"]
    assert manifest()["version"] == __version__
    assert f"## {__version__}" in (VSCODE / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("pyproject.toml", r'^\[project\]\nname = "(.+)"'),
        ("editors/vscode/src/shared/install.ts", r'PACKAGE = "(.+)"'),
        ("editors/vscode/README.md", r"uv tool install ([\w-]+)"),
        ("editors/zed/registry/hermes-acp-server/agent.json", r'"package": "(.+)=='),
    ],
)
def test_the_package_has_the_same_name_everywhere(path: str, pattern: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert set(re.findall(pattern, text, re.MULTILINE)) == {values()["package"]}


def test_vs_codes_extension_names_the_repository_its_page_and_where_to_report_bugs() -> None:
    repository = values()["repository"]
    assert json_at(manifest(), "repository", "url") == repository
    assert manifest()["homepage"] == repository
    assert json_at(manifest(), "bugs", "url") == f"{repository}/issues"


def test_the_registrys_entry_names_the_repository() -> None:
    entry = json.loads(
        (EDITORS / "zed" / "registry" / "hermes-acp-server" / "agent.json").read_text("utf-8")
    )
    assert entry["repository"] == values()["repository"]


def test_the_packages_page_links_to_files_of_the_repository() -> None:
    """The page is not in the repository, so its relative links and pictures would lead nowhere."""
    page = importlib.metadata.distribution(values()["package"]).read_text("METADATA")
    assert page is not None
    links: list[str] = re.findall(r"\]\(([^)]+)\)", page)
    repository = re.escape(values()["repository"])
    files: list[str] = re.findall(rf"\]\({repository}/(?:blob|raw)/main/([^)#]+)", page)
    assert [link for link in links if not link.startswith("https://")] == []
    assert ".assets/demo.svg" in files
    assert [name for name in files if not (ROOT / name).is_file()] == []
