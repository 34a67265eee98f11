"""Confined commands reach the hosts that the user allows, asked about by name, and no others."""

import shlex
import shutil
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketAttribute, SocketStream

from acp_server.permissions.effects import ConnectHost
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.gate import PermissionGate
from acp_server.permissions.questions import (
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
)
from acp_server.permissions.rule_store import RuleStore
from acp_server.tools.shell.command_access import CommandAccess
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.host_proxy import HostProxy, Resolver
from acp_server.tools.shell.confinement.host_questions import HostQuestions
from acp_server.tools.shell.confinement.proxy_requests import (
    BadRequestError,
    find_head,
    parse_request,
)
from acp_server.tools.shell.session import CommandResult
from tests.support.case_table import each_case
from tests.support.npm_registry import REGISTRY_HOST, serve_registry
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    make_sandbox,
    needs_sandbox,
    open_confined,
    working_launcher,
)
from tests.tools.shell.command_session import CommandSession

HOST = REGISTRY_HOST
FETCH = (
    "import sys, urllib.request, urllib.error\n"
    "try: print(urllib.request.urlopen(sys.argv[1], timeout=30).read())\n"
    "except urllib.error.URLError as error: print(error, getattr(error, 'code', ''))"
)


@dataclass(slots=True)
class User:
    """Answers all questions the same way."""

    answer: PermissionChoiceId | None = "allow_once"
    asked: list[PermissionQuestion] = field(default_factory=list[PermissionQuestion])

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        del choices
        await anyio.lowlevel.checkpoint()
        self.asked.append(question)
        return self.answer

    @property
    def hosts(self) -> list[tuple[str, str]]:
        effects = [each.effect for each in self.asked]
        return [(each.site, each.address) for each in effects if isinstance(each, ConnectHost)]


@dataclass(slots=True)
class SlowUser(User):
    """Thinks for a while."""

    seconds: float = 0

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        await anyio.sleep(self.seconds)
        return await User.ask(self, question, choices)


@dataclass(slots=True)
class NetworkedSession:
    """A session whose commands ask for each host."""

    shell: CommandSession
    gate: PermissionGate
    calls: int = 0

    async def run(self, command: str, timeout_seconds: float = 60) -> tuple[CommandResult, str]:
        self.calls += 1
        printed = bytearray()
        origin = CommandOrigin(f"call_{self.calls}", command, self.gate)
        result = await self.shell.session.run(
            command, self.shell.folder, printed.extend, timeout_seconds, CommandAccess(origin)
        )
        return result, printed.decode()

    async def fetch(self, url: str) -> str:
        return (await self.run(f"{sys.executable} -S -c {shlex.quote(FETCH)} {url}"))[1]


@pytest.fixture
def directories(tmp_path: Path) -> SandboxDirectories:
    return create_directories(tmp_path)


def make_gate(directories: SandboxDirectories, user: User) -> PermissionGate:
    return PermissionGate(
        mode=lambda: "ask",
        asker=user,
        cancel_turn=lambda: None,
        facts=FactCollector((directories.root,), directories.home, directories.config_home),
        store=RuleStore(directories.base / "permissions.json"),
        root=directories.root,
    )


@asynccontextmanager
async def open_session(
    directories: SandboxDirectories, user: User, allowed_hosts: Sequence[str] = ()
) -> AsyncGenerator[NetworkedSession]:
    config = replace(directories.config, network="hosts")
    gate = make_gate(directories, user)
    async with anyio.create_task_group() as tasks:
        sandbox = make_sandbox(directories, config, HostQuestions(allowed_hosts), tasks)
        if not await sandbox.network.namespaces.files(working_launcher()):
            pytest.skip("there are no namespaces to be had on this machine")
        async with open_confined(directories, config, sandbox=sandbox) as shell:
            yield NetworkedSession(shell, gate)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def serve_pages(paths: list[str]) -> AsyncGenerator[str]:
    """Serve pages at an address of this machine that is not localhost; yield the URL."""

    async def answer(client: SocketStream) -> None:
        async with client:
            paths.append((await client.receive()).decode().split()[1])
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
            await client.send(head + b"hello")

    listener = await anyio.create_tcp_listener(local_host=HOST)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610  no Django
        yield f"http://{HOST}:{port}"
        tasks.cancel_scope.cancel()


