"""Stored code is used while it fits; without it, imports work as ever."""

import marshal
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import CodeType
from typing import cast

import pytest

from acp_server.startup.code_store import CodeStore
from acp_server.startup.code_store_writer import without_docstrings, write_code_store
from tests.support.case_table import named_case
from tests.support.editor import json_at
from tests.support.server_process import HANG_TIMEOUT_SECONDS, start_server

PROGRAM = """
import sys
from acp_server.startup.code_store import CodeStore, check_once

store = CodeStore({directory!r})
store.open()
import stored_example
from acp_server.startup.code_store_writer import write_code_store

def check():
    print("checked", end=" ")

check_once("example", check)
print(type(stored_example.__spec__.loader).__name__, stored_example.describe())
print(len(store.new_codes), len(store.new_patterns))
write_code_store(store)
"""
SERVER = """
from acp_server.startup.code_store import CodeStore
from acp_server.__main__ import main

CodeStore.__init__.__defaults__ = ({directory!r},)
main()
"""
"""Starts the server with a store of its own."""
MODULE = """
import re
from dataclasses import dataclass

class Zero(int):
    "Flags as Python 3.13 passes them to the compiler."

WORD = re.compile(r"(?P<word>ab+)c?(?i:D)", Zero())

@dataclass(frozen=True)
class Example:
    number: int

@dataclass(frozen=True)
class SameFields:
    number: int

def describe():
    match = WORD.match("abbcd")
    return repr(Example({number})), match["word"], re.search("x+", "axx")[0]
"""
STORED, PLAIN = "_StoredLoader", "SourceFileLoader"


