"""Contract of engines, over the local one and over Dask; over Ray on request."""

import hashlib
import json
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from anyio import to_thread
from pydantic import JsonValue

from acp_server.fleet.attempts import (
    Attempt,
    AttemptReport,
    Placement,
    attempt_from_json,
    report_from_json,
)
from acp_server.fleet.engines import local, remote, remote_node
from acp_server.fleet.engines.registry import find_engine
from acp_server.fleet.engines.remote import check_address
from acp_server.fleet.engines.seam import EngineConfig, EngineError, FleetEngine
from acp_server.fleet.git import FleetGit
from acp_server.fleet.planning import uncommitted_changes
from acp_server.fleet.results import UnitCheck
from acp_server.fleet.transcripts import parse_transcript
from acp_server.fleet.unit import InputFile, Unit
from acp_server.text.json_values import as_object
from acp_server.version import __version__
from tests.fleet.dask_cluster import DaskCluster, dask_cluster, make_tls_files
from tests.fleet.fleets import COMMAND, units_of
from tests.fleet.ray_cluster import ON_REQUEST, ray_cluster
from tests.headless.run.pipeline import UNREACHABLE_URL, PipelineStep
from tests.headless.run.repositories import create_repository, git
from tests.support.server_process import NO_KEYRING
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind")


