#!/usr/bin/env bash
# PyPI `mcp-server-git` 2026.10.19: with a `--repository` that is no Git repository, the server ends before the first
# message of the protocol, with exit status 0.
#
#   mcp-server-git --repository /an/empty/directory  < one `initialize` request
#       stdout: nothing     stderr: says that it is not a valid repository     exit status: 0
#
# One would guess a non-zero status, as the program cannot do what it was started for. A client that tells a wrong
# configuration from an end of the session by the exit status takes the first for the second; only stderr tells.
#
# Installs the package in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check mcp-server-git==2026.10.19
mkdir "$place/empty"
request='{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}'
code=0
echo "$request" | "$place/venv/bin/mcp-server-git" --repository "$place/empty" >"$place/out" 2>"$place/err" || code=$?
echo "exit status $code, $(wc -c <"$place/out") bytes on stdout; on stderr:"
sed "s#$place#…#g" "$place/err"
test "$code" = 0 && ! test -s "$place/out" && grep -qi 'repository' "$place/err"