@needs_sandbox
async def test_a_host_is_asked_about_once_per_command_and_then_reached(
    directories: SandboxDirectories,
) -> None:
    user, paths = User(), list[str]()
    async with serve_pages(paths) as url, open_session(directories, user) as session:
        code = shlex.quote(FETCH)
        twice = " && ".join(f"{sys.executable} -S -c {code} {url}/{each}" for each in "ab")
        _, output = await session.run(twice)
        assert output == "b'hello'\n" * 2
        assert paths == ["/a", "/b"]
        site = url.removeprefix("http://")
        assert user.hosts == [(site, HOST)]
        assert await session.fetch(url) == "b'hello'\n"
        assert len(user.hosts) == 2


@needs_sandbox
@pytest.mark.parametrize(
    ("answer", "questions"),
    [
        ("allow_session", 1),
        pytest.param("allow_workspace", 1, marks=pytest.mark.full),
        ("reject_workspace", 1),
        ("reject_once", 2),
    ],
)
async def test_an_answer_holds_as_long_as_the_user_says(
    directories: SandboxDirectories, answer: PermissionChoiceId, questions: int
) -> None:
    user = User(answer)
    async with serve_pages([]) as url, open_session(directories, user) as session:
        outputs = [await session.fetch(url) for _ in range(2)]
    is_allowed = answer.startswith("allow")
    assert [("hello" in each, "403" in each) for each in outputs] == [
        (is_allowed, not is_allowed)
    ] * 2
    assert len(user.hosts) == questions


@needs_sandbox
async def test_a_host_of_the_settings_is_not_asked_about(directories: SandboxDirectories) -> None:
    user = User()
    async with serve_pages([]) as url, open_session(directories, user, [HOST]) as session:
        assert await session.fetch(url) == "b'hello'\n"
    assert user.asked == []


@needs_sandbox
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
async def test_npm_installs_from_an_allowed_host_and_leaves_the_home_as_it_is(
    directories: SandboxDirectories,
) -> None:
    user, names = User(), sorted(each.name for each in directories.home.iterdir())
    with serve_registry() as url:
        async with open_session(directories, user) as session:
            (directories.root / "package.json").write_text("{}")
            _, output = await session.run(f"npm install greeting --registry {url} 2>&1 | tail -5")
    assert (directories.root / "node_modules/greeting/package.json").exists(), output
    assert user.hosts == [(url.removeprefix("http://"), HOST)]
    assert sorted(each.name for each in directories.home.iterdir()) == names


@needs_sandbox
async def test_a_tunnel_is_opened_to_an_allowed_host(directories: SandboxDirectories) -> None:
    user = User()
    async with serve_pages([]) as url, open_session(directories, user) as session:
        host, _, port = url.removeprefix("http://").partition(":")
        _, output = await session.run(
            f"exec 3<>/dev/tcp/${{http_proxy:7:10}}/${{http_proxy##*:}}; "
            f"printf 'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n' >&3; "
            "cat <&3"
        )
    assert output.startswith("HTTP/1.1 200 Connection established")
    assert output.endswith("hello")


@needs_sandbox
async def test_the_time_limit_stands_still_while_the_user_is_asked(
    directories: SandboxDirectories,
) -> None:
    user = SlowUser(seconds=1.2)
    async with serve_pages([]) as url, open_session(directories, user) as session:
        code = shlex.quote(FETCH)
        result, output = await session.run(f"{sys.executable} -S -c {code} {url}", 1.0)
    assert (result.timed_out, output) == (False, "b'hello'\n")


@needs_sandbox
async def test_a_command_without_a_call_reaches_nothing(directories: SandboxDirectories) -> None:
    user = User()
    async with serve_pages([]) as url, open_session(directories, user) as session:
        code = f"{sys.executable} -S -c {shlex.quote(FETCH)} {url}"
        assert "403" in (await session.shell.run(code)).output
    assert user.asked == []


