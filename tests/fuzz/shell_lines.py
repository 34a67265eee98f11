"""Generates shell lines around effects that a sandboxed shell would show.

    lines = LineGenerator(Random(7))
    line = lines.next_line()
    lines.note_passed(line)

A line is built from bash's grammar: readers, effects and words, in statements, quotes, expansions
and wrappers; or from a command of the gate's own table with odd flags and values. Most lines are
quiet: they name effects in quotes, comments and here-documents only. Half of the lines are then
damaged, where the gate's grammar and bash may disagree, and lines that passed are joined and
damaged again. Two in five lines hold one suspect among plain readers, of one family of rules:
in other lines, a rule that is wrong is seldom the only one that a line depends on. The same seed
gives the same lines, if the gate gives the same answers.
"""

import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TypeAlias, cast

from acp_server.permissions.shell.options import AllowedOptions
from acp_server.permissions.shell.read_only_commands import load_read_only_commands
from tests.permissions.shell.attempts import ATTEMPTS

PORT = 47110
"""A port of the sandbox's own loopback device, where a connection is an effect."""
MAX_DEPTH = 4
MAX_LENGTH = 600
MIN_PASSED = 40
MAX_PASSED = 400
SUSPECT_SHARE = 0.4
_Words: TypeAlias = Mapping[str, Sequence[str]]
_DOCUMENT = cast(
    "Mapping[str, Sequence[str] | _Words]",
    tomllib.loads(Path(__file__).with_name("shell_words.toml").read_text("utf-8")),
)
WORDS: _Words = {name: words for name, words in _DOCUMENT.items() if not isinstance(words, Mapping)}
SUSPECTS = cast("_Words", _DOCUMENT["suspects"])
"""Forms of lines with one suspect, by the family of rules that must hold it."""
_SUSPECT_PARTS = cast("_Words", _DOCUMENT["suspect_parts"])
_SPELLINGS = ("'C'", '"C"', "\\C", "$'\\xHEX'", "''C", 'C""', "C\\\n")
"""Spellings of the character C that bash reads alike."""
_ODD_SPELLINGS = ("${z}C", '"$(echo C)"', "[C]", "{C,}")
_ATTEMPTS = tuple(line for line in ATTEMPTS.values() if len(line) < 80 and line.isascii())
"""Lines that are known to need permission; a change may hide that from the gate."""


