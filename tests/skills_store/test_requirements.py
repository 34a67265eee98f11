"""What a skill needs besides its text: settings, credential files, variables, tools of Hermes."""

from pathlib import Path

from skills_store.document import parse_document
from skills_store.hermes_fields import DeclaredVariable, declared_variables
from skills_store.hermes_tools import MISSING, describe_tools
from skills_store.json_file import Json
from skills_store.requirements import NeedsContext, SkillNeeds, find_needs
from skills_store.skill import Frontmatter
from tests.skills_store.skill_files import skill_text, write_file

FIELDS = """\
required_environment_variables:
  - name: WIKI_TOKEN
    help: Create one at https://wiki.example.com/tokens
  - name: WIKI_COLOR
    optional: true
  - OTHER_KEY
prerequisites:
  env_vars: [LEGACY_KEY]
setup:
  help: Ask the wiki's owner.
  collect_secrets:
    - env_var: WIKI_PIN
      provider_url: https://wiki.example.com/pin
required_credential_files:
  - google_token.json
  - path: secrets/wiki.json
  - ../outside.json
metadata:
  hermes:
    config:
      - key: wiki.path
        description: Directory of the wiki
        default: "/srv/wiki"
      - key: wiki.user
        description: Your name there"""


def frontmatter() -> Frontmatter:
    return parse_document(skill_text("wiki", fields=FIELDS)).frontmatter


def needs(
    settings: dict[str, Json] | None = None, home: Path | None = None, missing: tuple[str, ...] = ()
) -> SkillNeeds:
    return find_needs(frontmatter(), "", missing, NeedsContext(home, settings or {}))


def test_all_declared_variables_are_found_with_their_help() -> None:
    assert declared_variables(frontmatter()) == (
        DeclaredVariable("WIKI_TOKEN", "Create one at https://wiki.example.com/tokens"),
        DeclaredVariable("WIKI_COLOR", "Ask the wiki's owner.", is_optional=True),
        DeclaredVariable("OTHER_KEY", "Ask the wiki's owner."),
        DeclaredVariable("WIKI_PIN", "https://wiki.example.com/pin"),
        DeclaredVariable("LEGACY_KEY", "Ask the wiki's owner."),
    )


def test_settings_come_from_the_users_configuration_then_from_the_skill() -> None:
    found = needs()
    assert found.settings == {"wiki.path": "/srv/wiki"}
    assert found.unset_settings == ("wiki.user: Your name there",)
    assert found.setup_help == "Ask the wiki's owner."
    found = needs({"wiki": {"path": "~/wiki", "user": "ada"}})
    assert found.settings == {"wiki.path": str(Path("~/wiki").expanduser()), "wiki.user": "ada"}
    assert (found.unset_settings, found.setup_help) == ((), "")
    assert needs({"wiki.user": "ada"}).settings["wiki.user"] == "ada"


def test_credential_files_are_named_if_they_are_in_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_file(home / "google_token.json")
    write_file(tmp_path / "outside.json")
    found = needs(home=home)
    assert found.credential_files == (str((home / "google_token.json").resolve()),)
    assert found.missing_credential_files == ("secrets/wiki.json", "../outside.json")
    (home / "secrets").mkdir()
    (home / "secrets" / "wiki.json").symlink_to(tmp_path / "outside.json")
    assert "secrets/wiki.json" in needs(home=home).missing_credential_files


def test_help_is_given_for_missing_variables_only() -> None:
    found = needs({"wiki.user": "ada"}, missing=("WIKI_TOKEN",))
    assert found.variable_help == {"WIKI_TOKEN": "Create one at https://wiki.example.com/tokens"}
    assert found.setup_help == "Ask the wiki's owner."


def test_tools_of_hermes_are_mapped_or_marked() -> None:
    text = "Call `web_extract`(url), then browser_navigate, and show it by `vision_analyze`."
    tools = frozenset({"web_fetch", "read_file", "image_generate"})
    assert describe_tools(text, ["execute_code", "image_generate"], tools) == {
        "browser_navigate": MISSING,
        "execute_code": MISSING,
        "vision_analyze": "use read_file",
        "web_extract": "use web_fetch",
    }
    assert describe_tools("Read it with read_file and ha_ha.", [], tools) == {"ha_ha": MISSING}
    assert describe_tools("Nothing of the kind: spotify, browser.", [], tools) == {}
