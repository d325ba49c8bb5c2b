#!/usr/bin/env bash
# npm `mcporter` 0.12.3: one variable that is not set, in the environment of one server of a configuration, disables all
# servers of the file.
#
#   {"mcpServers": {"good": …, "other": {…, "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}}}}
#   mcporter call --config mcp.json good.echo message=hi      fails, and names NOT_SET_ANYWHERE
#
# One would guess that only the server which needs the variable cannot be used, as other clients of such files do: they
# leave that server out, or pass the text on. A shared file with one optional server is then unusable for everybody who
# does not use that server.
#
# Installs the packages in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --silent --no-audit --no-fund --prefix . \
  mcporter@0.12.3 @modelcontextprotocol/server-everything@2026.8.31 node@24 >/dev/null
export PATH="$place/node_modules/.bin:$PATH" HOME="$place"
unset NOT_SET_ANYWHERE || true
server='"command": "node", "args": ["node_modules/@modelcontextprotocol/server-everything/dist/index.js"]'
echo "{\"mcpServers\": {\"good\": {$server}}}" >alone.json
echo "{\"mcpServers\": {\"good\": {$server}, \"other\": {$server, \"env\": {\"TOKEN\": \"\${NOT_SET_ANYWHERE}\"}}}}" >both.json
mcporter call --config alone.json good.echo message=hi | tee alone.out
grep -q 'hi' alone.out
if mcporter call --config both.json good.echo message=hi >both.out 2>&1; then
  cat both.out
  exit 1
fi
cat both.out
grep -q 'NOT_SET_ANYWHERE' both.out
