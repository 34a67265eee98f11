"""The profile of the macOS sandbox, judged by a model of its rules: it was never run on macOS."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.tools.shell.confinement.limits import SandboxLimits
from acp_server.tools.shell.confinement.seatbelt import build_profile
from tests.tools.confinement.seatbelt_model import Profile

PATHS = tuple(
    Path("/", *parts) for depth in (1, 2, 3) for parts in product(("a", "b"), repeat=depth)
)
CANDIDATES = (*(each / "file" for each in PATHS), Path("/etc/passwd"))
some_paths = st.lists(st.sampled_from(PATHS), max_size=3, unique=True).map(tuple)


def _depth(path: Path, others: tuple[Path, ...]) -> int:
    """Return the length of the longest of these directories that contains a path; 0 if none."""
    return max((len(each.parts) for each in others if path.is_relative_to(each)), default=0)


def may_write(limits: SandboxLimits, path: Path) -> bool:
    """Return what the documentation of the limits says."""
    if _depth(path, (*limits.read_only, *limits.masked)):
        return False
    writable = _depth(path, limits.writable)
    return writable > 0 and writable >= _depth(path, limits.hidden)


def may_read(limits: SandboxLimits, path: Path) -> bool:
    """Return what the documentation of the limits says."""
    shown = _depth(path, (*limits.writable, *limits.opened))
    if _depth(path, limits.masked) or shown < _depth(path, limits.hidden):
        return False
    return limits.readable is None or shown > 0 or _depth(path, limits.readable) > 0


@given(
    st.builds(
        SandboxLimits,
        writable=some_paths,
        hidden=some_paths,
        opened=some_paths,
        read_only=some_paths,
        masked=some_paths,
        readable=st.one_of(st.none(), some_paths),
        has_network=st.booleans(),
    )
)
def test_the_profile_allows_what_the_limits_say(limits: SandboxLimits) -> None:
    profile = Profile.parse(build_profile(limits))
    for path in CANDIDATES:
        assert profile.allows("file-write-data", str(path)) == may_write(limits, path)
        assert profile.allows("file-read-data", str(path)) == may_read(limits, path)


@pytest.mark.parametrize(
    "name", ['a "b"', "a\\", 'a" (allow default) "', "a) (allow file-write*", "a\nb", "ä;b", "#a"]
)
def test_names_stay_texts(name: str) -> None:
    limits = SandboxLimits((Path("/w") / name,), (Path("/h") / name,))
    profile = Profile.parse(build_profile(limits))
    assert profile.allows("file-write-data", f"/w/{name}/x")
    assert not profile.allows("file-read-data", f"/h/{name}/x")
    assert not profile.allows("file-write-data", "/etc/passwd")
    assert not profile.allows("file-write-data", f"/w/{name}x")


def test_processes_and_the_network_outside_are_closed() -> None:
    profile = Profile.parse(build_profile(SandboxLimits((Path("/w"),), ())))
    for operation in ("signal", "process-info-pidinfo", "network-outbound", "network-bind"):
        assert not profile.allows(operation, "")
    for operation in ("appleevent-send", "lsopen"):
        assert not profile.allows(operation, "")
    assert profile.allows("process-exec", "/bin/ls")
    assert profile.allows("file-write-data", "/dev/null")
    assert not profile.allows("file-write-data", "/dev/disk0")


def test_a_directory_above_a_protected_one_cannot_be_moved() -> None:
    limits = SandboxLimits((Path("/w"),), (), read_only=(Path("/w/own/lib"),))
    profile = Profile.parse(build_profile(limits))
    assert not profile.allows("file-write-unlink", "/w/own")
    assert profile.allows("file-write-unlink", "/w/other")
