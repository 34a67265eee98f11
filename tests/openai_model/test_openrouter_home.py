"""OpenRouter's home as it stands, in the real process: its own address, over TLS, by a proxy.

The proxy is the environment's, as in a company, and what answers behind it is the loopback server
with a certificate for OpenRouter's name from an authority of this test.
"""

import socket
import ssl
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import trustme

from tests.support.editor import json_at
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api_in_thread
from tests.support.server_process import start_server

HOST = "openrouter.ai"
CONFIG = "model:\n  provider: openrouter\n  default: house/large\n"


class Proxy:
    """A proxy that takes CONNECT to one host, and ends the TLS of it itself."""

    def __init__(self, authority: trustme.CA, port: int) -> None:
        self.asked: list[str] = []
        self._port = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with authority.issue_cert(HOST).private_key_and_cert_chain_pem.tempfile() as certificate:
            self._context.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Take one connection after the other until the door is closed."""
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(peer,), daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _join(self, peer: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.recv(1)
        self.asked.append(head.split(b"\r\n")[0].decode())
        peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with (
            suppress(OSError),
            self._context.wrap_socket(peer, server_side=True) as near,
            socket.create_connection(("127.0.0.1", self._port)) as upstream,
        ):
            threading.Thread(target=_pass_on, args=(upstream, near), daemon=True).start()
            _pass_on(near, upstream)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxy_before(port: int, authority: trustme.CA) -> Generator[Proxy]:
    """Serve a proxy whose one host is a plain server on a port of loopback."""
    proxy = Proxy(authority, port)
    serving = threading.Thread(target=proxy.serve)
    serving.start()
    try:
        yield proxy
    finally:
        proxy.close()
        serving.join()


def test_an_openrouter_home_works_unchanged(tmp_path: Path) -> None:
    authority = trustme.CA()
    trusted = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(trusted)
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(CONFIG)
    (home / ".env").write_text("OPENROUTER_API_KEY=the-key\n")
    endpoint = OpenAiServerConfig(
        keys=frozenset({"the-key"}),
        models=(ServedModel("house/large", extra={"context_length": 32_768}),),
        root="/api",
    )
    with (
        openai_api_in_thread(["Hello."], endpoint) as api,
        proxy_before(int(api.url.split(":")[2].split("/")[0]), authority) as proxy,
    ):
        env_command = ["env", f"HTTPS_PROXY={proxy.url}", f"SSL_CERT_FILE={trusted}"]
        command = [*env_command, sys.executable, "-m", "acp_server"]
        with start_server(home, command=command) as server:
            server.initialize()
            session = server.new_session(str(tmp_path))
            answer = server.receive_response(server.start_prompt(session, "hi"))
            assert json_at(answer, "result", "stopReason") == "end_turn"
            assert any("Hello." in str(each) for each in server.messages)
            server.close_stdin()
            assert server.wait() == 0
        assert set(proxy.asked) == {f"CONNECT {HOST}:443 HTTP/1.1"}
        assert [ask.verdict for ask in api.model_requests] == ["answered"]
        assert json_at(api.model_requests[0].body, "model") == "house/large"
    assert (home / "config.yaml").read_text() == CONFIG
