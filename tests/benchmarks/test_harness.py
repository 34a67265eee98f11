"""The benchmark itself: agents are driven, counted and told about as they should be; no times."""

import itertools
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.benchmarks import agreement, machine_limits, report, targets
from tests.benchmarks.__main__ import main
from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import (
    AgentSetup,
    EndpointProcess,
    create_setup,
    endpoint_process,
)
from tests.benchmarks.endpoint.answers import GROWN, answer
from tests.benchmarks.endpoint.model_requests import (
    CONVERSATION_KEYS,
    ApiFormat,
    format_command,
    parse_request,
)
from tests.benchmarks.endpoint.stream_encoders import encode_stream
from tests.benchmarks.endpoint.tool_dialects import translate_call
from tests.benchmarks.figures import AgentFigures, Figures, MetricRow
from tests.benchmarks.peers import OWN_AGENT, PEERS, make_custom_agent
from tests.benchmarks.rows import RowGroup
from tests.benchmarks.runner import BenchmarkResults, run
from tests.benchmarks.session_stores import replace_ids

PLAIN_AGENT = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"sessionId": "s"} if asked["method"] == "session/new" else {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
ROWS = [
    MetricRow("speed", "how fast", "ms"),
    MetricRow("size", "how large", "MiB"),
    MetricRow("rest", "rest", "s"),
]


@pytest.fixture(autouse=True)
def _few_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the machine's limits with few repetitions: the figures do not matter here."""
    for name, count in {"CHUNKS": 20, "FILES": 10, "TIMES": 2}.items():
        monkeypatch.setattr(machine_limits, name, count)


def _figures(setup: AgentSetup) -> Figures:
    with setup.start() as agent:
        agent.initialize()
        yield "speed", 2.0
        yield "size", float(agent.resident_mebibytes > 0)
        raise AgentError("it has no rest")


GROUP = RowGroup("some", "Some", _figures, ROWS)


def _results(**medians: float) -> BenchmarkResults:
    ours = AgentFigures({"speed": [1.0, 2.0, 3.0], "size": [4.0]}, {"rest": "it never rests"})
    theirs = AgentFigures({name: [median] for name, median in medians.items()})
    return BenchmarkResults({OWN_AGENT: ours, "other": theirs}, machine="a machine", load=0.1)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EndpointProcess]:
    with endpoint_process() as started:
        yield started


def test_the_server_is_driven_through_turns_of_each_kind(
    tmp_path: Path, endpoint: EndpointProcess
) -> None:
    setup = create_setup(PEERS[OWN_AGENT], tmp_path, endpoint)
    endpoint.set_recording(is_keeping=True)
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        orders = ["chunks 30", "read", "grow", "edits 3"]
        chunks, read, grown, edits = (
            agent.run_turn(session, setup.format_command(each)) for each in orders
        )
        assert agent.cpu_seconds > 0
    taken = endpoint.take_requests()
    assert chunks.chunks == 30
    assert (read.completed_calls, read.chunks) == (1, 1)
    assert grown.diffs[0][1] < len(GROWN)
    assert (setup.project / "grown.txt").read_text() == GROWN
    assert edits.completed_calls == 3
    assert [each.path for each in taken[:3]] == ["/v1/messages"] * 3
    assert "[bench chunks 30 in " in str(taken[0].body["messages"])


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch, endpoint: EndpointProcess) -> None:
    """Do not wait for what an agent stores, and start no endpoint: these store and ask nothing."""
    monkeypatch.setattr("tests.benchmarks.runner.endpoint_process", lambda: nullcontext(endpoint))
    monkeypatch.setattr("tests.benchmarks.runner.SETTLED_SECONDS", 0.0)


@pytest.mark.usefixtures("hurried")
def test_unmeasurable_values_are_noted_and_the_others_recorded() -> None:
    agent = make_custom_agent([sys.executable, "-c", PLAIN_AGENT])

    (results,) = run([agent], [GROUP], runs=2)

    sheet = results.sheets[agent.name]
    assert sheet.values == {"speed": [2.0, 2.0], "size": [1.0, 1.0]}
    assert sheet.notes == {"rest": "it has no rest"}
    assert len(results.limits.values["python"]) == 2


@pytest.mark.usefixtures("hurried")
def test_repetitions_are_interleaved_run_by_run() -> None:
    agent = make_custom_agent([sys.executable, "-c", PLAIN_AGENT])
    counter = itertools.count()

    def measure(setup: AgentSetup) -> Figures:
        del setup
        yield "speed", float(next(counter))

    repeated = run([agent], [replace(GROUP, measure=measure)], runs=2, repeats=2)

    assert [each.sheets[agent.name].values["speed"] for each in repeated] == [[0, 3], [1, 2]]


def test_a_table_shows_medians_ratios_and_the_reasons_for_empty_cells() -> None:
    lines = [*report.format_tables(_results(speed=8.0), [GROUP])]

    assert lines[2:] == [
        "\n### Some\n",
        "|                | acp-server |       other |",
        "| -------------- | ---------- | ----------- |",
        "| how fast, ms   | 2.00 ±1.00 | 8.00 (4.0x) |",
        "| how large, MiB |       4.00 |       — [1] |",
        "| rest, s        |      — [2] |       — [1] |",
        "",
        "[1] other: not measured",
        "[2] acp-server: it never rests",
    ]


