"""One package imports the SDK, under the lock of `acp_server.models.anthropic.packages`."""

from collections.abc import Sequence

from tests.architecture.source_tree import SourceFile, imported_modules, source_files

SDK_USERS = "acp_server/models/anthropic/"
ENTRANCE = "acp_server.models.anthropic.packages"
ENTERED_BY = "acp_server/models/lazy_imports.py"


def files_that_import(package: str) -> Sequence[SourceFile]:
    return [
        file
        for file in source_files()
        if any(f"{name}.".startswith(f"{package}.") for name in imported_modules(file))
    ]


def test_one_package_imports_the_sdk() -> None:
    users = files_that_import("anthropic")
    assert users
    assert {file.name.rpartition("/")[0] + "/" for file in users} == {SDK_USERS}


def test_that_package_is_entered_through_its_lock() -> None:
    entries = {
        (file.name, name)
        for file in files_that_import("acp_server.models.anthropic")
        if not file.name.startswith(SDK_USERS)
        for name in imported_modules(file)
        if name.startswith("acp_server.models.anthropic")
    }
    assert entries == {(ENTERED_BY, ENTRANCE)}
