from pathlib import Path
from typing import TypeAlias

from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.covered_programs import load_covered_programs
from tests.permissions.shell.covering import ROOT, is_covered, parts_of
from tests.support.case_table import each_case

Prefix: TypeAlias = tuple[str, ...]

OFFERED: dict[str, tuple[Prefix, ...]] = {
    "npm run test": (("npm", "run", "test"),),
    "npm run test -- --watch": (("npm", "run", "test"),),
    "npm test": (("npm", "test"),),
    "yarn test": (("yarn", "test"),),
    "pnpm run build --silent": (("pnpm", "run", "build"),),
    "git commit -m 'a b'": (("git", "commit"),),
    "git commit -am '-x'": (("git", "commit"),),
    "git add src/a.py b": (("git", "add"),),
    "git add src/*.py": (("git", "add"),),
    "git commit -m \"$(cat <<'EOF'\na (b)\nEOF\n)\"": (("git", "commit"),),
    "git commit -q -F - <<'EOF'\na\nEOF": (("git", "commit"), ("git", "commit")),
    "git add a && git commit -F - <<'EOF'\na\nEOF": (
        *(("git", "add"), ("git", "commit"), ("git", "commit")),
    ),
    "uv run pytest": (("uv", "run", "pytest"),),
    "uv run --frozen pytest tests/a -q": (("uv", "run", "pytest"),),
    "poetry run mypy": (("poetry", "run", "mypy"),),
    "pytest": (("pytest",),),
    "pytest -x tests -n4 -k 'a or b'": (("pytest",),),
    ".venv/bin/pytest -q": ((".venv/bin/pytest",),),
    "python -m pytest -q": (("python", "-m", "pytest"),),
    "python3 -m unittest -v tests.a": (("python3", "-m", "unittest"),),
    "ruff check --fix": (("ruff", "check"),),
    "cargo test --release -- --nocapture": (("cargo", "test"),),
    "cargo clippy -- -D warnings": (("cargo", "clippy"),),
    "go test ./internal/x -run 'A|B' -count=1": (("go", "test"),),
    "go build ./...": (("go", "build"),),
    "golangci-lint run --fix ./...": (("golangci-lint", "run"),),
    "mise run lint": (("mise", "run", "lint"),),
    "make test": (("make", "test"),),
    "make -j4 lint test": (("make", "lint"), ("make", "test")),
    "./gradlew test --tests Foo": (("./gradlew", "test"),),
    "./mvnw -q test -Dtest=Foo": (("./mvnw", "test"),),
    "npx eslint src --ext .ts": (("npx", "eslint"),),
    "npx tsc --noEmit -p web": (("npx", "tsc"),),
    "'npm' run \"test\"": (("npm", "run", "test"),),
    "/usr/bin/npm run test": (("/usr/bin/npm", "run", "test"),),
    "npm run test 2>&1": (("npm", "run", "test"),),
    "npm run test 2>&1 | tail -20": (("npm", "run", "test"),),
    "npm run test && npm run lint": (("npm", "run", "test"), ("npm", "run", "lint")),
    "npm run test; ls": (("npm", "run", "test"),),
    "(npm run test)": (("npm", "run", "test"),),
    "npm run test || true": (("npm", "run", "test"),),
    "npm run test # note": (("npm", "run", "test"),),
    "if [ -f a ]; then npm run test; fi": (("npm", "run", "test"),),
    "for f in a b; do npm run test; done": (("npm", "run", "test"),),
    "CI=1 npm run test": (("npm", "run", "test"),),
    "E2E=1 npm run test": (("E2E=1", "npm", "run", "test"),),
    'echo "$(npm run test)"': (("npm", "run", "test"),),
}
"""Commands with the words that an "always" covers, part by part."""
ONLY_EXACT = [
    *("make", "git checkout main", "git stash", "./check.sh", "python script.py -v", "bd list"),
    *("terraform-docs .", "just", "mvn", "git merge main", "git restore a"),
    *("./npm run test", "/opt/npm run test", "x/gradlew test", "../gradlew test"),
]
NEVER_OFFERED = [
    *("npm run test > log", "npm run test &", "npm run $X", "npm run *", "npm run `x`"),
    *("npm run test $(x)", "npm run test | tee log", "npm run test | sh", "npm run test | xargs x"),
    *("npm", "npm run", "npm install", "npm exec x", "npm --prefix /x run test", "npm run -s"),
    *("npm run test --script-shell=/x", "npm run test --prefix /x", "npm run a=b"),
    *("npm run test -- --config=x", "npm run test -- --require x", "npm run test -- -r x"),
    *("npx cowsay", "npx eslint@1 src", "npx -p x eslint", "npx make", "npx git commit"),
    *("sh -c 'npm test'", "bash x.sh", "sh x.sh", "zsh", "source x", ". x", "eval x"),
    *("python -c 1", "python", "python -", "python -m http.server", "python -m pip install x"),
    *("python -i x.py", "cat x | python y.py", "python y.py < x", "python - <<'E'\n1\nE"),
    *("node -e 1", "node --require x y.js", "perl -e 1", "ruby -e 1", "deno eval 1"),
    *("env npm test", "xargs npm", "sudo npm test", "nohup npm test", "time", "command npm"),
    "find . -exec touch {} +",
    *("uv run", "uv run python x.py", "uv run --with x pytest", "uv pip install x", "uv run make"),
    *("poetry run sh", "bundle exec sh", "bundle exec rake"),
    *("git", "git -c a=b commit", "git rebase main", "git push", "git push origin main"),
    *("git fetch --upload-pack=x", "git config user.name x", "git bisect run x", "git clean -fd"),
    *("git commit --no-verify -m x", "git commit -n -m x", "git commit -S -m x"),
    *(
        "git commit --gpg-sign -m x",
        "git commit -m *",
        "git add *",
        "git add --pathspec-from-file=x",
    ),
    *("git reset --hard", "git checkout -f main", "git branch -D x", "git merge -s x main"),
    *("git merge --strategy=x main", "git -C $X commit -m y"),
    *(
        "cargo",
        "cargo run",
        "cargo test --config x",
        "cargo test --manifest-path x",
        "cargo +x test",
    ),
    *("cargo clippy -- -C linker=x", "cargo install x"),
    *("go run .", "go test -exec x", "go vet -vettool=x", "go build -toolexec x", "go test -o x"),
    *("go build -ldflags x", "go generate", "go install x", "go -C x test", "go build -overlay x"),
    *("pytest -p evil", "pytest --pastebin=all", "pytest -c x.ini", "pytest --rootdir x"),
    *("pytest @args", "pytest -o addopts=x", "pytest --pdbcls=x:y"),
    *("pylint --init-hook 'import os'", "pylint --load-plugins=x a", "pylint --rcfile x a"),
    *("mypy --python-executable x", "mypy --install-types", "mypy --config-file x", "mypy @x"),
    *("ruff check --config x", "ruff server", "eslint --rulesdir x", "eslint -c x", "eslint -f x"),
    *("prettier --plugin x a", "jest --config x", "jest --globalSetup x", "vitest -c x"),
    *("make SHELL=x test", "make -f x", "make -C x", "make --eval x", "make test A=b", "make -I x"),
    *(
        "mvn exec:exec",
        "mvn test -Dexec.executable=x",
        "mvn -f x test",
        "mvn deploy",
        "mvn -s x test",
    ),
    *("gradle -I x test", "./gradlew publish", "gradle test -Px=y"),
    *("just a=b test", "mise exec -- x", "mise x y", "mise run lint ::: x"),
    *("rm -rf build", "cp a b", "mv a b", "dd if=a of=b", "chmod +x a", "tee a", "kill 1"),
    *("curl x", "wget x", "ssh a b", "scp a b", "rsync a b", "gh pr create", "docker run x"),
    *("bd --exec x", "bd -c x", "bd --command=x", "echo x | bd", "bd < x", "bd <<< x", "bd $X"),
    *("PATH=. npm test", "LD_PRELOAD=x npm test", "NODE_OPTIONS=x npm test", "PYTHONPATH=x pytest"),
    *("GIT_DIR=x git add a", "GIT_PAGER=sh git log", "BASH_ENV=x npm test", "CC=x make test"),
    *("RUSTC_WRAPPER=x cargo test", "GOFLAGS=-toolexec=x go test", "MAVEN_OPTS=x mvn test"),
    *("npm_config_script_shell=x npm test", "JAVA_TOOL_OPTIONS=x mvn test", "A+=b npm test"),
    *("PYTEST_ADDOPTS=x pytest", "HOME=x npm test", "MAKEFLAGS=x make test", 'A="$(x)" npm test'),
    *("A=$B npm test", "npm test\0", "npm run 'unclosed", "np\u200bm run test"),
]


