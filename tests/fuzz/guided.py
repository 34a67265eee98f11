"""The same targets, led by what an input reaches: atheris, which is installed for this alone."""

import importlib
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from tests.fuzz.corpus import CORPUS
from tests.fuzz.mutation import MOST_BYTES
from tests.fuzz.targets import TARGETS


class Atheris(Protocol):
    """What is used of the library."""

    def instrument_all(self) -> None: ...

    def Setup(self, argv: Sequence[str], target: Callable[[bytes], None]) -> object: ...  # noqa: N802

    def Fuzz(self) -> None: ...  # noqa: N802


def fuzz_guided(name: str, seconds: float) -> None:
    """Try inputs for a time. What fails is kept, and ends the process."""
    atheris = cast("Atheris", importlib.import_module("atheris"))
    atheris.instrument_all()
    folder = CORPUS.parent / ".reached" / name
    folder.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds:.0f}", f"-max_len={MOST_BYTES}", "-timeout=10"]
    kept = f"-artifact_prefix={CORPUS / name}/found-"
    atheris.Setup(["fuzz", *options, kept, str(folder), str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()
