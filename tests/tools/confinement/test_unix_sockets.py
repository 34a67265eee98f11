"""Unix sockets of confined commands: their own, services that are asked about, and no others."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acp_server.permissions.effects import ConnectSocket
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Refuse, SocketFacts, decide
from acp_server.permissions.rules import RuleBook
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    needs_namespaces,
)
from tests.tools.confinement.test_host_proxy import NetworkedSession, User, open_session

pytestmark = needs_namespaces
START = """
import array, errno, os, socket, sys, threading
T = os.environ["TMPDIR"]
"""
EACH = """
for name, code in CODES.items():
    print(f"{chr(30)}{name}", flush=True)
    if os.fork() == 0:
        os.dup2(1, 2)
        os.chdir(os.environ["TMPDIR"])
        exec(code)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
"""Runs each code in a fork, which saves the start of an interpreter for each."""
UNIX = "socket.socket(socket.AF_UNIX)"
OWN = {
    "a server and a client": f"""
s = {UNIX}; s.bind(T + "/a"); s.listen(); c = {UNIX}; c.connect(T + "/a")
c.sendall(b"hello"); print(s.accept()[0].recv(9).decode())""",
    "a relative address": f"""
os.chdir(T); s = {UNIX}; s.bind("b"); s.listen(); c = {UNIX}; c.connect("b")
c.sendall(b"hello"); print(s.accept()[0].recv(9).decode())""",
    "descriptors": f"""
s = {UNIX}; s.bind(T + "/c"); s.listen(); c = {UNIX}; c.connect(T + "/c")
socket.send_fds(c, [b"x"], [os.open("/dev/null", 0)]); d = socket.recv_fds(s.accept()[0], 1, 1)[1]
print("hello" if os.read(d[0], 1) == b"" else "")""",
    "a queue that is full": f"""
s = {UNIX}; s.bind(T + "/d"); s.listen(0); first = {UNIX}; first.connect(T + "/d")
def connect():
    c = {UNIX}; c.connect(T + "/d"); c.sendall(b"hello")
t = threading.Thread(target=connect); t.start(); s.accept(); print(s.accept()[0].recv(9).decode())
t.join()""",
    "a queue that stays full, beside other connections": f"""
s = {UNIX}; s.bind(T + "/h"); s.listen(0); {UNIX}.connect(T + "/h")
def connect():
    c = {UNIX}; c.connect(T + "/h")
for _ in range(3): threading.Thread(target=connect, daemon=True).start()
i = socket.create_server(("127.0.0.1", 0))
for _ in range(100): socket.create_connection(i.getsockname()).close()
print("hello", flush=True); os._exit(0)""",
    "more calls that wait than are answered at once": f"""
s = {UNIX}; s.bind(T + "/i"); s.listen(0); first = {UNIX}; first.connect(T + "/i")
def connect():
    c = {UNIX}; c.connect(T + "/i"); c.recv(1)
threads = [threading.Thread(target=connect) for _ in range(100)]
for t in threads: t.start()
for _ in range(101): s.accept()
for t in threads: t.join()
print("hello")""",
    "no server": f"""
s = {UNIX}; s.bind(T + "/e")
print("hello" if {UNIX}.connect_ex(T + "/e") == errno.ECONNREFUSED else "")""",
    "no file": f"print('hello' if {UNIX}.connect_ex(T + '/none') == errno.ENOENT else '')",
    "TCP": """
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname())
c.sendall(b"hello"); print(s.accept()[0].recv(9).decode())""",
    "TCP without waiting": """
s = socket.create_server(("127.0.0.1", 0)); c = socket.socket(); c.setblocking(False)
assert c.connect_ex(s.getsockname()) in (0, errno.EINPROGRESS)
a = s.accept()[0]; a.sendall(b"hello")
c.setblocking(True); print(c.recv(9).decode())""",
    "TCP without a server": """
s = socket.socket(); s.bind(("127.0.0.1", 0))
print("hello" if socket.socket().connect_ex(s.getsockname()) == errno.ECONNREFUSED else "")""",
    "UDP": """
s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0))
c = socket.socket(type=socket.SOCK_DGRAM); c.connect(s.getsockname()); c.send(b"hello")
print(s.recv(9).decode())""",
    "no socket": """
import ctypes; libc = ctypes.CDLL(None, use_errno=True)
assert libc.connect(0, b"x" * 16, 16) == -1 and ctypes.get_errno() == errno.ENOTSOCK
assert libc.connect(99, b"x" * 16, 16) == -1 and ctypes.get_errno() == errno.EBADF
s = socket.socket()
assert libc.connect(s.fileno(), 1, 16) == -1 and ctypes.get_errno() == errno.EFAULT
print("hello")""",
    "a process that nobody waits for": f"""
s = {UNIX}; s.bind(T + "/f"); s.listen()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        c = {UNIX}; c.connect(T + "/f"); c.sendall(b"hello")
    os._exit(0)
print(s.accept()[0].recv(9).decode())""",
}
MULTIPROCESSING = """
import multiprocessing as mp
if __name__ == "__main__":
    mp.set_start_method("forkserver")
    with mp.Manager() as manager, mp.Pool(1) as pool:
        d = manager.dict(); d["x"] = pool.apply(str.lower, ("HELLO",)); print(d["x"])"""
