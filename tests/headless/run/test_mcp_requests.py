"""What an MCP server may do in an unattended run beyond its tools: only what rules allow."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.headless.run.pipeline import make_step
from tests.mcp.live_servers import PROGRAMS
from tests.support.messages_api import call, messages_api_in_thread, reply
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SETTINGS = {
    "mcp": {"startup_wait_seconds": HANG_TIMEOUT_SECONDS},
    "mcp_servers": {
        "library": {"command": sys.executable, "args": [str(PROGRAMS / "sdk_server.py")]}
    },
}
ASK = reply(call("library__ask_model", question="Which shelf?"))


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_server_asks_the_model_and_its_resources_are_read_only_with_rules_for_that(
    tmp_path: Path, *, is_allowed: bool
) -> None:
    more = ["--allow", "mcp_sampling", "--allow", "read_mcp_resource"] if is_allowed else []
    script = [ASK, "The third shelf.", "Done."] if is_allowed else [ASK, "Done."]
    with messages_api_in_thread(script) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        (step.home / "config.yaml").write_text(yaml.safe_dump(SETTINGS))
        outcome = step.run("Do @library:note://plan.", "--allow", "library__*", *more)
        sent = json.dumps(api.model_requests[-1].body["messages"])

    assert outcome.stdout.strip() == "Done."
    answers = {
        "The third shelf.": True,
        "Paint the shed green.": True,
        "the user does not permit this: the rules of this run": False,
        "(@library:note://plan was not read: the rules of this run": False,
    }
    assert {text: text in sent for text in answers} == {
        text: is_allowed == expected for text, expected in answers.items()
    }
