"""Nothing writes, runs or connects around the gate: every place that could stands in a table."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict, cast, get_args

import pytest

from acp_server.permissions.effects import Effect
from tests.architecture.effect_sites import sites_in, sites_in_files
from tests.architecture.source_tree import source_files
from tests.support.case_table import each_case

TABLE = Path(__file__).with_name("effects.toml")


class Reason(TypedDict):
    """Why some places may have an effect."""

    why: str
    sites: Sequence[str]


@cache
def reasons() -> Mapping[str, Reason]:
    """Return the table: the places, by why they may."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    asked = {f"gate.{name}": reason for name, reason in table.pop("gate").items()}
    return cast("Mapping[str, Reason]", table | asked)


@cache
def found() -> frozenset[str]:
    return frozenset(sites_in_files(source_files()))


def test_every_effect_site_states_its_justification() -> None:
    known = {site for reason in reasons().values() for site in reason["sites"]}
    new = sorted(found() - known)
    assert new == [], (
        f"these places write, run, end or connect, and nothing says why they may: {new}. Ask the "
        f"session's gate first, or use what already does; then enter them in {TABLE.name}, under "
        "the effect that the gate is asked about, or under another reason that is true"
    )


def test_the_effect_table_lists_only_existing_sites() -> None:
    known = {site for reason in reasons().values() for site in reason["sites"]}
    gone = sorted(known - found())
    assert gone == [], f"these places are no more: take them out of {TABLE.name}: {gone}"


def test_each_effect_site_has_one_reason_and_the_table_is_sorted() -> None:
    listed = [list(reason["sites"]) for reason in reasons().values()]
    assert listed == [sorted(set(sites)) for sites in listed]
    together = [site for sites in listed for site in sites]
    assert len(together) == len(set(together))


def test_gated_sites_name_an_effect_known_to_the_gate() -> None:
    known = {f"gate.{effect.__name__}" for effect in get_args(Effect)}
    assert {name for name in reasons() if name.startswith("gate.")} < known


SOURCES: dict[str, tuple[str, str]] = {
    "a call": ("import os\nos.remove('a')", "(module): os.remove"),
    "under another name": ("import os as o\no.remove('a')", "(module): os.remove"),
    "a name of a module": ("from os import remove as r\nr('a')", "(module): os.remove"),
    "handed on": ("import shutil\nrun(shutil.rmtree, 'a')", "(module): shutil.rmtree"),
    "a method handed on": ("run(path.unlink)", "(module): *.unlink"),
    "a method of whoever": ("def f(p):\n    p.write_text('')", "f: *.write_text"),
    "in a class": ("class A:\n    def f(self):\n        p.touch()", "A.f: *.touch"),
    "opened to write": ("open('a', 'w')", "(module): open"),
    "opened to add": ("p.open('ab')", "(module): *.open"),
    "opened in a mode by name": ("p.open(mode='r+')", "(module): *.open"),
    "opened in a mode that nobody knows": ("open('a', mode)", "(module): open"),
    "a path that replaces another": ("a.replace(b)", "(module): *.replace"),
    "imported late": (
        "def f():\n    import subprocess\n    subprocess.run([])",
        "f: subprocess.run",
    ),
    "a process by the library": (
        "import anyio\nanyio.open_process([])",
        "(module): anyio.open_process",
    ),
    "a client": ("import httpx2\nhttpx2.AsyncClient()", "(module): httpx2.AsyncClient"),
    "a page": ("import urllib.request as u\nu.urlopen('')", "(module): urllib.request.urlopen"),
    "foreign code": ("import ctypes\nctypes.CDLL('')", "(module): ctypes.CDLL"),
    "code from a text": ("exec('')", "(module): exec"),
    "by a text": ("import os\ngetattr(os, 'remove')('a')", "(module): os.remove"),
    "by a text that nobody knows": ("import os\ngetattr(os, name)", "(module): getattr(os)"),
    "everything of a module": ("from os import *", "(module): from os import *"),
    "a door of ours": (
        "from skills_store.atomic import write_atomically as w\nw(p, b'')",
        "(module): skills_store.atomic.write_atomically",
    ),
}


@each_case(("source", "site"), SOURCES.values(), ids=SOURCES.keys())
def test_an_effect_site_is_detected_however_it_is_spelled(source: str, site: str) -> None:
    assert sites_in(source, "new") == {f"new:{site}"}


HARMLESS: dict[str, str] = {
    "opened to read": "open('a')\nopen('a', 'rb')\np.open()\np.open('r', encoding='x')",
    "a text that is replaced": "t.replace('a', 'b')",
    "facts that are replaced": "from dataclasses import replace\nreplace(a, b=1)",
    "what is only looked at": "import os\nos.stat('a')\nos.path.exists('a')\np.read_text()",
    "what only says of which type it is": "def f(p: 'x', q: subprocess.Popen) -> os.write: ...",
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS.keys())
def test_code_without_effects_is_not_reported(source: str) -> None:
    assert sites_in(source, "new") == set()