@each_case(("command", "prefixes"), OFFERED.items(), ids=OFFERED.keys())
def test_an_always_covers_program_and_subcommand_of_each_part(
    command: str, prefixes: tuple[Prefix, ...]
) -> None:
    found = assess(command, str(ROOT), "/home/user")
    assert found.is_coverable
    assert tuple(each for asked in found.asked for each in asked.prefixes) == prefixes
    assert is_covered(command, *prefixes)


@each_case("command", ONLY_EXACT)
def test_other_commands_are_covered_word_for_word(command: str) -> None:
    found = assess(command, str(ROOT), "/home/user")
    assert found.is_coverable
    assert [(asked.prefixes, asked.is_exact) for asked in found.asked] == [((), True)]


@each_case("command", NEVER_OFFERED)
def test_no_always_is_offered_if_it_would_be_unbounded(command: str) -> None:
    found = assess(command, str(ROOT), "/home/user")
    assert (found.verdict, found.is_coverable) == ("asks", False)


def test_no_always_is_offered_if_no_permission_is_required() -> None:
    found = assess("git status", str(ROOT))
    assert (found.asked, found.is_coverable) == ((), False)


@each_case(
    "command",
    [
        *("npm run test", "npm run test -- -x", "npm run test unit", " npm  run 'test' "),
        *("npm run test 2>&1 | tail -5", "ls && npm run test", "npm run test; npm run test"),
    ],
)
def test_a_stored_always_covers_the_same_words_and_any_arguments(command: str) -> None:
    assert is_covered(command, ("npm", "run", "test"))


