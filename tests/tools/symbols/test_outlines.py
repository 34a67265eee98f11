"""Outlines by the installed grammars: every known language, and what no grammar can parse."""

import pytest

from acp_server.tools.symbols.grammar_packages import GRAMMAR_PACKAGES
from acp_server.tools.symbols.grammars import (
    GrammarError,
    SourceLanguage,
    grammar_of,
    known_languages,
    language_of,
)
from acp_server.tools.symbols.outline import (
    SymbolName,
    enclosing_symbol,
    find_mentions_of,
    find_symbols,
)
from tests.support.case_table import each_case

SOURCES: dict[str, tuple[str, list[str]]] = {
    "python": (
        (
            "X = 1\nclass A:\n    y: int = 2\n    def m(self):\n        def inner(): ...\n\n"
            "async def f(): ...\n"
        ),
        ["variable X", "class A", "field A.y", "method A.m", "function A.m.inner", "function f"],
    ),
    "javascript": (
        "const a = () => 1, b = 2;\nclass C { x = 1; m() {} }\nexport function f() {}",
        ["function a", "variable b", "class C", "field C.x", "method C.m", "function f"],
    ),
    "typescript": (
        (
            "export const a = () => 1;\nabstract class C { x = 1; m() {} abstract n(): void }\n"
            "interface I { p: string; q(): void }\ntype T = string;\nenum E {A}\nnamespace N { }"
        ),
        [
            *("function a", "class C", "field C.x", "method C.m", "method C.n"),
            *("interface I", "field I.p", "method I.q", "type T", "enum E", "namespace N"),
        ],
    ),
    "tsx": ("const App = () => <div/>;", ["function App"]),
    "go": (
        (
            "package p\nvar (\n A int\n)\nconst C = 1\n"
            "func (o *Order[T]) Total() int { return 1 }\n"
            "type S struct{ A int }\ntype I interface{}\ntype F func()\nfunc main() {}"
        ),
        [
            *("variable A", "constant C", "method Order.Total", "struct S", "interface I"),
            *("type F", "function main"),
        ],
    ),
    "rust": (
        (
            "impl<T> Tr for S<T> { fn m(&self) {} }\nimpl a::S { const X: i32 = 1; }\n"
            "macro_rules! q { () => {} }\ntrait Tr { fn m(&self); }\nmod n { fn f() {} }"
        ),
        [
            *("impl S", "method S.m", "impl S", "constant S.X", "macro q", "trait Tr"),
            *("method Tr.m", "module n", "function n.f"),
        ],
    ),
    "java": (
        "public class C { int x = 1; C() {} void m() {} enum E {A} }\ninterface I { int K = 1; }",
        [
            *("class C", "field C.x", "method C.C", "method C.m", "enum C.E"),
            *("interface I", "field I.K"),
        ],
    ),
    "c": (
        (
            "#define M(x) x\nchar *g(void) { return 0; }\nstruct s { int a; };\n"
            "typedef int t;\nint v = 3;\nstatic int f(int a) { return a; }"
        ),
        ["macro M", "function g", "struct s", "type t", "variable v", "function f"],
    ),
    "cpp": (
        (
            "namespace a { class C { int m() { return 1; } ~C(){} C& operator=(int x); }; }\n"
            "int a::C::f(int x) { return x; }\nusing T = int;\nenum class E { A };"
        ),
        [
            *("namespace a", "class a.C", "method a.C.m", "method a.C.~C", "method a.C.f"),
            *("type T", "enum E"),
        ],
    ),
    "csharp": (
        "namespace A.B { class C { int x = 1; int P { get; set; } void M() {} C() {} } }",
        [
            *("namespace A.B", "class B.C", "field B.C.x", "property B.C.P", "method B.C.M"),
            "method B.C.C",
        ],
    ),
    "ruby": (
        "module A\n class B < C\n X = 1\n def m; end\n def self.s; end\n end\nend",
        ["module A", "class A.B", "constant A.B.X", "method A.B.m", "method A.B.s"],
    ),
    "php": (
        (
            "<?php\nclass C { const X = 1; public $p = 2; function m() {} }\nfunction f() {}\n"
            "interface I {} trait T {} enum E { case A; }"
        ),
        [
            *("class C", "constant C.X", "field C.p", "method C.m", "function f"),
            *("interface I", "trait T", "enum E"),
        ],
    ),
    "bash": ("f() { :; }\nfunction g { :; }\n", ["function f", "function g"]),
}


