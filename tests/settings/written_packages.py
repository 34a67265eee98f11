"""Packages that a test writes, imports and forgets."""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def written_package(name: str, files: Mapping[str, str], folder: Path) -> Generator[str]:
    """Write a package where it is found, and forget it afterwards."""
    for file, text in files.items():
        path = folder / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        yield name
    for each in imported_of(name):
        del sys.modules[each]


def imported_of(name: str) -> set[str]:
    """The package, and what is in it, as far as they are imported."""
    return {each for each in sys.modules if each.partition(".")[0] == name}
