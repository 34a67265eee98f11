"""The registry's entry: schema, icon, and the check of signing in."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from jsonschema_rs import Draft7Validator
from pydantic import JsonValue

from acp_server.version import __version__
from tests.support.server_process import environment, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import STORED_KEY_IN

ROOT = Path(__file__).parents[2]
ZED = ROOT / "editors" / "zed"
ENTRY = ZED / "registry" / "hermes-acp-server"
ICON = ENTRY / "icon.svg"
SCHEMA = Path(__file__).with_name("schemas") / "registry_agent.schema.json"
COLOURS = {"none", "inherit", "currentcolor"}
VALIDATOR_PARAMS: JsonValue = {
    "protocolVersion": 1,
    "clientInfo": {"name": "ACP Registry Validator", "version": "1.0.0"},
    "clientCapabilities": {
        "terminal": True,
        "fs": {"readTextFile": True, "writeTextFile": True},
        "_meta": {"terminal_output": True, "terminal-auth": True},
    },
}
"""What the registry's check sends."""


def entry() -> dict[str, JsonValue]:
    return json.loads((ENTRY / "agent.json").read_text(encoding="utf-8"))


def test_the_registry_entry_matches_the_schema_and_its_directory() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = Draft7Validator(schema, validate_formats=True)
    assert list(validator.iter_errors(entry())) == []
    assert entry()["id"] == ENTRY.name


def test_the_registry_entry_starts_this_version_by_the_script_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package = f"{project['name']}=={__version__}"
    assert entry()["version"] == __version__
    assert entry()["distribution"] == {"uvx": {"package": package}}
    assert project["name"] in project["scripts"]


def test_the_icon_is_small_square_and_in_the_themes_colour() -> None:
    icon = ElementTree.fromstring(ICON.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    assert {name: icon.get(name) for name in ("width", "height", "viewBox")} == {
        "width": "16",
        "height": "16",
        "viewBox": "0 0 16 16",
    }
    painted = [
        value.lower()
        for element in icon.iter()
        for name, value in element.attrib.items()
        if name in {"fill", "stroke", "style", "color"}
    ]
    assert set(painted) <= COLOURS
    assert "currentcolor" in painted


def auth_types(methods: Iterable[JsonValue]) -> set[JsonValue]:
    """Return the types of methods as the registry's check sees them."""
    types: set[JsonValue] = set()
    for method in methods:
        assert isinstance(method, dict)
        meta = method.get("_meta")
        is_terminal = isinstance(meta, dict) and "terminal-auth" in meta
        types.add(str(method.get("type", "terminal" if is_terminal else "agent")))
    return types


def test_the_real_process_passes_the_authentication_check(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "acp_server"]
    with start_server(tmp_path, command=command) as server:
        result = server.call("initialize", VALIDATOR_PARAMS)["result"]
    assert isinstance(result, dict)
    methods = result["authMethods"]
    assert isinstance(methods, list)
    assert auth_types(methods) & {"agent", "terminal"}


def test_signing_in_by_the_advertised_method_stores_a_key(tmp_path: Path) -> None:
    with start_server(tmp_path, command=[sys.executable, "-m", "acp_server"]) as server:
        result = server.call("initialize", VALIDATOR_PARAMS)["result"]
    found = re.search(r'"terminal-auth": (\{.*?\})', json.dumps(result))
    assert found is not None
    offered = json.loads(found[1])
    signed_in = subprocess.run(
        [offered["command"], *offered["args"]],
        env={**environment(tmp_path), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},  # tried there
        input="sk-test-key\n",
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_TIMEOUT_SECONDS,
        check=True,
    )
    assert signed_in.stderr.startswith(STORED_KEY_IN.replace(" in", " for 127.0.0.1:9 in"))