@each_case(
    "command",
    [
        *(
            "npm run build",
            "npm run testing",
            "npm run",
            "npm -s run test",
            "npm run test; touch x",
        ),
        *("npm run test && npm run build", "npm run test | sh", "npm run test > x"),
        *("npm run test $(touch x)", "npm run test `touch x`", "npm run test <(touch x)"),
        *("npm run test $KEY", "npm run test *", "npm run test\ntouch x", "npm run test &"),
        *("A=1 npm run test", "npm run test --script-shell=./x", "env npm run test"),
        *("npm run test 'unclosed", "npm run test \0", "", "ls", "cd web && npm run test"),
    ],
)
def test_a_stored_always_covers_nothing_else(command: str) -> None:
    assert not is_covered(command, ("npm", "run", "test"))


@each_case(
    "prefix",
    [
        *((), ("",), ("git",), ("npm",), ("npm", "run"), ("uv", "run"), ("uv", "run", "python")),
        *(("sh", "-c"), ("env",), ("git", "push"), ("git", "-c"), ("ls",), ("make",)),
        *(("cargo", "run"), ("npm", "run", "--prefix"), ("git", "checkout")),
    ],
)
def test_an_overly_broad_stored_always_covers_nothing(prefix: Prefix) -> None:
    assert not is_covered(" ".join([*prefix, "x"]), prefix)


def test_an_always_belongs_to_its_directory() -> None:
    tests = ("npm", "test")
    assert is_covered("npm test", tests)
    assert is_covered("cd web && npm test", tests, directory=ROOT / "web")
    assert not is_covered("cd web && npm test", tests)
    assert not is_covered("npm test", tests, directory=ROOT / "web")
    # A `cd` may fail, and then it runs here.
    assert not is_covered("cd web; npm test", tests, directory=ROOT / "web")
    assert [part.directories for part in parts_of("cd web; npm test")] == [
        (Path("/code/space/web"), ROOT)
    ]


def test_a_git_command_for_another_directory_belongs_to_that_directory() -> None:
    for command in ("git -C web add a", "git -C ./web commit -m x", "cd web && git add a"):
        words = ("git", "commit" if "commit" in command else "add")
        assert is_covered(command, words, directory=ROOT / "web"), command
        assert not is_covered(command, words), command
    assert not is_covered("git -C $X add a", ("git", "add"))
    assert not is_covered("git -C --git-dir=x add a", ("git", "add"))


def test_an_older_rule_with_more_words_covers_what_it_did() -> None:
    older = ("go", "test", "./internal/x")
    assert is_covered("go test ./internal/x -v", older)
    assert not is_covered("go test ./internal/y", older)
    assert not is_covered("go test -exec x ./internal/x", older)


def test_every_covered_program_has_its_flags_listed() -> None:
    programs = load_covered_programs()
    assert len(programs) >= 90
    dangerous = {"--exec", "--eval", "--init-hook", "--load-plugins", "--plugin", "--config", "-C"}
    for name, rule in programs.items():
        assert dangerous.isdisjoint(rule.flags.split()), name
