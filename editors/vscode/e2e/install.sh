#!/usr/bin/env bash
# Installs code-server into a cache directory outside the repository, and prints that directory as the
# last line. Does nothing if it is already installed. Needs npm, a C++ compiler and Python; as root on
# Debian it installs missing packages, including Chromium.
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
    echo "missing packages, please install them: ${missing[*]}" >&2
    return 0
  fi
  apt-get -qq update >&2
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "${missing[@]}" >&2
}

install_code_server() {
  rm -rf "$folder"
  mkdir -p "$folder/node"
  # Install Node and a matching npm as packages too, so that the machine's own versions stay unchanged.
  npm install --prefix "$folder/node" --no-audit --no-fund --silent "node@$node_version" npm@11 >&2
  export PATH="$folder/node/node_modules/.bin:$PATH"
  # The native modules use Node-API, so headers of another major version work too. With local headers,
  # the build downloads nothing.
  if [ -z "${npm_config_nodedir:-}" ] && [ -f /usr/include/node/common.gypi ]; then
    export npm_config_nodedir=/usr
  fi
  # Compile without optimisation: SQLite alone would take most of the time.
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
