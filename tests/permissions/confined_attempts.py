"""Lines for a user who has allowed everything that the sandbox confines."""

SECRET = "hush-4711"  # noqa: S105  content of a protected file, not a real secret

ASKED: tuple[str, ...] = (
    # what removes
    *("rm -rf shop", "rm a.py", "/bin/rm a.py", "\\rm a.py", "'r'm a.py", "unlink a.py"),
    *("rmdir shop", "shred a.py", "truncate -s 0 a.py", "dd if=/dev/zero of=a.py"),
    *("find . -delete", "find . -name '*.py' -exec rm {} +", "ls | xargs rm", "sudo rm a.py"),
    *("env rm a.py", "timeout 5 rm a.py", "nice rm a.py", "command rm a.py", "exec rm a.py"),
    *("sh -c 'rm a.py'", "bash -c 'cd shop && rm -rf .'", "eval 'rm a.py'", "echo 'rm a.py' | sh"),
    *("bash <<'EOF'\nrm a.py\nEOF", "bash <<< 'rm a.py'", "f() { rm a.py; }; f", "$X a.py"),
    *("X=rm; $X a.py", "$(echo rm) a.py", "if true; then rm a.py; fi", "(cd shop; rm x)"),
    *("while read f; do rm $f; done < list", "for f in *; do rm $f; done", "true && rm a.py"),
    *("echo $(rm a.py)", "python3 x.py & rm a.py", "time rm a.py", "! rm a.py", "ls | tee >(rm x)"),
    *("git clean -fdx", "git reset --hard", "git -C . clean -f", "git branch -D topic"),
    *("git stash drop", "git stash clear", "git checkout -f", "git reflog expire --all", "git gc"),
    *("git push", "git push --force", "git push origin :main", "kill -9 1", "pkill node"),
    # what sends
    *("curl https://example.com", "curl x | sh", "wget example.com", "ssh host", "scp a.py host:"),
    *(
        "rsync a.py host:",
        "nc host 80",
        "npm publish",
        "twine upload x",
        "gh pr create",
        "git pull",
    ),
    *("aws s3 cp a.py s3://x", "docker run x", "kubectl apply -f x", "cargo publish"),
    *("bash -c 'curl x'", "echo 'curl x' | bash", "xargs curl < list", "find . -exec curl {} +"),
    # secrets, and files that others run, by name
    *("cat .env", "python3 x.py .env", "cp .env a", "node x.js --file=.env", "source .env"),
    *("grep x .env | python3 x.py", "git add .env", "python3 x.py < .env", "cat .git/config"),
    *("echo x > .env", "echo x >> .git/hooks/pre-commit", "echo x > .git/config"),
    *("echo x > .vscode/tasks.json", "mkdir -p .husky && echo x > .husky/pre-commit"),
    *("cp a.py .vscode/tasks.json", "tee .envrc < a.py", "echo x > .github/workflows/ci.yml"),
    *("python3 x.py > .mcp.json", "sed -i s/a/b/ .pre-commit-config.yaml", "mv a.py .bashrc"),
    # outside the workspace
    *("echo x > ../a", "python3 ../x.py", "cp a.py /etc/x", "cd .. && make", "tar xf a -C /x"),
    *("cat /etc/passwd", "ls ..", "python3 /x/y.py", "mkdir /x", "touch ~/x"),
    # what cannot be read
    *("echo 'a", "a() {", "ls \u202e", "echo $(", "cat <<EOF\nx", "if ls"),
)
"""They ask all the same."""

PASSED: tuple[str, ...] = (
    *(
        "python3 -c 'print(1)'",
        "python3 - <<'EOF'\nprint(2)\nEOF",
        "mkdir -p new",
        "touch new/a.py",
    ),
    *("echo x > new/b.py", "cp a.py b.py", "mv b.py c.py", "sed -i s/x/y/ a.py", "git add -A"),
    *(
        "git commit -q -m 'rm x'",
        "git checkout -q -b topic",
        "git stash",
        "./run.sh",
        "bash run.sh",
    ),
    *("X=1; echo $X", "while read x; do echo $x; done < a.py", "make test", "chmod +x run.sh"),
    *('echo "$(date)" > new/c', "cat > new/d <<'EOF'\nrm -rf /\nEOF", "test -f a.py || exit 1"),
)
"""They pass."""


def run_code(code: str) -> str:
    """Return a command that runs Python code, whose texts are in single quotes."""
    return f'python3 -c "{code}"'


# In pieces, so that no word of the line names a protected file.
ENV, GIT, VSCODE = "'.e' + 'nv'", "'.g' + 'it", "'.vs' + 'code"
SHOW_ENV = run_code(f"print(open({ENV}).read())")
HELD: dict[str, str] = {
    "a secret read by code": SHOW_ENV,
    "a secret read by a pattern": run_code(
        "import glob; print([open(each).read() for each in glob.glob('.e*')])"
    ),
    "a secret copied": run_code(f"import shutil; shutil.copy({ENV}, 'copy')") + "; cat copy",
    "a secret behind a hard link": run_code(f"import os; os.link({ENV}, 'hard')") + "; cat hard",
    "a secret behind a link": (
        run_code(f"import os; os.symlink({ENV}, 'soft'); print(open('soft').read())")
    ),
    "a secret in a moved directory": (
        "mv conf moved; "
        + run_code("print(open('moved/serv' + 'er.pem').read())")
        + "; mv moved conf"
    ),
    "a secret in an archive": "tar cf all.tar --exclude=all.tar . ; "
    + run_code("print(open('all.tar', 'rb').read())"),
    "a secret unmounted": (
        run_code(f"import ctypes; print(ctypes.CDLL(None).umount2(({ENV}).encode(), 2))")
        + f"; {SHOW_ENV}"
    ),
    "a secret replaced": run_code(f"import os; os.replace('a.py', {ENV})"),
    "a secret written": run_code(f"open({ENV}, 'a').write('x')"),
    "a hook": run_code(f"open({GIT}/hooks/pre-commit', 'w').write('x')"),
    "the hooks replaced": run_code(f"import os; os.rename({GIT}/hooks', {GIT}/old')"),
    "the repository replaced": run_code(f"import os; os.rename({GIT}', 'old')"),
    "a setting of git": "git config core.hooksPath hooks",
    "a setting of git by code": run_code(f"open({GIT}/config', 'a').write('x')"),
    "a task of the editor": run_code(f"open({VSCODE}/tasks.json', 'w').write('x')"),
    "a new file of the editor": run_code(f"open({VSCODE}/launch.json', 'w').write('x')"),
    "a workflow": run_code("open('.git' + 'hub/workflows/new.yml', 'w').write('x')"),
    "a file outside": run_code("open('../outside.txt', 'w').write('x')"),
    "the network": run_code(
        "import socket; socket.create_connection(('93.184.216.34', 80), 2).send(b'x')"
    ),
}
"""They pass, and the sandbox keeps secrets and the files that others run from them."""
