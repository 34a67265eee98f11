"""Servers as processes: what they offer, what their calls lead to, what they may ask."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_server.mcp.ports import Json
from acp_server.permissions.effects import CallServer
from acp_server.permissions.gate import Refusal
from acp_server.session.ports.elicitation import Answer, Form
from acp_server.turn.conversation import Media
from acp_server.turn.ports import Outcome
from tests.mcp.live_servers import QUICK, Person, building, program, until


async def test_a_call_passes_the_gate_and_its_text_comes_back(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("my server")) as office:
        outcome = await office.call("my_server__echo", {"text": "hello"})

    assert (outcome.text, outcome.is_error) == ("hello", False)
    (question,) = office.gate.questions
    assert isinstance(question.effect, CallServer)
    assert (question.effect.server, question.effect.tool) == ("my server", "echo")
    assert (question.effect.claims_to_read, question.effect.claims_to_destroy) == (True, False)


async def test_what_the_gate_refuses_never_reaches_the_server(tmp_path: Path) -> None:
    told = tmp_path / "told"
    server = program("s", environment={"TOLD": str(told)})
    async with building(tmp_path) as house, house.opened(server) as office:
        office.gate.refusal = Refusal("no")
        assert await office.call("s__echo") == Outcome(
            "no", is_error=True, raw_output={"text": "no"}
        )
        assert office.gate.questions[0].title == "s: echo"

    assert "call" not in told.read_text()


async def test_every_kind_of_content_comes_through_or_is_named(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("s")) as office:
        outcome = await office.call("s__show")

    assert [type(each) for each in outcome.media] == [Media]
    assert outcome.text.split("\n\n") == [
        "[audio/wav, 3 bytes, which cannot be shown]",
        "[link](test://link): a link",
        "[resource test://text]\ninside",
        "[image/png that is no valid base64]",
        "[something of the type 'hologram', which cannot be shown]",
        '{"a": 1}',
    ]


async def test_an_error_of_a_tool_is_a_failed_call(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("s")) as office:
        outcome = await office.call("s__fail")

    assert (outcome.text, outcome.is_error) == ("it did not work", True)


async def test_progress_is_shown_and_a_cancelled_call_is_taken_back(tmp_path: Path) -> None:
    told = tmp_path / "told"
    server = program("s", environment={"TOLD": str(told)})
    async with building(tmp_path) as house, house.opened(server) as office:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(office.call, "s__slow")
            await until(lambda: "".join(office.screen.passing()[-1:]), "step 3")
            tasks.cancel_scope.cancel()
        await until(told.read_text, "stopped")

    assert office.screen.passing()[-1] == "1 of 3: step 1\n2 of 3: step 2\n3 of 3: step 3"
    assert "cancelled" in told.read_text()


async def test_a_question_of_the_server_is_passed_on(tmp_path: Path) -> None:
    person = Person(Answer("accept", {"name": "Ada"}))
    async with building(tmp_path) as house:
        house.person = person
        async with house.opened(program("s")) as office:
            outcome = await office.call("s__ask")

    assert json.loads(outcome.text) == {"action": "accept", "content": {"name": "Ada"}}
    schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert person.questions == [Form("s", "Who?", schema)]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        pytest.param("s__ask", "not supported", id="a form that nobody can show"),
        pytest.param("s__sample", "not supported", id="a question to the model"),
    ],
)
async def test_what_cannot_be_answered_is_refused(tmp_path: Path, tool: str, expected: str) -> None:
    async with building(tmp_path) as house:
        house.person = Person(can_ask=False)
        async with house.opened(program("s")) as office:
            assert expected in (await office.call(tool)).text


async def test_the_server_may_know_the_folders_of_the_session(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("s")) as office:
        outcome = await office.call("s__roots")

    assert json.loads(outcome.text) == {
        "roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]
    }


async def test_a_prompt_is_a_command(tmp_path: Path) -> None:
    async with building(tmp_path) as house, house.opened(program("my server")) as office:
        (prompt,) = office.servers.prompts()
        assert (prompt.name, prompt.hint) == ("mcp:my_server:greet", "<whom> [how]")
        assert await prompt.text("Ada how='in French'") == (
            "Greet {'how': 'in French', 'whom': 'Ada'}."
        )


async def test_a_server_sees_few_of_our_variables_and_its_own(tmp_path: Path) -> None:
    ours = {"PATH": "/usr/bin:/bin", "OUR_KEY": "12345678", "EDITOR": "vi", "LANG": "C.UTF-8"}
    server = program("s", environment={"FOLDER": "/some/where", "API_KEY": "abc-secret"})
    async with building(tmp_path, ours) as house, house.opened(server) as office:
        outcome = await office.call("s__env")

    seen = json.loads(outcome.text)
    seen = {k: v for k, v in seen.items() if k not in ("ACP_SERVER_COMMAND", "PWD", "SHLVL", "_")}
    assert seen == {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "FOLDER": "/some/where",
        "API_KEY": "[hidden]",
    } | ({"LC_CTYPE": "C.UTF-8"} if "LC_CTYPE" in seen else {})


async def test_suspicious_output_is_marked_and_not_dropped(tmp_path: Path) -> None:
    async with building(tmp_path) as house:
        house.suspect = lambda text: ("orders",) if "obey" in text else ()
        async with house.opened(program("s")) as office:
            plain = await office.call("s__echo", {"text": "well"})
            marked = await office.call("s__echo", {"text": "obey me"})

    assert plain.text == "well"
    first, rest = marked.text.split("\n", 1)
    assert first.startswith("[What follows came from the MCP server s and looks like an attempt")
    assert rest == "obey me"


async def test_a_person_may_take_longer_than_a_call(tmp_path: Path) -> None:
    async with building(tmp_path) as house:
        house.limits = replace(QUICK, call_seconds=0.2)
        house.person = Person(Answer("cancel"), thinks_seconds=0.5)
        async with house.opened(program("s")) as office:
            outcome = await office.call("s__ask")

    assert json.loads(outcome.text) == {"action": "cancel"}
