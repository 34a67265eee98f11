"""An optimisation that fails leaves no trace but one warning, and the plain way's result."""

import logging
import os
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

from acp_server.config.settings import child_environment
from acp_server.startup import pydantic_plugins
from acp_server.startup.fallback import fast_or_plain
from acp_server.startup.lazy_import import make_lazy
from acp_server.startup.type_stubs_import import placeholder_imports
from tests.config.written_packages import temporary_package

NAME = "package_that_changes"
FILES = {
    "__init__.py": "IS_WHOLE = True\nfrom .part import value\n",
    "part.py": (
        "import sys\n"
        f"if not hasattr(sys.modules['{NAME}'], 'IS_WHOLE'):\n"
        "    raise ImportError('import the package first')\n"
        "value = 1\n"
    ),
    "other.py": "value = 2\n",
}


def test_imports_of_a_failed_attempt_are_undone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with temporary_package(NAME, FILES, tmp_path) as package:
        kept = import_module(package)

        def fail() -> None:
            delattr(kept, "part")
            del sys.modules[package], sys.modules[f"{package}.part"]
            make_lazy([package])
            import_module(f"{package}.other")
            raise TypeError("first line\nsecond line")

        result = fast_or_plain("a trick", fail, sys.modules.copy, packages=[package])

        assert result is not None
        assert result[package] is kept
        assert kept.part is result[f"{package}.part"]
        assert f"{package}.other" not in result
        assert not hasattr(kept, "other")
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "a trick" in caplog.text
    assert "TypeError: first line" in caplog.text
    assert "second line" not in caplog.text


def test_the_plain_way_is_not_taken_after_success(caplog: pytest.LogCaptureFixture) -> None:
    assert fast_or_plain("a trick", lambda: 1, lambda: 2) == 1
    assert caplog.records == []


def test_a_failure_of_the_plain_way_is_raised() -> None:
    def fail() -> None:
        raise ValueError("plain")

    with pytest.raises(ValueError, match="plain") as raised:
        fast_or_plain("a trick", lambda: 1 / 0, fail)
    assert raised.value.__context__ is None


def test_a_lazy_package_is_imported_whole_if_one_name_cannot_be_imported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with temporary_package(NAME, FILES, tmp_path) as package:
        make_lazy([package])
        entered = import_module(package)
        assert entered.value == 1
        assert entered.IS_WHOLE
    assert len(caplog.records) == 1


def test_other_threads_find_their_modules_while_placeholders_begin_and_end() -> None:
    """A thread that is going through the finders keeps the list that it began with."""
    before = sys.meta_path
    seen = list(before)
    with placeholder_imports("package_with_types"):
        during = sys.meta_path
        assert before == seen
        assert len(during) == len(seen) + 1
        kept = list(during)
    assert during == kept
    assert sys.meta_path == seen


def test_concurrent_imports_of_other_packages_are_not_affected(tmp_path: Path) -> None:
    """Real threads: one begins and ends placeholders while the other imports."""
    failures = list[str]()
    is_over = threading.Event()

    def replace_again_and_again() -> None:
        while not is_over.is_set():
            with placeholder_imports("package_with_types"):
                pass

    with temporary_package(NAME, {"__init__.py": "", "other.py": ""}, tmp_path) as package:
        thread = threading.Thread(target=replace_again_and_again)
        thread.start()
        try:
            for _ in range(300):
                sys.modules.pop(f"{package}.other", None)
                try:
                    import_module(f"{package}.other")
                except ImportError as error:
                    failures.append(str(error))
        finally:
            is_over.set()
            thread.join()
    assert failures == []


@pytest.mark.parametrize("before", [None, "one-plugin"])
def test_child_processes_do_not_get_a_variable_that_disables_plugins_here(
    monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    monkeypatch.delenv(pydantic_plugins.VARIABLE, raising=False)
    if before is not None:
        monkeypatch.setenv(pydantic_plugins.VARIABLE, before)
    monkeypatch.setattr(pydantic_plugins, "_replace_loader", lambda: 1 / 0)
    monkeypatch.setattr(pydantic_plugins, "replaced_variables", {})
    monkeypatch.setattr(
        "acp_server.config.settings.replaced_variables", pydantic_plugins.replaced_variables
    )
    pydantic_plugins.disable_plugins()
    assert os.environ[pydantic_plugins.VARIABLE] == "__all__"  # noqa: TID251  what is tested
    assert child_environment({}).get(pydantic_plugins.VARIABLE) == before
