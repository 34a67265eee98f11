"""Versions are found without `importlib.metadata`, which is there for everything else."""

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

from acp_server.startup.quick_metadata import quick_versions
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

REAL = sys.modules["importlib.metadata"]
NAME = "importlib.metadata"
PROGRAM = """
import sys
from acp_server.startup.quick_metadata import quick_versions

assert "importlib.metadata" not in sys.modules
with quick_versions():
    from importlib.metadata import version
    assert version("httpx2")
    from importlib import metadata
    assert metadata.version("pydantic")
assert "importlib.metadata" not in sys.modules, "the real one was imported, or the stand-in stays"
from importlib.metadata import entry_points
assert "importlib.metadata._adapters" in sys.modules
"""


@pytest.fixture
def without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, NAME)


@pytest.mark.usefixtures("without_metadata")
def test_a_version_is_that_of_the_metadata() -> None:
    with quick_versions():
        from importlib.metadata import version  # noqa: PLC0415

        assert sys.modules[NAME] is not REAL
        found = {name: version(name) for name in ("httpx2", "anthropic", "pydantic")}
    assert found == {name: importlib.metadata.version(name) for name in found}


@pytest.mark.usefixtures("without_metadata")
def test_any_other_name_is_that_of_the_real_module() -> None:
    with quick_versions():
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        with pytest.raises(PackageNotFoundError):
            version("no-such-package")
        assert sys.modules[NAME].__spec__ is not None

    with quick_versions():
        assert importlib.import_module("importlib.metadata._text").FoldedCase("A") == "a"


def test_the_real_module_is_imported_only_for_more_than_a_version() -> None:
    command = (sys.executable, "-c", PROGRAM)
    subprocess.run(command, check=True, timeout=HANG_TIMEOUT_SECONDS)