class LineGenerator:
    """Generates lines from one source of chance."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._is_quiet = False
        self._passed: list[str] = []
        table = load_read_only_commands().commands
        # A line that waits would only cost time.
        self._commands = sorted(set(table) - {"sleep", "git"})
        self._options = {name: table[name].options for name in self._commands}
        self._statements: Sequence[Callable[[int], str]] = (
            *(self._chain, self._chain, self._chain, self._group, self._conditional, self._loop),
            *(self._loop, self._choice, self._function, self._assignment, self._document),
            *(self._document, self._wrapped, self._wrapped, self._redirected, self._redirected),
            *(self._setting, self._in_directory, self._commented, self._words_around),
            *(self._words_around, self._calculation, self._file_of_process),
        )
        self._quiet: Sequence[Callable[[int], str]] = (
            *(self._chain, self._chain, self._chain, self._group, self._conditional),
            *(self._quiet_loop, self._quiet_document, self._quiet_words, self._quiet_words),
            *(self._quiet_redirect, self._quiet_comment, self._in_directory, self._quiet_test),
            *(self._wrapped, self._loop),
        )
        self._words: Sequence[Callable[[int], str]] = (
            *(self._name, self._name, self._name, self._literal, self._literal, self._literal),
            *(self._expansion, self._substitution, self._substitution, self._pattern),
            self._joined_words,
        )
        self._simple: Sequence[Callable[[], str]] = (
            *(
                self._reader,
                self._reader,
                self._reader,
                self._reader,
                self._effect,
                self._table_use,
            ),
            *(self._table_use, self._find, self._xargs, self._awk, self._sed, self._test),
        )

    def next_line(self) -> str:
        """Return the next line."""
        chance = self._chance
        if chance.random() < SUSPECT_SHARE:
            return self.suspect_line(self._pick(tuple(SUSPECTS)))[:MAX_LENGTH]
        self._is_quiet = chance.random() < 0.75
        is_variant = len(self._passed) > MIN_PASSED and chance.random() < 0.5
        if is_variant:
            line = self._pick(self._passed)
            for _ in range(chance.choice((0, 0, 1, 2))):
                line += self._pick(WORDS["separators"]) + self._pick(self._passed)
        else:
            line = self._table_use() if chance.random() < 0.15 else self._statement(0)
        if is_variant or chance.random() < 0.5:
            for _ in range(chance.choice((1, 1, 1, 2, 3))):
                line = self._damage(line)
        return line[:MAX_LENGTH]

    def note_passed(self, line: str) -> None:
        """Use a line, which the gate lets pass, for further ones."""
        if len(self._passed) < MAX_PASSED:
            self._passed.append(line)
        else:
            self._passed[self._chance.randrange(MAX_PASSED)] = line

    def suspect_line(self, family: str) -> str:
        """Return a line with one suspect of a family of rules."""
        parts = {name: self._pick(words) for name, words in _SUSPECT_PARTS.items()}
        parts["reader"] = self._pick(WORDS["readers"])
        parts["effect"] = self._pick(WORDS["effects"])
        for name in ("effect", "secret", "near", "flag", "action", "script"):
            parts[f"quoted_{name}"] = self._disguise(parts[name], spellings=_SPELLINGS)
        parts["looped"] = parts["looped"].replace("{effect}", parts["effect"])
        line = self._pick(SUSPECTS[family]).format(**parts)
        return self._pick(WORDS["suspect_contexts"]).format(line)

    def _pick(self, items: Sequence[str]) -> str:
        return self._chance.choice(items)

    def _several(self, items: Sequence[str], most: int, gap: str = " ") -> str:
        return gap.join(self._pick(items) for _ in range(self._chance.randint(0, most)))

    def _damage(self, line: str) -> str:
        chance = self._chance
        at, end = sorted((chance.randint(0, len(line)), chance.randint(0, len(line))))
        end = min(end, at + chance.choice((1, 2, 12)))
        match chance.randrange(8):
            case 0:
                return line[:at] + line[end:]
            case 1:
                return line[:at] + line[at:end] * 2 + line[end:]
            case 2:
                other = chance.randint(0, len(line))
                return line[:other] + line[at:end] + line[other:]
            case _:
                return line[:at] + self._pick(WORDS["damage"]) + line[at:]

    # statements

    def _statement(self, depth: int) -> str:
        if depth >= MAX_DEPTH or self._chance.random() < 0.3:
            return self._chance.choice(self._simple)()
        forms = self._quiet if self._is_quiet else self._statements
        return self._chance.choice(forms)(depth + 1)

    def _chain(self, depth: int) -> str:
        parts = [self._statement(depth) for _ in range(self._chance.choice((2, 2, 3)))]
        separators = WORDS["quiet_separators"] if self._is_quiet else WORDS["separators"]
        return parts[0] + "".join(self._pick(separators) + part for part in parts[1:])

    def _group(self, depth: int) -> str:
        form = self._pick(("(%s)", "( %s )", "{ %s; }", "{ %s\n}", "! %s", "(%s\n)", "{\n%s\n}"))
        return form.replace("%s", self._statement(depth))

    def _conditional(self, depth: int) -> str:
        parts = [self._statement(depth) for _ in range(3)]
        form = self._pick(
            (
                "if {}; then {}; else {}; fi",
                "if {}\nthen {}\nelif {}; then ls; fi",
                "{} && {} || {}",
                "if ! {}; then {}; fi; {}",
            )
        )
        return _fill(form, *parts)

    def _loop(self, depth: int) -> str:
        values = " ".join(self._word(depth) for _ in range(self._chance.randint(1, 3)))
        body = self._statement(depth)
        name = self._pick(("v", "f", "x", "f", "PATH", "IFS"))
        if self._chance.random() < 0.6:
            use = self._pick(('cat "${}"', "cat ${}", "${}", "${} a", 'grep x "${}"', "ls ${}*"))
            body = _fill(self._pick((use, use + "; {}", "{}; " + use)), name, body)
        if self._chance.random() < 0.5:
            values = self._pick(
                ("*", "*.py", "src/*", "a b", "canary", "traps/*", "-o", "./*", "?")
            )
        form = self._pick(
            (
                "for {0} in {1}; do {2}; done",
                "for {0} in {1}\ndo {2}\ndone",
                "for {0} in {1}; do {2}; done < a",
                "{3} | while read {0}; do {2}; done",
                "{3} | while read -r {0}; do {2}; done",
                "while read -r {0}; do {2}; done < list",
                "while IFS= read -r {0}; do {2}; done <<< {1}",
                "while read {0} x; do {2}; done < <({3})",
                "while {3} && false; do {2}; done",
                "until {3}; do {2}; break; done",
                "select {0} in {1}; do {2}; done",
                "for (({0}=0;{0}<1;{0}++)); do {2}; done",
                "for {0}; do {2}; done",
            )
        )
        return _fill(form, name, values, body, self._statement(depth))

    def _choice(self, depth: int) -> str:
        word, pattern = self._word(depth), self._word(depth)
        form = self._pick(
            (
                "case {0} in {1}) {2};; esac",
                "case {0} in ({1}) {2};; *) {3};; esac",
                "case {0} in\n{1}|x)\n{2}\n;;\nesac",
                "case {0} in {1}) {2};& *) {3}; esac",
            )
        )
        return _fill(form, word, pattern, self._statement(depth), self._statement(depth))

    def _function(self, depth: int) -> str:
        name = self._pick(("f", "ls", "cat", "echo", "cd", "true"))
        form = self._pick(
            (
                "{0}() {{ {1}; }}; {0}",
                "function {0} {{ {1}; }}; {0} a",
                "{0}() ( {1} )\n{0}",
                "{0} () {{\n{1}\n}}\n{2}",
                "alias {0}='{1}'\n{0}",
                "alias {0}={3}; {2}",
            )
        )
        return _fill(form, name, self._statement(depth), self._statement(depth), self._word(depth))

    def _assignment(self, depth: int) -> str:
        name, value = self._pick(WORDS["assigned"]), self._word(depth)
        form = self._pick(
            (
                "{0}={1} {2}",
                "{0}={1}; {2}",
                "{0}={1}\n{2}",
                "{0}={1} && ${0}",
                "export {0}={1}; {2}",
                "{0}+={1} {2}",
                "{0}=({1} x) {2}",
                "{0}[0]={1}; {2}",
                "{0}=. {2}",
                "env {0}={1} {2}",
                "declare {0}={1}; {2}",
            )
        )
        return _fill(form, name, value, self._statement(depth))

    def _document(self, depth: int) -> str:
        delimiter = self._pick(WORDS["delimiters"])
        end = (
            delimiter.strip("'\"\\") if self._chance.random() < 0.8 else self._pick(("E", "", " E"))
        )
        body = self._statement(depth)
        if self._chance.random() < 0.4:
            body = self._pick(("$({})", "`{}`", "${{x:-$({})}}", "E\n{}", "\\\n{}", "x\\\nE\n{}"))
            body = _fill(body, self._effect())
        operator = self._pick(("<<", "<<", "<<", "<<-", "<<~", "0<<", "<< "))
        after = self._pick(("", "", "", " | cat", "; ls", " >/dev/null", " && canary", " a", ")"))
        tail = self._pick(("", "", "\n", "\ncanary", "\n" + self._statement(depth)))
        command = self._pick(("cat", "wc -l", "sh", "grep x", "sort", "cat a -", "(cat"))
        return f"{command} {operator}{delimiter}{after}\n{body}\n{end}{tail}"

    def _wrapped(self, depth: int) -> str:
        inner = self._statement(depth)
        if self._chance.random() < 0.2:
            return f"bash -c {self._quote(inner)}"
        return self._pick(WORDS["wrappers"]) + inner

    def _redirected(self, depth: int) -> str:
        if self._chance.random() < 0.15:
            return self._pick(WORDS["redirects"]).lstrip() + " " + self._statement(depth)
        if self._chance.random() < 0.3:
            words = (self._reader() if self._is_quiet else self._effect()).split(" ")
            words.insert(
                self._chance.randint(1, len(words)), self._pick(WORDS["redirects"]).strip()
            )
            return " ".join(words)
        return self._statement(depth) + self._pick(WORDS["redirects"])

    def _setting(self, depth: int) -> str:
        return (
            self._pick(WORDS["settings"]) + self._pick((";", "\n", " && ")) + self._statement(depth)
        )

    def _in_directory(self, depth: int) -> str:
        folder = self._pick(
            ("src", "..", "door", "evil", "bin", ".", "src/deep", "~", "traps", "bare")
        )
        body = self._git() if self._chance.random() < 0.1 else self._statement(depth)
        form = self._pick(
            ("cd {} && {}", "cd {}; {}", "(cd {} && {}); ls", "cd {} || {}", "cd {}\n{}")
        )
        return _fill(form, folder, body)

    def _commented(self, depth: int) -> str:
        comment = self._pick(("#", " #", "#!", " # ", "a#", "\\#", "''#", "$#", " #\\\n", ";#"))
        rest = self._pick(("\n", "", "\\\n")) + self._statement(depth)
        return f"{self._statement(depth)}{comment}{self._statement(depth)}{rest}"

    def _words_around(self, depth: int) -> str:
        words = " ".join(self._word(depth) for _ in range(self._chance.randint(1, 3)))
        name = self._pick(
            ("echo", "cat", "ls", "grep", "grep -n x", "printf", "test", "sort", "head")
        )
        if self._chance.random() < 0.1:
            name = self._word(depth)
        return f"{name} {words}"

    def _calculation(self, depth: int) -> str:
        form = self._pick(
            (
                "(({})); ls",
                "echo $(({}))",
                "[[ {} -eq 0 ]]",
                "let {}",
                "[ {} -lt 1 ]",
                "echo $[{}]",
                "x[{}]=1",
                "[[ a =~ {} ]]",
                "test -v {}",
                "printf %d {}",
            )
        )
        inner = self._pick(("1", "x=1", "a[$(canary)]", "'a[$(canary)]'", "v", "`canary`", "x++"))
        return _fill(form, inner if self._chance.random() < 0.7 else self._word(depth))

    def _file_of_process(self, depth: int) -> str:
        form = self._pick(
            ("cat <({})", "ls > >({})", "diff <({}) a", "grep x < <({})", "{} | tee >(sh)")
        )
        return _fill(form, self._statement(depth))

    # statements that only read, unless the gate is wrong

    def _quiet_loop(self, depth: int) -> str:
        name = self._pick(("v", "f", "x"))
        values = self._pick(
            ("a b", "*.py", "src/*", "a", "1 2 3", "src", "traps/*", "a 'a b'", "./*")
        )
        use = self._pick(
            ('cat "$%s"', "ls $%s", 'grep x "$%s"', "echo $%s", 'wc -l "$%s"', "cat ./$%s")
        )
        body = use.replace("%s", name)
        if self._chance.random() < 0.4:
            body = f"{body}; {self._statement(depth)}"
        if self._chance.random() < 0.2:
            return f"{self._statement(depth)} | while read -r {name}; do {body}; done"
        return f"for {name} in {values}; do {body}; done"

    def _quiet_document(self, depth: int) -> str:
        delimiter = self._pick(("E", "'E'", '"E"', "EOF", "'EOF'"))
        body = self._pick(("{}", "x\n{}", "x $({})", "E {}", " E\n{}", "`{}`", "E\\\n{}", "'\n{}"))
        body = _fill(body, self._pick(WORDS["effects"]))
        tail = self._pick(("", "\n", "\n" + self._statement(depth)))
        end = delimiter.strip("'\"")
        return (
            f"{self._pick(('cat', 'wc -l', 'grep x', 'sort'))} <<{delimiter}\n{body}\n{end}{tail}"
        )

    def _quiet_words(self, depth: int) -> str:
        words = " ".join(self._quiet_word(depth) for _ in range(self._chance.randint(1, 3)))
        return f"{self._pick(('echo', 'echo', 'cat', 'grep', 'ls', 'grep -n x', 'printf'))} {words}"

    def _quiet_word(self, depth: int) -> str:
        match self._chance.randrange(5):
            case 0:
                return self._pick(WORDS["names"])
            case 1 if depth < MAX_DEPTH:
                return f'"$({self._statement(depth + 1)})"'
            case 2:
                return f'"{self._pick(WORDS["names"])}{self._quiet_word(depth)[:12]}"'
            case 3:
                return self._quote(self._pick(WORDS["effects"]))
            case _:
                return self._quote(self._pick(WORDS["literals"]))

    def _quiet_redirect(self, depth: int) -> str:
        return self._statement(depth) + self._pick(WORDS["quiet_redirects"])

    def _quiet_comment(self, depth: int) -> str:
        return (
            f"{self._statement(depth)} # {self._pick(WORDS['effects'])}\n{self._statement(depth)}"
        )

    def _quiet_test(self, depth: int) -> str:
        test = self._pick(
            ("[ -f {} ]", "[[ -n {} ]]", "test -d {}", "[ {} = x ]", "[[ {} == a* ]]")
        )
        return _fill(test, self._quiet_word(depth)) + self._pick((" && ", " || ")) + self._reader()

    # simple commands

    def _reader(self) -> str:
        if self._chance.random() < 0.01:
            return self._git()
        line = self._pick(WORDS["readers"])
        return self._disguise(line) if self._chance.random() < 0.1 else line

    def _effect(self) -> str:
        if self._chance.random() < 0.2:
            return self._pick(_ATTEMPTS)
        line = self._pick(WORDS["readers"] if self._is_quiet else WORDS["effects"])
        return self._disguise(line) if self._chance.random() < 0.2 else line

    def _git(self) -> str:
        return self._pick(WORDS["git_readers"])

    def _table_use(self) -> str:
        """Return a command of the gate's table with flags of its own and foreign ones."""
        name = self._pick(self._commands)
        options = self._options[name]
        count = self._chance.randint(0, 4)
        words = (self._table_word(options) for _ in range(count))
        line = " ".join((name, *words))
        # `tail -f` would wait, too.
        return "tail a" if name == "tail" and ("f" in line or "F" in line) else line

    def _table_word(self, options: AllowedOptions) -> str:
        return self._flag(options) if self._chance.random() < 0.6 else self._pick(WORDS["names"])

    def _flag(self, options: AllowedOptions) -> str:
        chance = self._chance
        letters = options.flags + options.value_flags + options.file_flags
        letters += options.optional_value_flags
        longs = f"{options.long_flags} {options.long_value_flags} {options.long_file_flags}".split()
        value = self._pick(WORDS["foreign_values"])
        quoted = self._quote(value) if chance.random() < 0.7 else value
        match chance.randrange(10):
            case 0:
                return self._pick(WORDS["long_flags"])
            case 1 | 2:
                gap = self._pick(("", " "))
                return "-" + self._pick(string.ascii_letters + string.digits) + gap + quoted
            case 3 | 4 if longs:
                word = self._pick(longs)
                flag = word if word.startswith(("-", "!", "(", ")", ",")) else "--" + word
                flag = flag[: -chance.randint(1, 3)] if chance.random() < 0.1 else flag
                return flag + self._pick(("", " ", "=")) + quoted
            case _ if letters:
                cluster = "".join(self._pick(letters) for _ in range(chance.randint(1, 3)))
                return f"-{cluster}{self._pick(('', ' ', ' '))}{quoted}"
            case _:
                return quoted or "x"

    def _find(self) -> str:
        roots = self._pick((".", "src", "", "door", "traps", "evil", "a", "-L .", "*", ".."))
        return f"find {roots} {self._several(WORDS['find_parts'], 4)}"

    def _xargs(self) -> str:
        tail = self._pick(("", "", " < list", " <<< .env", " < a"))
        source = self._pick(WORDS["xargs_sources"])
        return f"{source} | xargs {self._several(WORDS['xargs_parts'], 3)}{tail}"

    def _awk(self) -> str:
        program = self._several(WORDS["awk_parts"], 5, self._pick(("", " ", ";")))
        flags = self._pick(WORDS["awk_flags"]) if self._chance.random() < 0.3 else ""
        return f"awk {flags} {self._quote(program)} {self._pick(WORDS['names'])}"

    def _sed(self) -> str:
        script = self._several(WORDS["sed_parts"], 4, self._pick(("", "", ";", "\n", " ")))
        flag = self._pick(
            ("", "-n", "-E", "-e", "-ne", "-s", "--expression=p -e", "-z", "-i", "-f")
        )
        return f"sed {flag} {self._quote(script)} {self._pick(WORDS['names'])}"

    def _test(self) -> str:
        form = self._pick(("test {}", "[ {} ]", "[[ {} ]]", "[[ {} ]", "[{}]"))
        return _fill(form, self._several(WORDS["test_parts"], 4))

    # words

    def _word(self, depth: int) -> str:
        return self._chance.choice(self._words)(depth)

    def _name(self, depth: int) -> str:
        del depth
        name = self._pick(WORDS["names"])
        return self._disguise(name) if self._chance.random() < 0.2 else name

    def _literal(self, depth: int) -> str:
        del depth
        literal = self._pick(WORDS["literals"])
        return self._quote(literal) if self._chance.random() < 0.5 else literal

    def _expansion(self, depth: int) -> str:
        del depth
        return self._pick(WORDS["expansions"]).replace("%s", self._pick(WORDS["variables"]))

    def _substitution(self, depth: int) -> str:
        return _fill(self._pick(WORDS["substitutions"]), self._statement(depth + 1))

    def _pattern(self, depth: int) -> str:
        del depth
        return self._pick(WORDS["patterns"])

    def _joined_words(self, depth: int) -> str:
        if depth >= MAX_DEPTH:
            return "a"
        if self._chance.random() < 0.5:
            return f'"a {self._word(depth + 1)} b"'
        return self._word(depth + 1) + self._word(depth + 1)

    def _quote(self, text: str) -> str:
        match self._chance.randrange(6):
            case 0:
                return '"' + text.replace('"', '\\"') + '"'
            case 1:
                return '"' + text + '"'
            case 2:
                return "$'" + text.replace("'", "\\'").replace("\n", "\\n") + "'"
            case 3:
                return "".join(f"\\{each}" for each in text)
            case _:
                return "'" + text.replace("'", "'\\''") + "'"

    def _disguise(self, line: str, spellings: Sequence[str] = ()) -> str:
        """Return a line with a part of one of its words spelled in another way."""
        at = self._chance.randrange(len(line))
        character = line[at]
        form = self._pick(spellings or (*_SPELLINGS, *_ODD_SPELLINGS))
        other = form.replace("HEX", f"{ord(character):02x}").replace("C", character)
        return line[:at] + other + line[at + 1 :]


def _fill(form: str, *parts: str) -> str:
    """Return a form with its parts in place of `{}` or `{0}`; `{{` and `}}` are braces."""
    return form.format(*parts)
