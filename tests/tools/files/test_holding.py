"""One file is used by one task at a time, in the order of the calls; different files at once."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint

from acp_server.session.ports.editor import EditorPort
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.files.file_services import ALL_EDITORS, create_service, name_of


@pytest.mark.parametrize("count", [15, pytest.param(200, marks=pytest.mark.full)])
@pytest.mark.parametrize("make", ALL_EDITORS, ids=name_of)
async def test_many_concurrent_edits_of_one_file_all_apply(
    tmp_path: Path, make: Callable[[], EditorPort], count: int
) -> None:
    setup = create_service(tmp_path, make())
    setup.write_file("a.txt", "".join(f"<{number}>\r\n" for number in range(count)))
    (setup.root / "link").symlink_to("a.txt")
    with fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(setup.edit, "a.txt", f"<{number}>", f"[{number}]")
    assert await setup.text("a.txt") == "".join(f"[{number}]\n" for number in range(count))


async def test_edits_through_different_names_of_one_file_all_apply(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    setup.write_file("sub/a.txt", "1 2 3 4\n")
    (setup.root / "link").symlink_to("sub/a.txt")
    (setup.root / "near").symlink_to("sub")
    names = ["sub/a.txt", "link", "near/a.txt", "sub/../link"]
    with fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for number, name in enumerate(names, start=1):
                tasks.start_soon(setup.edit, name, str(number), f"<{number}>")
    assert await setup.text("link") == "<1> <2> <3> <4>\n"


async def test_files_are_locked_in_call_order(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    order: list[str] = []

    async def hold(name: str, *names: str) -> None:
        async with setup.files.lock(setup.root / each for each in names):
            order.append(f"{name} in")
            await checkpoint()
            order.append(f"{name} out")

    with fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, "first", "a", "b")
            tasks.start_soon(hold, "second", "b", "a")
            tasks.start_soon(hold, "third", "b", "b", "B")
    assert order == [
        "first in",
        "first out",
        "second in",
        "second out",
        "third in",
        "third out",
    ]


async def test_different_files_are_locked_concurrently(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    with fail_after(HANG_TIMEOUT_SECONDS):
        async with setup.files.lock([setup.root / "a"]), setup.files.lock([setup.root / "b"]):
            pass


async def test_crossing_links_do_not_deadlock(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    for name in ("x", "y"):
        setup.write_file(name, "")
        (setup.root / f"to {name}").symlink_to(name)
    left: list[str] = []

    async def hold(*names: str) -> None:
        async with setup.files.lock(setup.root / name for name in names):
            await checkpoint()
            left.append(" ".join(names))

    with fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(hold, "x", "to y")
                tasks.start_soon(hold, "to x", "y")
                tasks.start_soon(hold, "y", "x")
    assert len(left) == 60


async def test_a_link_is_resolved_again_once_its_lock_is_held(tmp_path: Path) -> None:
    """Who held it before may have turned it elsewhere."""
    setup = create_service(tmp_path)
    link, other = setup.root / "link", setup.write_file("other", "")
    link.symlink_to(setup.write_file("first", ""))
    left: list[str] = []

    async def hold() -> None:
        async with setup.files.lock([link]):
            left.append("link")

    async def give_time() -> None:
        for _ in range(20):
            await setup.files.resolve("first")

    with fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks, setup.files.lock([other]):
            async with setup.files.lock([link]):
                tasks.start_soon(hold)
                await give_time()
                link.unlink()
                link.symlink_to(other)
            await give_time()
            left.append("other")
    assert left == ["other", "link"]


async def test_a_cancelled_waiter_does_not_block_others(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    path = setup.root / "a"

    async def hold() -> None:
        async with setup.files.lock([path]):
            raise AssertionError("it was not its turn")

    with fail_after(HANG_TIMEOUT_SECONDS):
        async with setup.files.lock([path]), anyio.create_task_group() as tasks:
            tasks.start_soon(hold)
            await checkpoint()
            tasks.cancel_scope.cancel()
        async with setup.files.lock([path]):
            pass
