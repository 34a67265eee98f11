"""Digests of a run: the same in another clone, and different by what has changed."""

from pathlib import Path
from typing import cast

import pytest

from tests.headless.run.pipeline import MODEL, Object, make_chat_step, make_step
from tests.support.messages_api import messages_api_in_thread
from tests.support.openai_api import openai_api_in_thread


def test_digests_name_what_has_changed_and_no_machine(tmp_path: Path) -> None:
    results: list[Object] = []
    with messages_api_in_thread(["Done."] * 3) as api:
        for name in ("here", "there", "instructed"):
            (tmp_path / name).mkdir()
            step = make_step(tmp_path / name, api)
            step.prepare()
            options = ("--max-turns", "5")
            if name == "instructed":
                (step.workspace / "AGENTS.md").write_text("Be brief.\n")
            _, result = step.result("Look", *options)
            results.append(result)
    here, there, instructed = (cast("dict[str, str]", each["digests"]) for each in results)
    assert here == there
    assert here.keys() == {"prompt", "tools", "settings"}
    assert {name for name in here if here[name] != instructed[name]} == {"prompt"}
    assert all(len(each) == 64 for each in here.values())
    assert results[0]["answered_by"] == MODEL
    assert results[0]["server"]


def test_a_run_without_a_request_has_no_digest_of_one(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        _, result = make_step(tmp_path, api).result("/skill:none Look")
    assert cast("dict[str, str]", result["digests"]).keys() == {"settings"}
    assert result["answered_by"] is None


@pytest.mark.full
def test_the_model_that_answered_is_named_by_other_endpoints_too(tmp_path: Path) -> None:
    with openai_api_in_thread(["Done."]) as api:
        _, result = make_chat_step(tmp_path, api).result("Look")
    assert result["answered_by"]
