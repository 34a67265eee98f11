"""The packed VS Code extension in VS Code itself: code-server in Chromium, driven as by a user.

`editors/vscode/e2e/install.sh` puts there what this needs; without it these tests are skipped.
They run with `-m full` alone: a window of VS Code takes as long as a thousand other tests.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.editors.script_responder import make_script_responder
from tests.editors.test_vscode import EXTENSION, install, npm_program, run
from tests.support.messages_api import KEY, messages_api_in_thread

SCRIPT = EXTENSION / "e2e" / "work.script"
MOST_PACKED_BYTES = 2_500_000
"""A million are the renderers of diagrams, which the view loads at first use."""
SHORT = "installed|diff grows|Escape|several questions|end of the list"
"""Stations of the journey and of the view that `.ci/run` takes each time, in one window."""
SHORT_SCENES = "^(welcome|conversation|changes|form|sessions|menu|five-files)$"


@pytest.fixture(scope="module")
def browser() -> dict[str, str]:
    """What a test of the view alone needs: a browser and Node."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("there is no Chromium: editors/vscode/e2e/install.sh puts it there")
    install(npm_program())
    return {"CHROMIUM": chromium, "NODE": shutil.which("node") or "node"}


@pytest.fixture(scope="module")
def variables(
    browser: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What the journey needs besides: VS Code, the packed extension and the server."""
    npm = npm_program()
    if run([browser["NODE"], "e2e/installed.mjs"]).returncode != 0:
        pytest.skip("there is no code-server: editors/vscode/e2e/install.sh puts it there")
    vsix = tmp_path_factory.mktemp("packed") / "acp-server.vsix"
    packed = run([npm, "run", "package", "--", "--out", str(vsix)])
    assert packed.returncode == 0, packed.stdout + packed.stderr
    assert vsix.stat().st_size < MOST_PACKED_BYTES
    server = Path(sys.executable).with_name("acp-server")
    return {**browser, "VSIX": str(vsix), "ACP_SERVER": str(server)}


@pytest.mark.full
def test_the_view_is_readable_in_a_light_theme(browser: Mapping[str, str]) -> None:
    run_journey({**browser, "LOOKS": "^light 400", "SCENES": SHORT_SCENES}, "contrast")


@pytest.mark.full
def test_the_view_is_readable_in_every_theme_at_every_width(browser: Mapping[str, str]) -> None:
    run_journey(browser, "contrast")


@pytest.mark.full
def test_a_prompt_an_edit_by_a_key_escape_questions_and_the_list_of_commands_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey({**variables, "STATIONS": SHORT}, "short")


@pytest.mark.full
def test_long_sessions_questions_and_mentions_are_shown_as_they_should_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "view")


@pytest.mark.full
def test_changes_are_accepted_rejected_and_partly_kept_by_the_keyboard_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "review")


@pytest.mark.full
def test_the_first_run_installs_the_server_and_stores_a_key_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "firstRun")


@pytest.mark.full
def test_symbols_come_from_the_language_features_of_vs_code(variables: Mapping[str, str]) -> None:
    run_journey(variables, "symbols")


@pytest.mark.full
def test_the_chat_is_in_tabs_and_actions_are_where_people_work_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "places")


@pytest.mark.full
def test_what_the_agent_works_with_is_shown_and_changed_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "agent")


@pytest.mark.full
def test_the_sessions_of_all_folders_of_a_workspace_are_listed_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "folders")


@pytest.mark.full
def test_a_day_in_vs_code_from_the_first_run_to_going_back(variables: Mapping[str, str]) -> None:
    run_journey(variables, "journeys/day")


@pytest.mark.full
def test_nothing_starts_before_the_user_trusts_the_folder_in_vs_code(
    variables: Mapping[str, str],
) -> None:
    run_journey(variables, "trust")


@pytest.mark.full
def test_the_full_user_journey_works_with_the_scripted_model(variables: Mapping[str, str]) -> None:
    run_journey(variables)


@pytest.mark.full
@pytest.mark.parametrize(
    "model",
    [
        pytest.param("claude-sonnet-5-5", id="thinking is bound to what it stands behind"),
        pytest.param("claude-sonnet-4-5", id="thinking by a budget"),
    ],
)
def test_the_full_user_journey_works_with_the_strict_messages_api(
    variables: Mapping[str, str], model: str
) -> None:
    play = make_script_responder(SCRIPT.read_text(encoding="utf-8"))
    with messages_api_in_thread(play) as api:
        endpoint = {"MESSAGES_API": api.url, "MESSAGES_API_KEY": KEY, "MODEL": model}
        run_journey({**variables, **endpoint})
        refused = [each.message for each in api.model_requests if each.verdict != "answered"]
    assert refused == []


def run_journey(variables: Mapping[str, str], journey: str = "journey") -> None:
    assignments = [f"{name}={value}" for name, value in variables.items()]
    ran = run(["env", *assignments, variables["NODE"], "--test", f"e2e/{journey}.test.mjs"])
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
