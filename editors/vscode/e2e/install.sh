#!/usr/bin/env bash
# Puts code-server into a cache folder outside the repository, and prints that folder as its last
# line. Quick when it is there already. Needs npm, a C++ compiler and Python; as root on Debian it
# fetches what else is missing, Chromium included.
set -euo pipefail

code_server_version=4.139.1
node_version=24.9.0 # code-server runs on this major version only
folder="${ACP_SERVER_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/acp-server-e2e}/code-server-$code_server_version"

install_packages() {
  local missing=() package
  for package in libkrb5-dev libsecret-1-dev libx11-dev libxkbfile-dev; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  command -v chromium >/dev/null || missing+=(chromium)
  command -v make >/dev/null && command -v g++ >/dev/null || missing+=(build-essential)
  ((${#missing[@]})) || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "not there, and to be installed by hand: ${missing[*]}" >&2
    return 0
  fi
  apt-get -qq update >&2
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "${missing[@]}" >&2
}

install_code_server() {
  rm -rf "$folder"
  mkdir -p "$folder/node"
  # Node comes as a package too, with an npm that runs on it, so that those of the machine are left
  # alone.
  npm install --prefix "$folder/node" --no-audit --no-fund --silent "node@$node_version" npm@11 >&2
  export PATH="$folder/node/node_modules/.bin:$PATH"
  # The native modules are of Node-API, so headers of another major version serve as well; with
  # these, nothing is fetched to build them.
  if [ -z "${npm_config_nodedir:-}" ] && [ -f /usr/include/node/common.gypi ]; then
    export npm_config_nodedir=/usr
  fi
  # Nothing is compiled for speed: SQLite alone would take most of the time.
  export JOBS=max CFLAGS=-O0 CXXFLAGS=-O0
  npm install --prefix "$folder" --no-audit --no-fund --omit=dev \
    "code-server@$code_server_version" >&2
  XDG_CONFIG_HOME="$folder" "$folder/node_modules/.bin/code-server" --version >&2
  touch "$folder/complete"
}

if [ ! -f "$folder/complete" ]; then
  install_packages
  install_code_server
fi
echo "$folder"
