"""What an MCP server may do in an unattended run beyond its tools: only what rules allow."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
import yaml
from pydantic import JsonValue

from acp_server.headless.run.feeds import NOT_SAVED
from tests.headless.run.pipeline import Object, make_step, parse_line
from tests.mcp.live_servers import PROGRAMS
from tests.support.messages_api import call, messages_api_in_thread, reply
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import USER_DOES_NOT_PERMIT

SETTINGS = {
    "mcp": {"startup_wait_seconds": HANG_TIMEOUT_SECONDS},
    "mcp_servers": {
        "library": {"command": sys.executable, "args": [str(PROGRAMS / "sdk_server.py")]}
    },
}
BROKEN = {"mcp_servers": {"gone": {"command": "/nope"}}}
ASK = reply(call("library__ask_model", question="Which shelf?"))


def rows(value: JsonValue) -> Sequence[Object]:
    return cast("Sequence[Object]", value)


def test_a_run_waits_for_its_servers_and_names_those_that_are_missing(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        (step.home / "config.yaml").write_text(yaml.safe_dump(BROKEN))
        outcome = step.run("/mcp", "--ephemeral", "--format", "json")

    result = parse_line(outcome.stdout)
    assert "failed" in str(result["text"])
    assert [each["name"] for each in rows(result["mcp_unavailable"])] == ["gone"]
    assert "“gone” is not available" in outcome.stderr
    assert (result["outcome"], result["session_id"]) == ("done", None)
    lines = outcome.stderr.splitlines()
    assert NOT_SAVED in lines
    assert "0 requests, 0 tokens in, 0 out" in lines[-1]


@pytest.mark.parametrize(
    ("asks", "reads"),
    [
        (False, True),
        pytest.param(True, False, marks=pytest.mark.full),
        pytest.param(False, False, marks=pytest.mark.full),
        pytest.param(True, True, marks=pytest.mark.full),
    ],
)
def test_a_server_asks_the_model_and_its_resources_are_read_only_with_rules_for_that(
    tmp_path: Path, *, asks: bool, reads: bool
) -> None:
    rules = {"mcp_sampling": asks, "read_mcp_resource": reads}
    more = [word for name, is_set in rules.items() if is_set for word in ("--allow", name)]
    script = [ASK, "The third shelf.", "Done."] if asks else [ASK, "Done."]
    with messages_api_in_thread(script) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        (step.home / "config.yaml").write_text(yaml.safe_dump(SETTINGS))
        outcome = step.run("Do @library:note://plan.", "--allow", "library__*", *more)
        sent = json.dumps(api.model_requests[-1].body["messages"])

    assert outcome.stdout.strip() == "Done."
    answers = {
        "The third shelf.": asks,
        "Paint the shed green.": reads,
        f"{USER_DOES_NOT_PERMIT}: the rules of this run": not asks,
        "(@library:note://plan was not read: the rules of this run": not reads,
    }
    assert {text: text in sent for text in answers} == answers
