"""A web project in the sandbox: installed, served, looked at, tested, mended, committed, shown.

The machine has no other network than its loopback. The package comes from a registry that the test
serves at an address of this machine, which commands reach through the proxy of the sandbox.
"""

import json
import shutil
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.day import DayConfig, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shop_repository import create_repository
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer
from tests.support.messages_api import call
from tests.support.npm_registry import PACKAGE, REGISTRY_HOST, serve_registry
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.confinement.sandbox_setup import needs_namespaces

pytestmark = [
    needs_namespaces,
    pytest.mark.skipif(not (shutil.which("npm") and shutil.which("node")), reason="no npm here"),
]
MAX_QUESTIONS = 4
WIDEST_FIRST = ("allow_confined", "allow_checks", "allow_workspace", "allow_exactly", "allow_once")
MANIFEST = {
    "name": "site",
    "private": True,
    "scripts": {"dev": "node server.js", "test": "node test.js"},
    "dependencies": {PACKAGE: "1.0.0"},
}
PAGE = """\
const { greet } = require("greeting");
exports.page = (name) => `<h1>${greet(name)}</h1>`;
"""
MENDED_PAGE = """\
const { greet } = require("greeting");
const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
exports.page = (name) => `<h1>${greet(escape(name))}</h1>`;
"""
SERVER = """\
const { createServer } = require("node:http");
const server = createServer((request, response) => {
  const name = new URL(request.url, "http://site").searchParams.get("name") ?? "world";
  response.end(require("./page").page(name));
});
server.listen(0, "localhost", () => console.log(`serving at port ${server.address().port}`));
"""
TEST = """\
const { equal } = require("node:assert");
const { page } = require("./page");
equal(page("you"), "<h1>Hello, you!</h1>");
equal(page("<b>"), "<h1>Hello, &lt;b>!</h1>");
console.log("all passed");
"""


def allow_the_widest(question: AskedQuestion) -> str | FormAnswer | None:
    """Choose the widest "always" that is offered."""
    return next(choice for choice in WIDEST_FIRST if choice in question.choices)


def create_project(registry: str) -> Callable[[ShownRequest], ModelProgram]:
    def program(shown: ShownRequest) -> ModelProgram:
        del shown
        files = {
            "package.json": json.dumps(MANIFEST, indent=2),
            "page.js": PAGE,
            "server.js": SERVER,
            "test.js": TEST,
            ".gitignore": "node_modules/\n",
        }
        for name, text in files.items():
            yield call("write_file", path=name, content=text)
        shown = yield call("terminal", command=f"npm install --registry {registry} 2>&1 | tail -3")
        shown.find("added 1 package")
        return "It is installed."

    return program


def serve_and_look(shown: ShownRequest) -> ModelProgram:
    shown = yield call("terminal", command="npm run dev", background=True)
    name = shown.find(r"proc_\w+")[0]
    shown = yield call("process", action="wait_for", session_id=name, pattern="serving at port")
    port = shown.find(r"port (\d+)")[1]
    shown = yield call("terminal", command=f"curl -sS 'http://localhost:{port}/?name=you'")
    shown.find("<h1>Hello, you!</h1>")
    return f"It is served at port {port}."


def mend(shown: ShownRequest) -> ModelProgram:
    shown = yield call("terminal", command="node test.js 2>&1 | tail -15")
    shown.find("ERR_ASSERTION")
    yield call("read_file", path="page.js")
    yield call("write_file", path="page.js", content=MENDED_PAGE)
    shown = yield call("terminal", command="node test.js")
    shown.find("all passed")
    return "The names are escaped now."


def commit(shown: ShownRequest) -> ModelProgram:
    del shown
    shown = yield call("terminal", command="git add -A && git commit -q -m 'Greet visitors'")
    shown = yield call("terminal", command="git status --short && git log -1 --format=%s")
    shown.find("Greet visitors")
    return "It is committed."


def show(port: str) -> Callable[[ShownRequest], ModelProgram]:
    def program(shown: ShownRequest) -> ModelProgram:
        shown = yield call("process", action="forward", port=int(port))
        return shown.find(r"http://127\.0\.0\.1:\d+/")[0]

    return program


def fetch(url: str) -> str:
    """Fetch a page as the user's browser does."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=HANG_TIMEOUT_SECONDS) as response:
        return response.read().decode()


def test_a_web_project_is_made_served_and_mended_with_at_most_four_questions(
    tmp_path: Path,
) -> None:
    repository = create_repository(tmp_path / "site", {"README.md": "# site\n"}, "Begin")
    config = DayConfig(mode="accept_edits")
    with serve_registry() as registry, open_day(tmp_path, config) as day:
        day.user.policy = allow_the_widest
        session = day.open_session(repository.root, "web")
        session.prompt("Make a small site that greets.", create_project(registry))
        answer = session.prompt("Serve it, and look at it.", serve_and_look)
        port = answer.removesuffix(".").rpartition(" ")[2]
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", int(port))) != 0, "not reachable yet"
        session.prompt("Are names with < safe?", mend)
        session.prompt("Commit it.", commit)
        url = session.prompt("I want to see it.", show(port))
        # The server has loaded the page before it was mended.
        assert fetch(f"{url}?name=me") == "<h1>Hello, me!</h1>"
        listed = session.prompt("/forward", show(port))
        assert f"{port}: {url}" in listed
        asked = [question.text for question in day.user.questions]
        assert f"Connect to {REGISTRY_HOST}" in " ".join(asked)
        assert 1 <= len(asked) <= MAX_QUESTIONS, asked
    with pytest.raises(OSError, match="refused"):
        fetch(url)
