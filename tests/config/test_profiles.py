"""Profiles of a home directory: which one is used, and what is said if there is none."""

from pathlib import Path

from acp_server.cli.doctor_checks import check_profiles
from acp_server.config.profiles import ChosenHome, choose_home, list_profiles
from acp_server.config.settings import load
from tests.support.case_table import each_case


def make_home(folder: Path) -> Path:
    home = folder / "home"
    for name in ("work", "play", "Not A Profile"):
        (home / "profiles" / name).mkdir(parents=True, exist_ok=True)
    (home / "profiles" / "work" / "config.yaml").write_text("model: of-work\n")
    return home


CASES: dict[str, tuple[str, str, str, str]] = {
    "nothing is chosen": ("", "", "", "."),
    "the file of Hermes": ("", "work\n", "", "profiles/work"),
    "the file names the home itself": ("", "default\n", "", "."),
    "the variable wins": ("", "work\n", "play", "profiles/play"),
    "the variable leads back": ("", "work\n", "default", "."),
    "HERMES_HOME is a profile": ("profiles/play", "work\n", "", "profiles/play"),
    "another profile than HERMES_HOME": ("profiles/play", "", "work", "profiles/work"),
}


@each_case("name", CASES)
def test_a_home_or_a_profile_of_it_is_used(tmp_path: Path, name: str) -> None:
    home = make_home(tmp_path)
    below, active, variable, expected = CASES[name]
    (home / "active_profile").write_text(active)
    chosen = choose_home({"HERMES_HOME": str(home / below), "ACP_SERVER_PROFILE": variable})
    assert chosen.path == home / expected
    assert chosen.root == home
    assert not chosen.problem


@each_case("written", ["gone", "../evil", "A b", "x" * 5_000])
def test_a_profile_that_is_missing_is_reported(tmp_path: Path, written: str) -> None:
    home = make_home(tmp_path)
    (home / "active_profile").write_text(written)
    configuration = load({}, {"HERMES_HOME": str(home)})
    assert configuration.home == home
    (problem,) = configuration.problems
    assert "there is no profile" in problem
    assert "default, play, work" in problem


def test_settings_are_those_of_the_profile(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    variables = {"HERMES_HOME": str(home), "ACP_SERVER_PROFILE": "work"}
    assert load({}, variables).settings.model == "of-work"


def test_the_profiles_are_listed(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    assert list_profiles(home) == ("default", "play", "work")
    found = check_profiles(home / "profiles" / "work")
    assert found is not None
    assert found.fact == "default, play, work (in use)"
    assert check_profiles(tmp_path / "other") is None
    assert ChosenHome(home / "profiles" / "work").root == home
