"""What a search finds: words, phrases, parts of words, and no syntax of anybody's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.history.discovery import NO_WORD_NOTE, SCANNED_NOTE, TOOLS_ONLY_NOTE
from acp_server.session.ports.session_search import Role
from acp_server.turn.conversation import ToolCall
from tests.history.past_sessions import SessionHome, assistant, results, user


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SessionHome:
    home = SessionHome(tmp_path_factory.mktemp("home"))
    home.save_session(
        "nginx", user("Why does nginx.conf break?"), assistant("The upstream timed out.")
    )
    home.save_session(
        "cafe", user("Describe the Café, please"), assistant("It has session_search and C++.")
    )
    home.save_session(
        "han", user("数据库连接失败,见第3章节"), assistant("docker容器 は テスト です。한국어")
    )
    home.save_session("env", user("read .env and run with --verbose"), assistant("no env was read"))
    home.save_session(
        "tool",
        user("make a copy"),
        assistant("Done.", ToolCall("call-0", "terminal", '{"command": "pg_dump main \\u6570"}')),
        results("dumped 7 kumquats"),
    )
    return home


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("nginx", ["nginx"]),
        ("NGINX breaks?", []),
        ("break nginx", ["nginx"]),
        ("nginx.conf", ["nginx"]),
        ('"upstream timed out"', ["nginx"]),
        ('"timed upstream"', []),
        ("“upstream timed", ["nginx"]),
        ("nginx OR cafe", ["cafe", "nginx"]),
        ("(nginx | cafe) describe", ["cafe"]),
        ("read -nginx", ["env"]),
        ("the -upstream", ["cafe"]),
        ("the NOT upstream", ["cafe"]),
        ('the -"timed out"', ["cafe"]),
        ("run -.env", []),
        ("env -.env", ["env"]),
        ("数据 -失败", []),
        ("escrib -nginx", ["cafe"]),
        ("cafe", ["cafe"]),
        ("CAFÉ", ["cafe"]),
        ("session_search", ["cafe"]),
        ("descr*", ["cafe"]),
        ("C++", ["cafe"]),
        (".env", ["env"]),
        ("--verbose", ["env"]),
        ("-verbose", ["env"]),
        ("escrib", ["cafe"]),
        ("pstrea", ["nginx"]),
        ("数据", ["han"]),
        ("库", ["han"]),
        ("据库连接", ["han"]),
        ("库据", []),
        ("第3章", ["han"]),
        ("docker容", ["han"]),
        ("テスト", ["han"]),
        ("한국", ["han"]),
        ("数据 docker", []),
        ("连接失败 数据库", ["han"]),
        ("nowhere", []),
    ],
)
async def test_a_query_finds_the_expected_sessions(
    home: SessionHome, query: str, ids: list[str]
) -> None:
    assert sorted(await home.find_ids(query)) == ids


@pytest.mark.parametrize(
    "query",
    [
        'user: "nginx"',
        "NEAR(nginx conf, 3)",
        "nginx^2",
        "nginx' OR 1=1 --",
        '"""',
        "AND OR NOT",
        "* ** ()",
        "{user} : nginx",
        "nginx\0break",
        "\ud800 nginx",
        '-""',
        "nginx AND",
        "a" * 5_000,
        "(" * 500,
        "".join(map(chr, range(0x100, 0x400))),
        " ".join(f'"word {n}"' for n in range(300)),
        " OR ".join(f"word{n}" for n in range(300)),
        "OR nginx OR",
        '" nginx',
    ],
)
async def test_no_query_syntax_causes_an_error(home: SessionHome, query: str) -> None:
    assert set(await home.find_ids(query)) <= {"nginx"}


@given(st.text(alphabet=st.sampled_from("ab数\"*-()|:^.{}+ORNTAD\0\ud800 é'"), max_size=30))
async def test_arbitrary_input_causes_no_error(home: SessionHome, query: str) -> None:
    await home.find(query)


@pytest.mark.parametrize("query", ["", "  ", '""', "OR", "\0"])
async def test_a_query_without_a_word_is_reported(home: SessionHome, query: str) -> None:
    findings = await home.find(query)
    assert (findings.hits, findings.notes) == ((), (NO_WORD_NOTE,))


async def test_words_too_short_for_the_index_are_scanned_for_with_a_note(
    home: SessionHome,
) -> None:
    findings = await home.find("ng")
    assert [hit.session.id for hit in findings.hits] == ["nginx"]
    assert findings.notes == (SCANNED_NOTE,)


async def test_a_short_whole_word_is_found_without_scanning(home: SessionHome) -> None:
    findings = await home.find("is", limit=1)
    assert findings.hits == ()
    assert SCANNED_NOTE in findings.notes
    has = await home.find("It has", limit=1)
    assert ([hit.session.id for hit in has.hits], has.notes) == (["cafe"], ())


async def test_tool_output_is_searched_only_if_no_message_matches(home: SessionHome) -> None:
    findings = await home.find("kumquats")
    assert [(hit.session.id, hit.text.role) for hit in findings.hits] == [("tool", "tool")]
    assert findings.notes == (TOOLS_ONLY_NOTE,)
    assert [hit.session.id for hit in (await home.find("pg_dump")).hits] == ["tool"]


@pytest.mark.parametrize(
    ("roles", "ids"),
    [
        (("user",), ["env"]),
        (("assistant",), ["env"]),
        (("tool",), []),
        (("user", "tool"), ["env"]),
    ],
)
async def test_roles_can_be_filtered(
    home: SessionHome, roles: tuple[Role, ...], ids: list[str]
) -> None:
    query = "read" if roles != ("assistant",) else "was"
    assert await home.find_ids(query, roles=roles) == ids


async def test_the_snippet_marks_the_match_on_one_line(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session("s", user("words " * 100 + "the\nCafé is\nopen today " + "words " * 100))
    (hit,) = (await home.find("open cafe")).hits
    assert ">>>Café<<< is >>>open<<< today" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) < 280
