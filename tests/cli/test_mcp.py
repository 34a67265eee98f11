"""`acp-server mcp`: the servers of the settings, and a sign-in from a terminal."""

import json
import os
from pathlib import Path

import httpx2
import yaml

from tests.cli.command_line import run, start
from tests.mcp.sign_in_server import find_page, sign_in_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import PAGE_CAN_BE_CLOSED


def test_a_user_signs_in_and_out_from_a_terminal(tmp_path: Path) -> None:
    with sign_in_server() as remote:
        servers = {"notes": {"url": remote.url, "auth": "oauth"}, "files": {"command": "files"}}
        (tmp_path / "config.yaml").write_text(
            yaml.safe_dump({"mcp_servers": servers}, sort_keys=False)
        )
        unknown = run(tmp_path, "mcp", "sign-in", "files")
        with start(tmp_path, "mcp", "sign-in", "notes") as (signing_in, output):
            page = next(line for line in map(bytes.decode, output) if line.startswith("http"))
            answer = httpx2.get(
                find_page(page), follow_redirects=True, timeout=HANG_TIMEOUT_SECONDS
            )
            assert PAGE_CAN_BE_CLOSED in answer.text
            last = output.read().decode().splitlines()[-1]
            exit_code = signing_in.wait(HANG_TIMEOUT_SECONDS)
        listed = json.loads(run(tmp_path, "mcp", "list", "--json").stdout)
        signed_out = run(tmp_path, "mcp", "sign-out", "notes")

    assert (unknown.exit_code, "those that can: notes" in unknown.stderr) == (2, True)
    assert (exit_code, last) == (0, "You are signed in to notes.")
    assert listed == [
        {"name": "notes", "transport": "http `http://127.0.0.1`", "signed_in": True},
        {"name": "files", "transport": "process `files`", "signed_in": False},
    ]
    assert signed_out.stdout == f"You are signed out of notes.{os.linesep}"
    assert run(tmp_path, "mcp", "list").stdout.splitlines()[0] == "notes  http `http://127.0.0.1`"
    assert len(remote.provider.revoked) == 1
