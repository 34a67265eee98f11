import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path

# Bytecode is kept, also by workers and other processes: to compile everything takes 10 s in each.
# This is set before anything large is imported.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # noqa: TID251  for child processes

# No test connects to the world, and to read the authorities takes 20 ms for each client: they are
# looked for where none are.
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent / "support" / "no_authorities")  # noqa: TID251
os.environ.pop("SSL_CERT_FILE", None)  # noqa: TID251

import keyring  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from keyring.backends import null  # noqa: E402
from xdist.remote import Producer  # noqa: E402  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import (  # noqa: E402  # pyright: ignore[reportMissingTypeStubs]
    LoadFileScheduling,
)

# A few examples by default, always the same; `--hypothesis-profile seeking` searches for new ones.
settings.register_profile(
    "house",
    deadline=None,
    print_blob=True,
    derandomize=True,
    max_examples=40,
    # how long it takes to make an example says how busy the machine is
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("seeking", deadline=None, print_blob=True, max_examples=1_000)
settings.load_profile("house")
FIND_CONSTANTS = "_get_local_constants"


def ignore_constants_of_sources() -> None:
    """Let Hypothesis draw nothing from the sources of all imported modules, unless it seeks.

    Examples would depend on the tests that ran before, and to parse all sources takes seconds in
    each worker. A version of Hypothesis that finds them in another way keeps doing so.
    """
    try:
        from hypothesis.internal.conjecture import providers  # noqa: PLC0415  private
        from hypothesis.internal.constants_ast import Constants  # noqa: PLC0415  private

        find_constants: Callable[[], Constants] = getattr(providers, FIND_CONSTANTS)
    except (ImportError, AttributeError):
        return

    def find_if_seeking() -> Constants:
        is_seeking = settings.get_current_profile_name() == "seeking"
        return find_constants() if is_seeking else Constants()

    setattr(providers, FIND_CONSTANTS, find_if_seeking)


ignore_constants_of_sources()

keyring.set_keyring(null.Keyring())  # no test may read the user's keyring

# Ten thousand collected tests live until the end: looking for garbage among them, again and again,
# took a seventh of the processor time.
gc.set_threshold(200_000, 100, 100)
GC_THRESHOLDS = (10_000, 20, 10)
"""While tests run: less often than usual, as a parsed source is a hundred thousand objects."""

DIRECTORY_NUMBERS = count(1)

SHARING_AREAS = ("tests/architecture/",)
"""Directories whose files share parsed sources."""
TESTS = Path(__file__).parent
SLOW_FILES = (
    "editors/test_vscode.py",
    "smoke/test_acpx.py",
    "startup/test_hostile_workspace.py",
    "fleet/test_engines.py",
    "startup/test_changed_dependencies.py",
    "smoke/test_typescript_work.py",
    "journeys/test_morning.py",
    "journeys/test_long_day.py",
    "benchmarks/test_caching.py",
    "cli/test_demo.py",
)
"""Files that take longest, which begin first: what begins last should be short."""


MEMORY = Path("/dev/shm")  # noqa: S108  a directory of the test's own is made in it
MEMORY_AREAS = (
    *("checkpoints", "faults", "handlers", "history", "learning", "memory", "prompting"),
    *("sessions", "skills", "skills_store"),
)
"""Areas whose tests get directories in memory, where a disk would take most of their time. Commands
in a sandbox see no such directory."""
FREE_MEMORY_BYTES = 2 << 30
"""A container may have 64 MiB there, which the tests of some areas would fill."""
KEPT_RUNS = 3
"""Number of test runs whose directories stay."""


class AreaScheduling(LoadFileScheduling):
    """Each file runs on one worker, and so do all files that share what takes long to build."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((area for area in SHARING_AREAS if file.startswith(area)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> AreaScheduling:
    return AreaScheduling(config, log)


def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than processors: some tests wait, for a time-out or a process."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first; the others keep their order."""
    ranks = {TESTS / name: rank for rank, name in enumerate(SLOW_FILES)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


def pytest_collection_finish() -> None:
    """Leave the collected tests out of every later search for garbage."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def pytest_configure(config: pytest.Config) -> None:
    # jsonrpcserver reads its own schema with the deprecated API at import time
    config.addinivalue_line(
        "filterwarnings", "ignore:(open|read)_text is deprecated:DeprecationWarning"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Have another process remove the directories of earlier runs.

    Pytest would do it now, while no test runs: files of 200,000 names take it 20 s.
    """
    factory: object = getattr(session.config, "_tmp_path_factory", None)
    nice, remove = shutil.which("nice"), shutil.which("rm")
    if hasattr(session.config, "workerinput") or not (nice and remove):
        return
    if not isinstance(factory, pytest.TempPathFactory):  # a later version of pytest
        return
    ours = factory.getbasetemp()
    number = re.fullmatch(r"pytest-(\d+)", ours.name)
    if number is None or not ours.parent.name.startswith("pytest-of-"):  # given with an option
        return
    old: list[Path] = []
    for each in ours.parent.iterdir():
        found = re.fullmatch(r"pytest-(\d+)", each.name)
        is_old = found is not None and int(found[1]) <= int(number[1]) - KEPT_RUNS
        if is_old and not (each / ".lock").exists():  # else it runs, or was killed
            old.append(each.rename(each.with_name(f"removed-{each.name}-{os.getpid()}")))
    yesterday = time.time() - 24 * 3600
    old += [each for each in MEMORY.glob("pytest-*") if each.stat().st_mtime < yesterday]
    if old:
        subprocess.Popen(
            [nice, "-n", "19", remove, "-rf", "--", *map(str, old)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@pytest.fixture(scope="session")
def memory_directory(request: pytest.FixtureRequest) -> Generator[Path | None]:
    """Return a directory in memory, which stays if a test fails; None where there is no room."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < FREE_MEMORY_BYTES:
        yield None
        return
    directory = Path(tempfile.mkdtemp(prefix="pytest-", dir=MEMORY))
    yield directory
    if not request.session.testsfailed:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    memory_directory: Path | None,
) -> Path:
    """Return a new directory.

    The fixture of pytest looks through the directories of all earlier tests for a free number, and
    links to the last one: 14 s of processor time in a whole run.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    name = f"{name}-{next(DIRECTORY_NUMBERS)}"
    if memory_directory is None or request.path.relative_to(TESTS).parts[0] not in MEMORY_AREAS:
        return tmp_path_factory.mktemp(name, numbered=False)
    directory = memory_directory / name
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