OUTSIDE = {
    "itself": f"{UNIX}.connect(A)",
    "through a link": f"os.symlink(A, T + '/link'); {UNIX}.connect(T + '/link')",
    "from its directory": f"os.chdir(os.path.dirname(A)); {UNIX}.connect(os.path.basename(A))",
    "through the root of a process": f"{UNIX}.connect('/proc/self/root' + A)",
    "through a directory above": f"{UNIX}.connect(T + '/..' * T.count('/') + A)",
    "as packets": "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(A)",
    "as a datagram": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', A)",
    "by one of a pair": ("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', A)"),
    "with the name exchanged": f"""
import ctypes, struct
libc = ctypes.CDLL(None); good, bad = (T + "/g").encode(), A.encode()
g = {UNIX}; g.bind(good); g.listen(99)
pack = lambda name: struct.pack("=H108s", 1, name)
memory = ctypes.create_string_buffer(pack(good)); stop = []
def exchange():
    while not stop:
        ctypes.memmove(memory, pack(bad), 110); ctypes.memmove(memory, pack(good), 110)
t = threading.Thread(target=exchange); t.start()
for _ in range(60):
    c = {UNIX}; libc.connect(c.fileno(), memory, 110); c.close()
    g.setblocking(False)
    try: g.accept()
    except BlockingIOError: pass
stop.append(1); t.join()""",
    "with the socket exchanged": f"""
import ctypes, struct
libc = ctypes.CDLL(None); inet = socket.create_server(("127.0.0.1", 0))
name = ctypes.create_string_buffer(struct.pack("=H108s", 1, A.encode())); stop = []
def exchange():
    while not stop:
        c = {UNIX}; i = socket.socket(); os.dup2(i.fileno(), 77); os.dup2(c.fileno(), 77)
t = threading.Thread(target=exchange); t.start()
for _ in range(60): libc.connect(77, name, 110)
stop.append(1); t.join()""",
}


@pytest.fixture
def directories(tmp_path: Path) -> SandboxDirectories:
    return create_directories(tmp_path)


async def run_code(session: NetworkedSession, code: str) -> str:
    (session.shell.folder / "code.py").write_text(START + code)
    return (await session.run(f"{sys.executable} code.py 2>&1"))[1]


async def run_each(session: NetworkedSession, codes: Mapping[str, str]) -> dict[str, str]:
    """Run each code in a process of its own, all in one command; return what each printed."""
    output = await run_code(session, f"CODES = {dict(codes)!r}\n{EACH}")
    parts = dict(each.split("\n", 1) for each in output.split("\x1e")[1:])
    assert parts.keys() == codes.keys(), output
    return parts


@contextmanager
def listen(path: Path, kind: int = socket.SOCK_STREAM) -> Generator[socket.socket]:
    """Serve at a Unix socket outside of the sandbox; its address may be longer than is allowed."""
    folder = os.open(path.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX, kind) as server:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
            if kind != socket.SOCK_DGRAM:
                server.listen()
            server.setblocking(False)  # noqa: FBT003  the standard library's own signature
            yield server
    finally:
        os.close(folder)


def is_reached(server: socket.socket) -> bool:
    """Return whether something has been sent, or has connected, to a server."""
    try:
        server.recv(9) if server.type == socket.SOCK_DGRAM else server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@contextmanager
