"""Names of secrets and of settings, and names that only look like them."""

from pathlib import Path

from pathspec import GitIgnoreSpec

from acp_server.permissions.protected_names import SEARCH_GLOBS, is_protected
from tests.support.case_table import each_case

_PROTECTED = """
.env .env.local .env.production .env_backup .env-old .env2 .environment .envrc prod.env a/b/test.env
.env/activate .envs/production .ENV .Env.Local PROD.ENV .env. x.env.local
.git .git/config .git/hooks/pre-commit a/.git/HEAD .GIT/config .gIt sub.git/hooks/update
git~1/config .gitconfig .gitmodules .git-credentials
.ssh/id_rsa .ssh/known_hosts .SSH/config a/.ssh/x .gnupg/x .aws/credentials .azure/x .kube/config
.docker/config.json .hg/hgrc .svn/entries .password-store/x.gpg
id_rsa id_rsa.old id_ed25519 ID_RSA id_ecdsa_work id_dsa server.pem server.key KEY.PEM a.p12 a.pfx
a.jks a.keystore a.kdbx a.ppk a.asc
.netrc _netrc .npmrc .pypirc .pgpass .htpasswd .dockercfg .hermesignore
credentials credentials.json credentials.yml secrets.yaml secret.txt secrets.toml Secrets.YAML
service-account.json service_account-prod.json serviceAccountKey.json
.e\u200bnv \uff0eenv .g\u200dit/config .\u017fsh/id_rsa
"""
_HARMLESS = """
env environment environment.py env.py src/env.ts .env.example .env.sample .env-template .env.dist
.ENV.EXAMPLE git github .github/workflows/ci.yml .gitignore .gitattributes .gitkeep git.py
ssh ssh.py aws.py docker Dockerfile .dockerignore keys.py key keyboard.json monkey.txt pem.py
id_rsa.pub id_ed25519.pub identity.py credentials.py credentials_test.go secrets.py secret.py
secrets/README.md package.json README.md a.keys turnkey .editorconfig .vscode/settings.json
"""
PROTECTED, HARMLESS = _PROTECTED.split(), _HARMLESS.split()


@each_case("name", PROTECTED)
def test_a_secret_is_recognized_by_its_name(name: str) -> None:
    assert is_protected(Path(name))
    assert is_protected(Path("/anywhere") / name)


@each_case("name", HARMLESS)
def test_a_path_that_only_resembles_a_secret_is_harmless(name: str) -> None:
    assert not is_protected(Path(name))


@each_case("name", [name for name in PROTECTED if name.isascii()])
def test_a_search_excludes_protected_paths(name: str) -> None:
    spec = GitIgnoreSpec.from_lines(SEARCH_GLOBS)
    assert spec.match_file(name.casefold().rstrip("."))  # case is left to the search
