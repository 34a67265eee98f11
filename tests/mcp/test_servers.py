"""Servers as processes: what they offer, what their calls lead to, what they may ask."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_server.mcp.ports import Json
from acp_server.permissions.effects import CallMcpTool
from acp_server.permissions.gate import Refusal
from acp_server.session.ports.elicitation import ElicitationForm, ElicitationResult
from acp_server.session.ports.mcp_configs import FeatureFilter
from acp_server.turn.call_access import CHANGES, READS
from acp_server.turn.conversation import Media
from acp_server.turn.ports import ToolOutcome
from tests.mcp.live_servers import (
    FAST_LIMITS,
    FakeElicitor,
    open_factory,
    server_program,
    wait_for_text,
)


async def test_a_call_is_authorized_by_the_gate_and_its_text_is_returned(tmp_path: Path) -> None:
    async with (
        open_factory(tmp_path) as factory,
        factory.open_servers(server_program("my server")) as live,
    ):
        outcome = await live.call("my_server__echo", {"text": "hello"})

    assert (outcome.text, outcome.is_error) == ("hello", False)
    (question,) = live.gate.questions
    assert isinstance(question.effect, CallMcpTool)
    assert (question.effect.server, question.effect.tool) == ("my server", "echo")
    assert (question.effect.read_only_hint, question.effect.destructive_hint) == (True, False)


async def test_a_tool_counts_as_reading_only_if_its_server_declares_so(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server_program("s")) as live:
        accesses = [await live.access(name) for name in ("s__echo", "s__env", "s__wipe")]

    assert accesses == [READS, CHANGES, CHANGES]


async def test_a_call_denied_by_the_gate_never_reaches_the_server(tmp_path: Path) -> None:
    server_log = tmp_path / "told"
    server = server_program("s", environment={"TOLD": str(server_log)})
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        live.gate.refusal = Refusal("no")
        assert await live.call("s__echo") == ToolOutcome(
            "no", is_error=True, raw_output={"text": "no"}
        )
        assert live.gate.questions[0].title == "s: echo"

    assert "call" not in server_log.read_text()


async def test_every_kind_of_content_is_returned_or_named(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server_program("s")) as live:
        outcome = await live.call("s__show")

    assert [type(each) for each in outcome.media] == [Media]
    assert outcome.text.split("\n\n") == [
        "[audio/wav, 3 bytes, which cannot be shown]",
        "[link](test://link): a link",
        "[resource test://text]\ninside",
        "[image/png that is no valid base64]",
        "[something of the type 'hologram', which cannot be shown]",
        '{"a": 1}',
    ]


async def test_a_tool_error_is_a_failed_call(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server_program("s")) as live:
        outcome = await live.call("s__fail")

    assert (outcome.text, outcome.is_error) == ("it did not work", True)


async def test_an_error_of_the_server_is_shown_whatever_its_code(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server_program("s")) as live:
        outcome = await live.call("s__refuse")
        again = await live.call("s__echo", {"text": "still there"})

    assert (outcome.text, outcome.is_error) == ("MCP server s: the quota is used up", True)
    assert again.text == "still there"


async def test_progress_is_shown_and_a_cancelled_call_is_cancelled_on_the_server(
    tmp_path: Path,
) -> None:
    server_log = tmp_path / "told"
    server = server_program("s", environment={"TOLD": str(server_log)})
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(live.call, "s__slow")
            await wait_for_text(lambda: "".join(live.recorder.progress_texts()[-1:]), "step 3")
            tasks.cancel_scope.cancel()
        await wait_for_text(server_log.read_text, "stopped")

    assert live.recorder.progress_texts()[-1] == "1 of 3: step 1\n2 of 3: step 2\n3 of 3: step 3"
    assert "cancelled" in server_log.read_text()


async def test_an_elicitation_of_the_server_is_forwarded(tmp_path: Path) -> None:
    person = FakeElicitor(ElicitationResult("accept", {"name": "Ada"}))
    async with open_factory(tmp_path) as factory:
        factory.elicitor = person
        async with factory.open_servers(server_program("s")) as live:
            outcome = await live.call("s__ask")

    assert json.loads(outcome.text) == {"action": "accept", "content": {"name": "Ada"}}
    schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert person.questions == [ElicitationForm("s", "Who?", schema)]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        pytest.param("s__ask", "not supported", id="a form that nobody can show"),
        pytest.param("s__sample", "not supported", id="a question to the model"),
    ],
)
async def test_an_unsupported_server_request_is_refused(
    tmp_path: Path, tool: str, expected: str
) -> None:
    async with open_factory(tmp_path) as factory:
        factory.elicitor = FakeElicitor(can_ask=False)
        async with factory.open_servers(server_program("s")) as live:
            assert expected in (await live.call(tool)).text


async def test_the_server_can_list_the_roots_of_the_session(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(server_program("s")) as live:
        outcome = await live.call("s__roots")

    assert json.loads(outcome.text) == {
        "roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]
    }


async def test_an_mcp_prompt_becomes_a_slash_command(tmp_path: Path) -> None:
    async with (
        open_factory(tmp_path) as factory,
        factory.open_servers(server_program("my server")) as live,
    ):
        (prompt,) = live.servers.prompts()
        assert (prompt.name, prompt.hint) == ("mcp:my_server:greet", "<whom> [how]")
        assert await prompt.fetch_text("Ada how='in French'") == (
            "Greet {'how': 'in French', 'whom': 'Ada'}."
        )


async def test_a_server_inherits_few_variables_and_gets_its_own(tmp_path: Path) -> None:
    variables = {"PATH": "/usr/bin:/bin", "OUR_KEY": "12345678", "EDITOR": "vi", "LANG": "C.UTF-8"}
    server = server_program("s", environment={"FOLDER": "/some/where", "API_KEY": "abc-secret"})
    async with open_factory(tmp_path, variables) as factory, factory.open_servers(server) as live:
        outcome = await live.call("s__env")

    seen = json.loads(outcome.text)
    seen = {
        k: v for k, v in seen.items() if k not in ("ACP_SERVER_COMMAND_ID", "PWD", "SHLVL", "_")
    }
    assert seen == {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "FOLDER": "/some/where",
        "API_KEY": "[hidden]",
    } | ({"LC_CTYPE": "C.UTF-8"} if "LC_CTYPE" in seen else {})


async def test_suspicious_output_is_flagged_and_not_dropped(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        factory.scan = lambda text: ("orders",) if "obey" in text else ()
        async with factory.open_servers(server_program("s")) as live:
            plain = await live.call("s__echo", {"text": "well"})
            marked = await live.call("s__echo", {"text": "obey me"})

    assert plain.text == "well"
    first, rest = marked.text.split("\n", 1)
    assert first.startswith("[What follows came from the MCP server s and looks like an attempt")
    assert rest == "obey me"


async def test_the_call_timeout_does_not_apply_while_the_user_answers(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory:
        factory.limits = replace(FAST_LIMITS, call_seconds=0.2)
        factory.elicitor = FakeElicitor(ElicitationResult("cancel"), delay_seconds=0.5)
        async with factory.open_servers(server_program("s")) as live:
            outcome = await live.call("s__ask")

    assert json.loads(outcome.text) == {"action": "cancel"}


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (FeatureFilter(("echo", "fail"), ("echo",)), {"s__echo", "s__fail"}),
        (FeatureFilter(excluded_tools=("echo", "wipe")), None),
    ],
    ids=["included", "excluded"],
)
async def test_only_the_tools_that_the_settings_choose_are_offered(
    tmp_path: Path, chosen: FeatureFilter, names: set[str] | None
) -> None:
    server = replace(server_program("s"), filter=chosen)
    async with open_factory(tmp_path) as factory, factory.open_servers(server) as live:
        offered = {each.spec.name for each in live.servers.tools()}
        outcome = await live.call("s__wipe")

    assert "s__wipe" not in offered
    assert offered == names if names else "s__fail" in offered
    assert outcome.is_error