def short_directory() -> Generator[Path]:
    """Create a directory whose path leaves room for the address of a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


async def test_commands_connect_to_each_other(directories: SandboxDirectories) -> None:
    async with open_session(directories, User()) as session:
        assert await run_each(session, OWN) == dict.fromkeys(OWN, "hello\n")
        assert await run_code(session, MULTIPROCESSING) == "hello\n"


async def test_no_way_leads_to_a_socket_outside(directories: SandboxDirectories) -> None:
    kinds = {"as packets": socket.SOCK_SEQPACKET, "as a datagram": socket.SOCK_DGRAM}
    kinds |= {"by one of a pair": socket.SOCK_DGRAM}
    user = User()
    codes = dict[str, str]()
    with ExitStack() as stack:
        servers = dict[str, socket.socket]()
        for name, code in OUTSIDE.items():
            path = stack.enter_context(short_directory()) / "s"
            kind = kinds.get(name, socket.SOCK_STREAM)
            servers[name] = stack.enter_context(listen(path, kind))
            codes[name] = f"A = {str(path)!r}\n{code}"
        async with open_session(directories, user) as session:
            said = await run_each(session, codes)
        reached = [name for name, server in servers.items() if is_reached(server)]
    assert reached == []
    expected = {name for name in OUTSIDE if "exchanged" not in name}
    assert {name: said[name] for name in expected if "PermissionError" not in said[name]} == {}
    assert user.asked == []


async def test_no_abstract_socket_of_the_machine_is_reached(
    directories: SandboxDirectories,
) -> None:
    async with open_session(directories, User()) as session:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"\0{directories.base}")
            server.listen()
            code = f"{UNIX}.connect({f'{chr(0)}{directories.base}'!r})"
            assert "ConnectionRefusedError" in await run_code(session, code)


@pytest.mark.parametrize(("answer", "expected"), [("allow_once", "hello\n"), ("reject_once", "")])
async def test_the_user_is_asked_about_a_service_once_per_command(
    directories: SandboxDirectories, answer: str, expected: str
) -> None:
    user = User("allow_once" if answer == "allow_once" else "reject_once")
    twice = f"for _ in 'ab': c = {UNIX}; c.connect(A)\nc.sendall(b'hello')"
    with short_directory() as folder, listen(folder / "docker.sock") as server:
        async with open_session(directories, user) as session:
            output = await run_code(session, f"A = {str(folder / 'docker.sock')!r}\n{twice}")
        effects = [each.effect for each in user.asked]
        if expected:
            server.accept()[0].close()
            with server.accept()[0] as client:
                assert client.recv(9) == b"hello"
        else:
            assert "PermissionError" in output
    assert [each.path for each in effects if isinstance(each, ConnectSocket)] == [
        str(folder / "docker.sock")
    ]
    assert "containers" in user.asked[0].reason


MODES: dict[Mode, type[Ask | Refuse | Allow]] = {
    "ask": Ask,
    "accept_edits": Ask,
    "plan": Ask,
    "bypass": Refuse,
}


@pytest.mark.parametrize(("mode", "decision"), MODES.items())
def test_no_mode_and_no_always_allows_a_service(
    mode: Mode, decision: type[Ask | Refuse | Allow]
) -> None:
    found = decide(SocketFacts("it can do all"), mode, RuleBook())
    assert isinstance(found, decision)
    assert not isinstance(found, Ask) or found.scope is None


@contextmanager
def serve_key(folder: Path) -> Generator[tuple[Path, str]]:
    """Run an agent with one key; yield its socket and the public key."""
    agent, key = folder / "agent.1", folder / "key"
    generate = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(generate, check=True, timeout=HANG_TIMEOUT_SECONDS)
    serve = ["ssh-agent", "-D", "-a", str(agent)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it listens now
            variables = {"PATH": os.defpath, "SSH_AUTH_SOCK": str(agent)}
            add = ["ssh-add", "-q", str(key)]
            subprocess.run(add, env=variables, check=True, timeout=HANG_TIMEOUT_SECONDS)
            yield agent, key.with_suffix(".pub").read_text()
        finally:
            process.terminate()


@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="there is no ssh-agent")
async def test_git_signs_a_commit_by_an_agent_if_the_user_agrees(
    directories: SandboxDirectories,
) -> None:
    user = User()
    with short_directory() as folder, serve_key(folder) as (agent, key):
        (directories.home / ".gitconfig").write_text(
            f"[user]\n\tname = A\n\temail = a@b.c\n\tsigningkey = key::{key}"
            "[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n"
        )
        async with open_session(directories, user) as session:
            _, output = await session.run(
                f"export SSH_AUTH_SOCK={agent}; git init -q . && "
                "git commit -q --allow-empty -m signed && git cat-file -p HEAD"
            )
    assert "BEGIN SSH SIGNATURE" in output, output
    assert {type(each.effect) for each in user.asked} == {ConnectSocket}
