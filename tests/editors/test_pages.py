"""The files and pages of editors say what `acp-server setup --editor` says."""

import json
import re
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.cli.editor_settings import EDITORS, EditorName, snippet

EDITORS_FOLDER = Path(__file__).parents[2] / "editors"
FILES: dict[EditorName, str] = {
    "zed": "zed/settings.json",
    "jetbrains": "jetbrains/acp.json",
    "neovim": "neovim/codecompanion.lua",
    "emacs": "emacs/acp-server.el",
}
PAGES = sorted(FILES)


@pytest.mark.parametrize("editor", PAGES)
def test_the_shipped_file_equals_the_output_of_the_command(editor: EditorName) -> None:
    file = EDITORS_FOLDER / FILES[editor]
    assert file.read_text(encoding="utf-8") == snippet(editor, ["acp-server"])


@pytest.mark.parametrize("editor", PAGES)
def test_the_page_shows_the_file_and_the_command(editor: EditorName) -> None:
    page = (EDITORS_FOLDER / editor / "README.md").read_text(encoding="utf-8")
    assert f"acp-server setup --editor {editor}" in page
    assert (EDITORS_FOLDER / FILES[editor]).read_text(encoding="utf-8") in page
    headings: list[str] = re.findall(r"(?m)^## (.*)$", page)
    assert headings[:3] == ["Install", "Settings", "What works"]


@pytest.mark.parametrize("page", sorted(EDITORS_FOLDER.glob("[!v]*/README.md")), ids=str)
def test_every_link_of_a_page_resolves_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_supported_editor_has_a_page_in_the_overview() -> None:
    overview = (EDITORS_FOLDER / "README.md").read_text(encoding="utf-8")
    assert [editor for editor in EDITORS if f"({editor}/" not in overview] == []


def test_settings_have_the_structure_that_editors_read() -> None:
    """Neither Zed nor JetBrains publishes a schema: these are the fields of their documentation."""
    zed = json.loads(snippet("zed", ["acp-server"]))["agent_servers"]["acp-server"]
    jetbrains = json.loads(snippet("jetbrains", ["acp-server"]))["agent_servers"]["acp-server"]
    started: dict[str, JsonValue] = {"command": "acp-server", "args": []}
    assert zed == {"type": "custom", **started}
    assert jetbrains == {**started, "env": {}}


def test_vs_code_settings_match_those_declared_by_the_extension() -> None:
    manifest = json.loads((EDITORS_FOLDER / "vscode" / "package.json").read_text(encoding="utf-8"))
    declared = manifest["contributes"]["configuration"]["properties"]
    types = {"string": str, "array": list}
    settings = json.loads(snippet("vscode", ["uvx", "acp-server"]))
    assert set(settings) == {"acpServer.command", "acpServer.arguments"}
    serves = declared["acpServer.arguments"]["default"]
    assert settings["acpServer.arguments"] == ["acp-server", *serves]
    assert all(isinstance(value, types[declared[name]["type"]]) for name, value in settings.items())