def test_results_survive_a_save_and_load_round_trip(tmp_path: Path) -> None:
    results = _results(speed=8.0)

    report.save(results, tmp_path / "figures.json")

    assert report.read(tmp_path / "figures.json") == results


@pytest.mark.parametrize(
    ("medians", "agrees"),
    [
        pytest.param([10.0, 10.9, 10.0], True, id="within a tenth"),
        pytest.param([10.0, 15.0, 10.0], False, id="half as much again"),
        pytest.param([0.1, 0.9, 0.5], True, id="less than a clock tick"),
    ],
)
def test_runs_agree_if_their_medians_are_within_the_spread(
    medians: list[float], *, agrees: bool
) -> None:
    runs = [_results(speed=median) for median in medians]

    found = [*agreement.compare_runs(runs, [GROUP])]

    assert [(each.agent, each.title, each.agrees) for each in found] == [
        (OWN_AGENT, "how fast", True),
        (OWN_AGENT, "how large", True),
        ("other", "how fast", agrees),
    ]


def test_the_target_is_met_missed_or_not_judged() -> None:
    sheet = AgentFigures({"initialize": [20.0], "warm-turn": [13.0], "day-share": [97.5]})
    slower = AgentFigures({"initialize": [300.0]})

    claims = {
        each.title: each.is_met
        for each in targets.evaluate_targets(BenchmarkResults({OWN_AGENT: sheet, "x": slower}))
    }

    assert claims["spawn to initialize answered"] is True
    assert claims["warm prompt, whole turn"] is False
    assert claims["20 turns, 60 calls: from cache"] is True
    assert claims["initialize ahead of every measured agent: x"] is True
    assert claims["loading 150 turns"] is None


def test_a_slower_machine_has_more_time_and_no_more_memory() -> None:
    figures = AgentFigures({"session": [470.0], "end-pss": [80.0], "at-once-total": [870.0]})
    peer = AgentFigures({"at-once-total": [1_700.0]})
    slow = AgentFigures({"python": [18.0]})

    claims = {
        each.title: each
        for each in targets.evaluate_targets(
            BenchmarkResults({OWN_AGENT: figures, "x": peer}, limits=slow)
        )
    }

    ready = claims["ready after the spawn"]
    assert (ready.bound, ready.is_met) == ("<= 700 (2.0 x 350)", True)
    assert claims["memory at the end, PSS"].is_met is False
    at_once = "spawn to the end of a prompt sent at once, half of the best: x"
    assert claims[at_once].is_met is False


def test_the_command_compares_saved_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path, figure in zip(paths, (10.0, 30.0), strict=True):
        sheets = {OWN_AGENT: AgentFigures({"warm-turn": [figure], "tool-turn": [5.0]})}
        report.save(BenchmarkResults(sheets), path)

    code = main(["--compare", *map(str, paths)])

    assert code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 2 rows agree within their spread"


def _body(form: ApiFormat, words: str, tool: str) -> dict[str, JsonValue]:
    message: JsonValue = {
        "role": "user",
        "content": [{"type": "text", "text": format_command(words, "/here")}],
    }
    return {CONVERSATION_KEYS[form]: [message], "tools": [{"name": tool}]}


@pytest.mark.parametrize(
    ("form", "event"),
    [
        pytest.param("messages", b'"text_delta","text":"five words', id="messages"),
        pytest.param("chat", b'"delta":{"content":"five words', id="chat"),
        pytest.param(
            "responses", b'"response.output_text.delta","delta":"five words', id="responses"
        ),
        pytest.param("gemini", b'"parts":[{"text":"five words', id="gemini"),
    ],
)
def test_a_scripted_command_is_answered_in_each_api_format(form: ApiFormat, event: bytes) -> None:
    ask = parse_request(form, _body(form, "chunks 3", "bash"), 400)

    steps = [step for step in encode_stream(form, answer(ask), "m", 400) if isinstance(step, bytes)]

    assert (ask.command, ask.folder, ask.step) == (("chunks", "3"), "/here", 0)
    assert sum(event in step for step in steps) == 3


@pytest.mark.parametrize(
    ("tools", "name", "arguments"),
    [
        pytest.param({"search_files"}, "read_file", '{"path": "/here/a.py"}', id="ours, hermes"),
        pytest.param({"Bash", "Grep"}, "Read", '{"file_path": "/here/a.py"}', id="claude"),
        pytest.param({"bash", "grep"}, "read", '{"filePath": "/here/a.py"}', id="opencode"),
        pytest.param(
            {"exec_command"}, "exec_command", '{"cmd": "sed -n 1,9p /here/a.py"}', id="codex"
        ),
    ],
)
def test_each_agent_receives_tool_calls_in_its_own_format(
    tools: set[str], name: str, arguments: str
) -> None:
    asked: dict[str, JsonValue] = {"path": "a.py"}
    if name == "exec_command":
        asked |= {"offset": 1, "limit": 9}

    use = translate_call(frozenset(tools), "/here", "read_file", asked)

    assert (use.name, use.arguments) == (name, arguments)


def test_a_copy_has_its_own_ids_and_the_same_keys() -> None:
    unchanged = '{"call_id":"toolu_01Ab","message_id":"msg_9","tool_call_id":"call_7"}'
    copy = '{"call_id":"toolu_01Abc3","message_id":"msg_9c3","tool_call_id":"call_7c3"}'
    assert replace_ids(unchanged, 3) == copy
