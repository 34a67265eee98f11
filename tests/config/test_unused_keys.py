"""Keys of a Hermes configuration: the same under its names, and told where they have no effect."""

from pathlib import Path

from acp_server.config.checking import check_yaml
from acp_server.config.settings import Configuration, load
from acp_server.config.unused_keys import describe_unused_keys

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


def test_what_this_server_always_does_is_not_named(tmp_path: Path) -> None:
    text = (
        "_config_version: 33\nonboarding: {seen: {x: true}}\n"
        "approvals: {cron_mode: deny, destructive_slash_confirm: true}\n"
        "terminal: {backend: local, docker_network: true}\n"
        "privacy: {redact_pii: false}\nhooks_auto_accept: true\n"
    )
    assert load_home(tmp_path, text).unused_keys == ()


def test_a_value_with_another_effect_is_named(tmp_path: Path) -> None:
    (found,) = load_home(tmp_path, "approvals: {mode: smart}\n").unused_keys
    assert (found.key, found.is_safety_rule) == ("approvals.mode", True)
    assert "asks like `manual`" in found.reason
    assert load_home(tmp_path, "approvals: {mode: manual}\n").unused_keys == ()


def test_a_safety_rule_says_what_holds_instead(tmp_path: Path) -> None:
    text = "tts: {provider: edge}\nterminal: {backend: docker}\nsecurity: {new_rule: 1}\n"
    lines = describe_unused_keys(load_home(tmp_path, text).unused_keys)
    assert lines == (
        "terminal.backend: commands run on this machine, in the sandbox (`sandbox.mode`)",
        "security.new_rule: restricts Hermes, but not this server",
        "tts: is not used",
    )


def test_both_names_of_hermes_for_fallbacks_are_one_list(tmp_path: Path) -> None:
    text = (
        "fallback_providers: [{provider: openai, model: m}]\n"
        "fallback_model: {provider: zai, model: glm-5}\n"
    )
    current = load_home(tmp_path, text).settings
    assert (*current.fallback_providers, *current.fallback_model) == ("openai:m", "zai:glm-5")


def test_keys_of_named_endpoints_without_effect_are_named(tmp_path: Path) -> None:
    text = (
        "providers: {a: {api: 'https://a.example', ssl_verify: false}}\n"
        "custom_providers: [{name: b, base_url: 'https://b.example', extra_body: {x: 1}}]\n"
    )
    found = load_home(tmp_path, text).unused_keys
    assert [each.key for each in found] == [
        "providers.a.ssl_verify",
        "custom_providers.0.extra_body",
    ]


def test_a_reference_to_a_variable_that_is_not_set_is_a_problem(tmp_path: Path) -> None:
    text = "model: {default: m, base_url: 'https://a.example', api_key: '${A_KEY}'}\n"
    configuration = load_home(tmp_path, text)
    assert configuration.settings.model_api_key is None
    (problem,) = configuration.problems
    assert problem.endswith("config.yaml: model.api_key: the variable A_KEY is not set")
