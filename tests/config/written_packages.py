"""Temporary packages that a test writes, imports and unloads."""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def temporary_package(name: str, files: Mapping[str, str], folder: Path) -> Generator[str]:
    """Write an importable package; unload it when the context exits."""
    for file, text in files.items():
        path = folder / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        yield name
    for each in imported_modules(name):
        del sys.modules[each]


def imported_modules(name: str) -> set[str]:
    """Return the names of the package and its submodules that are imported."""
    return {each for each in sys.modules if each.partition(".")[0] == name}
