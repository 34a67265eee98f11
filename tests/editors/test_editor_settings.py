"""What editors are told of this program, and in which file, on each platform."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.cli.editor_settings import (
    FileEditor,
    Platform,
    server_command,
    settings_file,
    snippet,
    with_server,
)

HOME = Path("/home/ann")
COMMAND = ("/opt/acp-server",)
SERVES = ["serve", "--unstable", "true"]


@pytest.mark.parametrize(
    ("editor", "system", "variables", "file"),
    [
        ("zed", "linux", {}, "/home/ann/.config/zed/settings.json"),
        ("zed", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/zed/settings.json"),
        (
            "zed",
            "linux",
            {"XDG_CONFIG_HOME": "relative"},
            "/home/ann/.config/zed/settings.json",
        ),
        ("zed", "linux", {"FLATPAK_XDG_CONFIG_HOME": "/f"}, "/f/zed/settings.json"),
        ("zed", "darwin", {"XDG_CONFIG_HOME": "/x"}, "/home/ann/.config/zed/settings.json"),
        ("zed", "win32", {"APPDATA": "/r"}, "/r/Zed/settings.json"),
        ("zed", "win32", {}, "/home/ann/AppData/Roaming/Zed/settings.json"),
        ("vscode", "linux", {}, "/home/ann/.config/Code/User/settings.json"),
        (
            "vscode",
            "darwin",
            {},
            "/home/ann/Library/Application Support/Code/User/settings.json",
        ),
        ("vscode", "win32", {"APPDATA": "/r"}, "/r/Code/User/settings.json"),
        ("jetbrains", "linux", {"XDG_CONFIG_HOME": "/x"}, "/home/ann/.jetbrains/acp.json"),
        ("jetbrains", "darwin", {}, "/home/ann/.jetbrains/acp.json"),
        ("jetbrains", "win32", {}, "/home/ann/.jetbrains/acp.json"),
    ],
)
def test_each_platform_has_its_settings_path(
    editor: FileEditor, system: str, variables: Mapping[str, str], file: str
) -> None:
    assert settings_file(editor, Platform(system, HOME, variables)) == Path(file)


def test_zed_gets_a_custom_agent_in_addition_to_existing_ones() -> None:
    text = '{"agent_servers": {"other": {"type": "registry"}}, "theme": "One"}'
    assert json.loads(with_server("zed", text, (*COMMAND, "serve"))) == {
        "agent_servers": {
            "other": {"type": "registry"},
            "acp-server": {"type": "custom", "command": "/opt/acp-server", "args": ["serve"]},
        },
        "theme": "One",
    }


def test_existing_settings_of_this_program_are_preserved() -> None:
    known = (
        '{"agent_servers": {"acp-server": {"type": "custom", "command": "/opt/acp-server",'
        ' "args": ["serve", "--mode", "plan"], "env": {"A": "1"}, "favorite_models": []}}}'
    )
    assert with_server("zed", known, COMMAND) == known


@pytest.mark.parametrize("agent", ["acp-server", "hermes-acp-server"])
def test_zeds_default_mode_becomes_the_option_that_zed_reads(agent: str) -> None:
    """Zed ignores default_mode for an agent with config options."""
    text = (
        "{\n"
        '  "agent_servers": {\n'
        '    "acp-server": {"type": "custom", "command": "/opt/acp-server", "args": []},\n'
        f'    "{agent}": {{\n'
        '      "type": "custom",\n'
        '      "command": "/opt/acp-server",\n'
        '      "args": [], // none\n'
        '      "default_mode": "plan" // look first\n'
        "    },\n"
        "  },\n"
        "}\n"
    )
    moved = text.replace(
        '      "default_mode": "plan" // look first\n',
        '      "default_config_options": {\n        "mode": "plan"\n      }\n',
    )
    assert with_server("zed", text, COMMAND) == moved


def test_zeds_mode_option_counts_more_than_a_default_mode_beside_it() -> None:
    options = '"default_config_options": {"mode": "ask", "model": "opus"}'
    known = (
        '{"agent_servers": {"acp-server": {"type": "custom", "command": "/opt/acp-server",'
        f' "args": [], "default_mode": "plan", {options}}}}}}}'
    )
    assert with_server("zed", known, COMMAND) == known.replace('"default_mode": "plan", ', "")


def test_a_different_command_is_replaced_with_its_arguments_and_nothing_else() -> None:
    known = (
        '{"agent_servers": {"acp-server": {"command": "uv", "args": ["run"], "env": {"A": "1"}}}}'
    )
    assert json.loads(with_server("zed", known, COMMAND)) == {
        "agent_servers": {
            "acp-server": {
                "command": "/opt/acp-server",
                "args": [],
                "env": {"A": "1"},
                "type": "custom",
            }
        }
    }
    assert json.loads(with_server("jetbrains", known, COMMAND)) == {
        "agent_servers": {
            "acp-server": {"command": "/opt/acp-server", "args": [], "env": {"A": "1"}}
        }
    }


def test_a_non_object_entry_is_replaced() -> None:
    changed = with_server("jetbrains", '{"agent_servers": {"acp-server": null}}', COMMAND)
    assert json.loads(changed) == {
        "agent_servers": {
            "acp-server": {"command": "/opt/acp-server", "args": [], "env": {}},
        }
    }


@pytest.mark.parametrize(
    ("known", "command", "settings"),
    [
        ({}, COMMAND, {"acpServer.command": "/opt/acp-server"}),
        (
            {"acpServer.command": "uv", "acpServer.arguments": ["run"]},
            COMMAND,
            {"acpServer.command": "/opt/acp-server", "acpServer.arguments": SERVES},
        ),
        (
            {"acpServer.command": "/opt/acp-server", "acpServer.arguments": ["serve", "--mode"]},
            COMMAND,
            {"acpServer.command": "/opt/acp-server", "acpServer.arguments": ["serve", "--mode"]},
        ),
        (
            {},
            ("uvx", "hermes-acp-server"),
            {
                "acpServer.command": "uvx",
                "acpServer.arguments": ["hermes-acp-server", *SERVES],
            },
        ),
    ],
    ids=["new", "another program", "the same program", "more words"],
)
def test_vs_code_is_given_the_program_that_its_extension_starts(
    known: JsonValue, command: Sequence[str], settings: JsonValue
) -> None:
    assert json.loads(with_server("vscode", json.dumps(known), command)) == settings


@pytest.mark.parametrize(
    ("editor", "line"),
    [
        ("neovim", 'commands = { default = { "C:\\\\a \\"b\\"", "serve" } },'),
        ("emacs", '(defvar acp-server-command \'("C:\\\\a \\"b\\"" "serve")'),
    ],
)
def test_a_snippet_quotes_the_arguments_of_the_command(editor: FileEditor, line: str) -> None:
    lines = [each.strip() for each in snippet(editor, ('C:\\a "b"', "serve")).splitlines()]
    assert line in lines


def installation(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Make a folder look like one that this program is installed in; return its program."""
    folder.mkdir(parents=True)
    program = folder / "acp-server"
    program.touch(0o755)
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    monkeypatch.setattr("sys.platform", "linux")
    return program


def test_the_executable_on_path_is_named_if_it_is_a_link_to_this_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = installation(monkeypatch, tmp_path / "tool")
    link = tmp_path / "acp-server"
    link.symlink_to(program)
    assert server_command({"acp-server": str(link)}.get) == (str(link),)


def test_another_installation_on_path_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = installation(monkeypatch, tmp_path / "tool")
    other = tmp_path / "acp-server"
    other.touch(0o755)
    assert server_command({"acp-server": str(other)}.get) == (str(program),)


def test_a_program_in_a_cache_is_started_by_its_current_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation(monkeypatch, tmp_path / "uv" / "archive-v0" / "x" / "bin")
    assert server_command({"uvx": "/bin/uvx"}.get) == ("/bin/uvx", "hermes-acp-server")


def test_without_an_executable_the_module_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    expected = (str(tmp_path / "python"), "-I", "-m", "acp_server")
    assert server_command({"acp-server": "/bin/acp-server"}.get) == expected