@each_case("language", [*known_languages()])
def test_every_known_language_is_outlined(language: str) -> None:
    source, expected = SOURCES[language]
    symbols = find_symbols(source.encode(), language)
    assert [f"{each.kind} {each.qualified_name}" for each in symbols] == expected


def test_the_tool_is_offered_for_the_packages_of_the_table() -> None:
    """A grammar of bash is always there, and alone no reason to offer the tool."""
    packages = {row.package for row in known_languages().values()} - {"tree_sitter_bash"}
    assert packages == {*GRAMMAR_PACKAGES}


def test_a_file_belongs_to_the_language_of_its_extension() -> None:
    names = ["a/b.py", "App.TSX", "x.d.ts", "Makefile", ".py", "py"]
    expected = ["python", "tsx", "typescript", None, None, None]
    assert [language_of(name) for name in names] == expected


def test_a_grammar_that_is_not_installed_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = SourceLanguage(extensions=("zz",), package="tree_sitter_zz")
    monkeypatch.setattr(
        "acp_server.tools.symbols.grammars.known_languages", lambda: {"zz-language": row}
    )
    with pytest.raises(GrammarError, match=r"zz-language is not installed: pip install '.*symbols"):
        grammar_of("zz-language")


def test_a_grammar_of_another_version_is_an_expected_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = SourceLanguage(
        extensions=("py",), package="tree_sitter_python", definitions="(no_such_node) @class"
    )
    monkeypatch.setattr("acp_server.tools.symbols.grammars.known_languages", lambda: {"odd": row})
    with pytest.raises(GrammarError, match="unknown version"):
        grammar_of("odd")


def test_source_that_cannot_be_parsed_is_outlined_as_far_as_possible() -> None:
    source = "class A:\n    def m(self):\n        return (((\n\ndef broken(:\n\nclass B: ...\n"
    names = [each.name for each in find_symbols(source.encode(), "python")]
    assert {"A", "m"} <= {*names}
    assert find_symbols(b"\xff\xfe\x00", "python") == []


def test_a_name_counts_only_where_it_is_an_identifier() -> None:
    python = 'def foo(): "foo" # foo\nx = foo() + foobar\ny.foo = f"{foo} foo"'
    assert find_mentions_of(python.encode(), "python", "foo") == [(1, 4), (2, 4), (3, 2), (3, 11)]
    script = 'let foo = `foo ${foo}`; x.foo; ({foo: 1, foo}); "foo"; // foo'
    places = find_mentions_of(script.encode(), "javascript", "foo")
    assert [column for _, column in places] == [4, 17, 26, 33, 41]
    assert find_mentions_of("ä = 1; foo = ä".encode(), "python", "foo") == [(1, 8)]


def test_the_innermost_symbol_around_a_line_is_found() -> None:
    symbols = find_symbols(b"class A:\n    def m(self):\n        pass\n\nx = 1\n", "python")
    inside = [enclosing_symbol(symbols, line) for line in range(1, 6)]
    names = [None if each is None else each.qualified_name for each in inside]
    assert names == [None, "A", "A.m", None, None]


def test_a_qualified_name_means_only_symbols_inside_of_it() -> None:
    source = b"class A:\n    def m(self): ...\nclass B:\n    def m(self): ...\n"
    symbols = find_symbols(source, "python")
    for text in ("B.m", "B::m", "B#m()", "B->m"):
        name = SymbolName.parse(text)
        assert [each.line for each in symbols if name.matches(each)] == [4]
    assert [each.line for each in symbols if SymbolName.parse("m").matches(each)] == [2, 4]
    assert SymbolName.parse(" :: ").last == ""