async def no_addresses(host: str, port: int) -> Sequence[str]:
    raise AssertionError((host, port))


async def private_addresses(host: str, port: int) -> Sequence[str]:
    del host, port
    return ["93.184.216.34", "10.0.0.7"]


async def metadata_addresses(host: str, port: int) -> Sequence[str]:
    del host, port
    return ["169.254.169.254"]


@pytest.mark.parametrize(
    ("resolver", "refused", "asked"),
    [
        (no_addresses, {""}, [""]),
        (private_addresses, {"10.0.0.7"}, ["", "10.0.0.7"]),
        (metadata_addresses, set[str](), [""]),
    ],
)
async def test_a_name_is_resolved_after_the_question_and_its_private_addresses_are_asked_about(
    directories: SandboxDirectories, resolver: Resolver, refused: set[str], asked: list[str]
) -> None:
    addresses: list[str] = []

    async def ask(origin: CommandOrigin, site: str, address: str) -> str:
        assert (origin.call_id, site) == ("call", "example.org")
        addresses.append(address)
        return "no" if address in refused else ""

    proxy = HostProxy(ask, resolver)
    async with anyio.create_task_group() as tasks:
        listening = socket.create_server(("0.0.0.0", 0))  # noqa: S104  closed at once
        tasks.start_soon(await proxy.start(listening))
        origin = CommandOrigin("call", "curl", make_gate(directories, User()))
        url = urlsplit(proxy.variables(origin)["https_proxy"])
        async with await anyio.connect_tcp(str(url.hostname), url.port or 0) as client:
            await client.send(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
            assert (await client.receive()).startswith(b"HTTP/1.1 403 ")
        proxy.close()
    assert addresses == asked


async def no_such_name(host: str, port: int) -> Sequence[str]:
    raise socket.gaierror(socket.EAI_NONAME, f"no {host}:{port}")


async def test_a_host_that_is_allowed_but_not_reached_is_noted_with_the_reason(
    directories: SandboxDirectories,
) -> None:
    async def allow(origin: CommandOrigin, site: str, address: str) -> str:
        del origin, site, address
        return ""

    proxy = HostProxy(allow, no_such_name)
    origin = CommandOrigin("call", "curl", make_gate(directories, User()))
    async with anyio.create_task_group() as tasks:
        listening = socket.create_server(("0.0.0.0", 0))  # noqa: S104  closed at once
        tasks.start_soon(await proxy.start(listening))
        url = urlsplit(proxy.variables(origin)["https_proxy"])
        async with await anyio.connect_tcp(str(url.hostname), url.port or 0) as client:
            await client.send(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
            assert (await client.receive()).startswith(b"HTTP/1.1 502 ")
        proxy.close()
    assert origin.unreachable_sites == {"example.org": "no example.org:443"}


REQUESTS = {
    "a tunnel": (b"CONNECT a.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", "a.org:443", b""),
    "a page": (
        b"GET http://a.org/b?c HTTP/1.1\r\nHost: a.org\r\nProxy-Connection: keep-alive\r\n\r\nxy",
        "a.org:80",
        b"GET /b?c HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\n\r\nxy",
    ),
}


@each_case(("received", "host", "first_bytes"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_understood(received: bytes, host: str, first_bytes: bytes) -> None:
    head = find_head(received)
    assert head is not None
    request = parse_request(head, received[len(head) :])
    assert f"{request.address.host}:{request.address.port}" == host
    assert request.first_bytes == first_bytes
    assert find_head(received[:10]) is None


@each_case(
    "line",
    [
        b"GET /path HTTP/1.1",
        b"GET https://a.org/ HTTP/1.1",
        b"GET ftp://a.org/ HTTP/1.1",
        b"GET http://user@a.org/ HTTP/1.1",
        b"CONNECT a.org HTTP/3",
        b"CONNECT 0x7f.1:80 HTTP/1.1",
        b"\x16\x03\x01",
        b"",
    ],
)
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(BadRequestError):
        parse_request(line + b"\r\n\r\n", b"")