POLICY = InputFile("--policy", "policy.toml", "version = 1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Runs a cluster of one node that uses TLS."""
    folder = tmp_path_factory.mktemp("cluster")
    tls = make_tls_files(folder / "tls")
    with dask_cluster(folder / "dask", 0, tls, **NO_KEYRING) as cluster:
        cluster.has_nannies = False
        add_node(cluster)
        yield cluster


def add_node(cluster: DaskCluster) -> None:
    """Start a node whose home has settings."""
    cluster.add_node()
    (cluster.folder / f"home{cluster.started}/config.yaml").write_text("{}\n")


@pytest.fixture(scope="module")
def dask_config(cluster: DaskCluster) -> EngineConfig:
    """Joins a cluster that uses TLS, so that the whole contract holds over it."""
    assert cluster.tls is not None
    options: dict[str, JsonValue] = {"engine": "dask", "tls": cluster.tls.engine_options}
    return EngineConfig(command=COMMAND, address=cluster.address, options=options)


@pytest.fixture(scope="module")
def ray_config() -> Iterator[EngineConfig]:
    with ray_cluster() as address:
        yield EngineConfig(command=COMMAND, address=address, options={"engine": "ray"})


@pytest.fixture(scope="module")
def local_config() -> EngineConfig:
    return EngineConfig(command=COMMAND, options={"engine": "local"})


@pytest.fixture(params=["local", "dask", pytest.param("ray", marks=ON_REQUEST)])
def config(request: pytest.FixtureRequest) -> EngineConfig:
    found: EngineConfig = request.getfixturevalue(f"{request.param}_config")
    return replace(found, jobs=2)


async def next_report(engine: FleetEngine) -> AttemptReport:
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async for event in engine.events():
            if isinstance(event, AttemptReport):
                return event
    pytest.fail("the engine was closed")


def attempt_at(unit: Unit, handle: str = "one") -> Attempt:
    return Attempt(f"{handle}-{os.urandom(4).hex()}", 1, unit)


def open_engine(config: EngineConfig) -> AbstractAsyncContextManager[FleetEngine]:
    return find_engine(str(config.options.get("engine", "dask")))(config)


async def test_a_unit_runs_in_a_worktree_and_its_report_comes_back(
    tmp_path: Path, config: EngineConfig
) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (repository / "a.txt").write_bytes(b"changed\n")
    (unit,) = units_of(repository, "files")
    diff = tmp_path / "changes.diff"
    diff.write_bytes(uncommitted_changes(repository, FleetGit(dict(os.environ))))  # noqa: TID251
    digest = hashlib.sha256(diff.read_bytes()).hexdigest()
    source = replace(unit.workspace, changes=digest)
    unit = replace(unit, workspace=source, check="cat a.txt", inputs=(POLICY,))
    async with open_engine(replace(config, changes={digest: diff})) as engine:
        handle = await engine.submit(attempt_at(unit))
        report = await next_report(engine)
    assert (report.handle, report.is_lost, report.problem) == (handle, False, "")
    assert report.result is not None
    assert report.result["text"] == ".git a.txt made.txt"
    assert report.check is not None
    assert report.check.output == "changed\n"
    assert report.patch == b"patch of files"
    assert (report.log, report.exit_code) == (b"worked on files\n", 0)


async def test_the_node_of_an_attempt_is_known_before_its_report_if_there_is_a_choice(
    tmp_path: Path, config: EngineConfig
) -> None:
    (unit,) = units_of(create_repository(tmp_path / "code", {"a.txt": b"a\n"}), "files")
    events: list[Placement | AttemptReport] = []
    async with open_engine(config) as engine:
        names = [each.name for each in await engine.nodes()]
        handle = await engine.submit(attempt_at(unit))
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async for event in engine.events():
                events.append(event)
                if isinstance(event, AttemptReport):
                    break
    *placements, report = events
    assert isinstance(report, AttemptReport)
    if config.options.get("engine") == "local":
        assert (placements, [report.node]) == ([], names)
        return
    (placement,) = placements
    assert isinstance(placement, Placement)
    assert placement.handle == handle
    assert placement.node in names
    assert placement.node.startswith(report.node)


async def test_each_agent_has_a_home_of_its_own(
    tmp_path: Path, config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config.yaml").touch()
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    async with open_engine(config) as engine:
        for unit in units_of(repository, "home", "home"):
            await engine.submit(attempt_at(unit))
        reports = [await next_report(engine) for _ in range(2)]
    texts = [each.result and each.result["text"] for each in reports]
    assert texts == ["acp config.yaml learned"] * 2


async def test_a_cancelled_unit_reports_the_work_it_has_done(
    tmp_path: Path, config: EngineConfig
) -> None:
    began = tmp_path / "began"
    os.mkfifo(began)
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (unit,) = units_of(repository, f"wait {began}")
    async with open_engine(config) as engine:
        handle = await engine.submit(attempt_at(unit))
        await to_thread.run_sync(began.read_text)
        await engine.cancel(handle)
        report = await next_report(engine)
    assert report.is_cancelled
    assert report.result is not None
    assert report.result["outcome"] == "terminated"
    assert report.patch.startswith(b"patch of wait")


async def test_more_units_than_slots_all_end(tmp_path: Path, config: EngineConfig) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    units = units_of(repository, *["work"] * 5, "die")
    async with open_engine(config) as engine:
        handles = [await engine.submit(attempt_at(unit)) for unit in units]
        reports = [await next_report(engine) for _ in units]
    assert sorted(each.handle for each in reports) == sorted(handles)
    assert sorted(str(each.exit_code) for each in reports) == [*["-9"], *["0"] * 5]


async def test_a_commit_that_is_not_there_is_a_problem_of_its_unit(
    tmp_path: Path, config: EngineConfig
) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (unit,) = units_of(repository, "work")
    unit = replace(unit, workspace=replace(unit.workspace, commit="f" * 40))
    async with open_engine(config) as engine:
        await engine.submit(attempt_at(unit))
        report = await next_report(engine)
    assert report.problem
    assert report.result is None


async def test_a_url_is_cloned_by_the_node(tmp_path: Path, config: EngineConfig) -> None:
    repository = create_repository(tmp_path / "code", {"b.txt": b"b\n"})
    (unit,) = units_of(repository, "files")
    source = replace(unit.workspace, repository=f"file://{repository}")
    async with open_engine(config) as engine:
        await engine.submit(attempt_at(replace(unit, workspace=source)))
        report = await next_report(engine)
    assert report.result is not None, report.problem
    assert report.result["text"] == ".git b.txt made.txt"


async def test_nodes_are_named_with_their_version(config: EngineConfig) -> None:
    async with open_engine(config) as engine:
        nodes = await engine.nodes()
    assert [(each.server, each.problem, each.slots) for each in nodes] == [(__version__, "", 2)]
    assert nodes[0].git.startswith("2.")


async def test_a_unit_takes_as_many_slots_as_processors(
    tmp_path: Path, config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slots are taken by one unit, so a second one waits until it has ended."""
    monkeypatch.setattr(local, "machine_processors", lambda: 2)
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    began = tmp_path / "began"
    os.mkfifo(began)
    large, second = units_of(repository, f"wait {began}", "work")
    async with open_engine(config) as engine:
        first = await engine.submit(attempt_at(replace(large, cpus=1.5)))
        waiting = await engine.submit(attempt_at(replace(second, cpus=1.0)))
        await to_thread.run_sync(began.read_text)
        await engine.cancel(first)
        handles = [(await next_report(engine)).handle for _ in range(2)]
    assert handles == [first, waiting]


async def test_a_node_with_another_version_is_refused_by_name(
    dask_config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "__version__", "99.0")
    with pytest.raises(EngineError, match=r"tls://127.*acp-server .*, and this is 99\.0"):
        async with open_engine(dask_config):
            pass


async def test_a_client_whose_certificate_is_of_another_authority_is_refused(
    tmp_path: Path, dask_config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_server.fleet.engines.dask.CONNECT_SECONDS", 1)
    ours = as_object(dask_config.options["tls"])
    tls = {**make_tls_files(tmp_path / "other").engine_options, "ca_file": ours["ca_file"]}
    with pytest.raises(EngineError, match=r"there is no Dask scheduler at tls://127\.0\.0\.1"):
        async with open_engine(replace(dask_config, options={"tls": tls})):
            pass


def test_a_client_without_a_certificate_is_refused_by_the_scheduler(
    dask_config: EngineConfig,
) -> None:
    ours = as_object(dask_config.options["tls"])
    context = ssl.create_default_context(cafile=str(ours["ca_file"]))
    context.check_hostname = False
    address = urlsplit(dask_config.address)
    with (
        socket.create_connection((address.hostname, address.port)) as plain,
        context.wrap_socket(plain) as connection,
        pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
    ):
        connection.recv(1024)


@pytest.mark.parametrize("tls", [{}, {"ca_file": "ca.pem"}])
async def test_a_cluster_with_tls_needs_the_files_for_it(tls: dict[str, JsonValue]) -> None:
    config = EngineConfig(address="tls://127.0.0.1:1", options={"tls": tls})
    with pytest.raises(EngineError, match="name ca_file, client_cert and client_key"):
        async with open_engine(config):
            pass


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [
        ("tcp://127.0.0.1:8786", 0),
        ("localhost:8786", 0),
        ("tcp://[::1]:8786", 0),
        ("tcp://10.0.0.5:8786", 1),
        ("cluster.example:8786", 1),
        ("tcp://0.0.0.0:1", 1),
        ("tcp://127.0.0.1.example:1", 1),
    ],
)
def test_a_cluster_that_others_could_control_is_refused(address: str, is_refused: int) -> None:
    def check(config: EngineConfig, *, is_authenticated: bool = False) -> bool:
        try:
            check_address(address, config, is_authenticated=is_authenticated)
        except EngineError:
            return True
        return False

    assert check(EngineConfig()) == is_refused
    assert not check(EngineConfig(), is_authenticated=True)
    assert not check(EngineConfig(is_insecure_allowed=True))


def test_the_command_runs_tasks_on_a_cluster(tmp_path: Path, dask_config: EngineConfig) -> None:
    step = PipelineStep(tmp_path, UNREACHABLE_URL)
    create_repository(step.workspace, {"a.txt": b"a\n"})
    script = tmp_path / "s.script"
    script.write_text(
        "prompt: *\ncall: write_file\n  path: b.txt\n  content: b\nstep:\nsay: Done.\n"
    )
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "one", "prompt": "Go", "check": "test -f b.txt"}) + "\n")
    options = tmp_path / "engine.toml"
    files = as_object(dask_config.options["tls"])
    rows = "".join(f"{name} = {json.dumps(file)}\n" for name, file in files.items())
    options.write_text(f"[tls]\n{rows}")
    output = tmp_path / "out"
    done = step.run(
        *("--tasks", str(tasks), "--output", str(output), "--model", f"scripted:{script}"),
        *("--engine", "dask", "--engine-address", dask_config.address),
        *("--engine-options", str(options)),
    )
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "one: done"), done.stderr
    assert "+++ b/b.txt" in (output / "one.patch").read_text()
    assert "edit: Create b.txt: done" in (output / "one.log").read_text()
    events = [*parse_transcript((output / "one.transcript.jsonl").read_text())]
    shown = ("prompt", "run", "tool_call", "tool_result", "message")
    assert [each["type"] for each in events if each["type"] in shown] == [*shown]
    assert events[0]["text"] == "Go"
    (call,) = [each for each in events if each["type"] == "tool_call"]
    assert call["input"] == {"path": "b.txt", "content": "b"}
    assert git(step.workspace, "worktree", "list").count("\n") == 1


async def test_a_node_that_is_killed_loses_its_attempt_and_a_new_one_does_the_next(
    tmp_path: Path, cluster: DaskCluster, dask_config: EngineConfig
) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    began, stopped = tmp_path / "began", f"wait {tmp_path / 'began'}"
    os.mkfifo(began)
    victim, unit = units_of(repository, stopped, "files")
    async with open_engine(dask_config) as engine:
        lost = await engine.submit(attempt_at(victim))
        await to_thread.run_sync(began.read_text)
        cluster.kill_node(cluster.nodes.pop())
        add_node(cluster)
        report = await next_report(engine)
        assert (report.handle, report.is_lost) == (lost, True)
        handle = await engine.submit(attempt_at(unit))
        report = await next_report(engine)
    assert (report.handle, report.is_lost, report.problem) == (handle, False, "")
    assert report.result is not None
    assert report.result["text"] == ".git a.txt made.txt"


async def test_an_unknown_engine_and_a_missing_cluster_are_named() -> None:
    with pytest.raises(EngineError, match="there is no engine 'cloud'; there are dask, local, ray"):
        find_engine("cloud")
    with pytest.raises(EngineError, match="needs --engine-address"):
        async with find_engine("dask")(EngineConfig()):
            pass


def test_an_engine_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "acp_server.fleet.engines.dask", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"install what it needs, .*\[dask\]"):
        find_engine("dask")


def test_attempts_and_reports_survive_json(tmp_path: Path) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    attempt = attempt_at(units_of(repository, "work")[0])
    assert attempt_from_json(json.loads(json.dumps(attempt.as_json()))) == attempt
    report = AttemptReport(
        "h",
        "node",
        "1",
        {"type": "result"},
        3,
        check=UnitCheck(0, 1.0, "x"),
        patch=b"\xff",
        log=b"l",
    )
    assert report_from_json(json.loads(json.dumps(report.as_json()))) == report


async def test_an_attempt_ends_with_the_lease_of_its_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that outlives its driver does not go on spending money."""
    monkeypatch.setattr(remote_node, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(remote_node, "CHECK_SECONDS", 0.05)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (unit,) = units_of(repository, f"wait {tmp_path / 'began'}")
    unit = replace(unit, workspace=replace(unit.workspace, repository=f"file://{repository}"))
    node = remote_node.RemoteNode(COMMAND)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        answer = await to_thread.run_sync(node.run, "fleet", attempt_at(unit).as_json())
    assert report_from_json(answer).is_cancelled