class Starts:
    """Processes that import one module, with a common store."""

    def __init__(self, folder: Path) -> None:
        self.directory = folder / "store"
        self.directory.mkdir()
        self._source = folder / "modules" / "stored_example.py"
        # With its bytecode directory from the start: a new entry of a directory of the import path
        # makes it another environment.
        (self._source.parent / "__pycache__").mkdir(parents=True)
        self.write_module(1)
        self.was_checked = False
        """Whether the last start has run its check."""

    def write_module(self, number: int) -> None:
        """Write the module, with a number that tells its versions apart."""
        self._source.write_text(MODULE.replace("{number}", str(number)))
        os.utime(self._source, (number, number))

    def run(self, *options: str) -> tuple[str, str]:
        """Start a process; return what loaded the module, and all it printed after that."""
        variables = {"PYTHONPATH": os.pathsep.join((str(self._source.parent), str(Path.cwd())))}
        done = subprocess.run(
            [sys.executable, *options, "-c", PROGRAM.format(directory=str(self.directory))],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        loader, _, text = done.stdout.removeprefix("checked ").partition(" ")
        self.was_checked = done.stdout.startswith("checked ")
        return loader, text

    @property
    def files(self) -> list[Path]:
        """The files of the store."""
        return [*self.directory.iterdir()]


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    return Starts(tmp_path)


def test_the_second_start_uses_what_the_first_has_stored(starts: Starts) -> None:
    first, text = starts.run()
    second, same_text = starts.run()

    assert (first, second) == (PLAIN, STORED)
    described, _, compiled = text.strip().partition("\n")
    same_described, _, compiled_again = same_text.strip().partition("\n")
    assert described == same_described == "('Example(number=1)', 'abb', 'xx')"
    assert all(int(count) > 0 for count in compiled.split())
    # The pattern in a function is no constant of a program: it is never stored.
    assert compiled_again == "0 0"


def test_a_check_is_repeated_only_for_other_code(starts: Starts) -> None:
    starts.run()
    assert starts.was_checked

    starts.run()
    assert not starts.was_checked

    starts.write_module(2)
    starts.run()
    assert starts.was_checked


def test_a_changed_source_is_imported_from_the_source(starts: Starts) -> None:
    starts.run()
    starts.write_module(2)

    loader, text = starts.run()

    assert loader == PLAIN
    assert "Example(number=2)" in text
    assert text.endswith("\n0 0\n")  # all else is used as it was stored
    assert starts.run() == (STORED, text)


def empty(data: bytes) -> bytes:
    return data[:0]


def cut_in_the_index(data: bytes) -> bytes:
    return data[:1000]


def cut_in_the_code(data: bytes) -> bytes:
    return data[: len(data) // 2]


def change_the_index(data: bytes) -> bytes:
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


def test_a_damaged_file_makes_a_start_slower_but_not_broken(starts: Starts) -> None:
    starts.run()
    [file] = starts.files
    whole = file.read_bytes()

    for damage in (empty, cut_in_the_index, cut_in_the_code, change_the_index):
        file.write_bytes(damage(whole))
        with named_case(damage.__name__):
            _, text = starts.run()
            assert "Example(number=1)" in text


def test_a_file_that_others_may_write_is_not_used(starts: Starts) -> None:
    starts.run()
    [file] = starts.files
    file.chmod(0o666)

    assert starts.run()[0] == PLAIN


def test_nothing_is_stored_where_python_stores_no_bytecode(starts: Starts) -> None:
    starts.run("-B")

    assert not starts.files


def test_files_of_former_environments_are_removed(starts: Starts) -> None:
    for number in range(5):
        (starts.directory / f"first-turn-{number}.code").write_bytes(b"")

    starts.run()

    assert len(starts.files) == 3
    assert max(file.stat().st_size for file in starts.files) > 0


def test_a_closed_store_leaves_the_standard_library_as_it_was(tmp_path: Path) -> None:
    def state() -> object:
        modules = (sys.modules[name] for name in ("collections", "dataclasses"))
        functions = [vars(module).get(name) for module in modules for name in ("exec", "eval")]
        return functions, sys.meta_path, vars(sys.modules["re._compiler"])["compile"]

    before = state()
    store = CodeStore(str(tmp_path))

    store.open()
    used = state()
    pattern = re.compile("ab(c|d)+ within a test")
    store.close()

    assert used != before
    assert pattern.match("abcd within a test")
    assert state() == before


DOCUMENTED = """
"Docstring of the module."

def documented():
    "Docstring of a function."
    return documented.__doc__

def used_twice():
    "same"
    return used_twice.__doc__, "same"

def undocumented():
    return undocumented.__doc__, "text"

class Example:
    "Docstring of a class."
    def method(self):
        "Docstring of a method."
        return [f"{each} text" for each in "ab"], (lambda: "text")()

results = documented(), used_twice(), undocumented(), Example().method()
docstrings = __doc__, Example.__doc__, Example.method.__doc__
"""


def test_stored_functions_have_no_docstrings_and_all_their_other_constants() -> None:
    compiled = marshal.dumps(compile(DOCUMENTED, "", "exec"))
    code: object = marshal.loads(without_docstrings(compiled))  # noqa: S302
    assert isinstance(code, CodeType)
    names = dict[str, object]()

    exec(code, names)  # noqa: S102

    methods = (["a text", "b text"], "text")
    assert names["results"] == (None, ("same", "same"), (None, "text"), methods)
    assert names["docstrings"] == ("Docstring of the module.", "Docstring of a class.", None)


def test_what_cannot_be_stored_harms_nobody(tmp_path: Path) -> None:
    store = CodeStore(str(tmp_path))
    store.open()
    store.is_complete = True
    store.passed = cast("set[str]", {object()})

    write_code_store(store)

    assert [*tmp_path.iterdir()] == []
    assert store not in sys.meta_path


def test_a_ready_server_stores_its_code_for_the_next(tmp_path: Path) -> None:
    home, directory = tmp_path / "home", tmp_path / "store"
    home.mkdir()
    directory.mkdir()
    command = [sys.executable, "-c", SERVER.format(directory=str(directory)), "serve"]
    written = list[int]()
    for _ in range(2):
        with start_server(
            home, command=[*command, "--model", "scripted:demo"], new_interpreter=True
        ) as server:
            server.initialize()
            session = server.new_session(str(tmp_path))
            wait_for_file(directory)
            answer = server.prompt(session)
        assert json_at(answer, "result", "stopReason") == "end_turn"
        written += [file.stat().st_ino for file in directory.iterdir()]

    assert len(written) == 2
    assert written[0] == written[1]


def wait_for_file(directory: Path) -> None:
    """Wait until a directory has a file: a server tells nobody that it has written one."""
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while not any(directory.glob("*.code")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
