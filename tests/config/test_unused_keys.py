"""Keys of a Hermes configuration: the same under its names, and told where they have no effect."""

from pathlib import Path

from acp_server.config.checking import check_yaml
from acp_server.config.settings import Configuration, load

HOME = """\
model: gpt-5
display:
  busy_input_mode: queue
  skin: ares
hooks:
  pre_llm_call:
    - command: x
tts: {provider: edge}
terminal: {backend: docker, cwd: ., container_env: {}}
security:
  redact_secrets: true
  website_blocklist: {enabled: true}
"""


def load_home(home: Path, text: str) -> Configuration:
    (home / "config.yaml").write_text(text)
    return load({}, {"HERMES_HOME": str(home)})


def test_names_of_hermes_mean_the_same(tmp_path: Path) -> None:
    text = (
        "compression: {threshold: 0.5}\nagent: {max_turns: 7, coding_instructions: [A, ' B ']}\n"
        "display: {busy_input_mode: queue}\nfallback_providers: [{provider: openai, model: m}]\n"
    )
    configuration = load_home(tmp_path, text)
    current = configuration.settings
    assert current.compaction_threshold == 0.5
    assert current.max_turn_requests == 7
    assert current.busy_input_mode == "queue"
    assert current.prompt.additional_text == "A\nB"
    assert current.fallback_providers == ("openai:m",)
    assert configuration.unused_keys == ()
    assert check_yaml(text) == []


def test_keys_without_effect_are_named_with_safety_rules_first(tmp_path: Path) -> None:
    found = load_home(tmp_path, HOME).unused_keys
    assert [(each.key, each.is_safety_rule) for each in found] == [
        ("hooks.pre_llm_call", True),
        ("terminal.backend", True),
        ("security.website_blocklist.enabled", True),
        ("display.skin", False),
        ("tts", False),
    ]
    problems = check_yaml(HOME, is_shared=True)
    assert [(each.line, each.key) for each in problems] == [
        (7, "hooks.pre_llm_call"),
        (9, "terminal.backend"),
        (12, "security.website_blocklist.enabled"),
        (4, "display.skin"),
        (8, "tts"),
    ]
    assert all(each.is_notice for each in problems)


def test_the_date_is_that_of_the_time_zone(tmp_path: Path) -> None:
    # The two zones are 26 hours apart: they never have the same date.
    dates = [
        load_home(tmp_path, f"timezone: {zone}\n").settings.prompt.today()
        for zone in ("Pacific/Kiritimati", "Etc/GMT+12")
    ]
    assert (dates[0] - dates[1]).days in {1, 2}
    (problem,) = load_home(tmp_path, "timezone: Mars\n").problems
    assert "timezone: is not a time zone" in problem
