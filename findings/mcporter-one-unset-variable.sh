#!/usr/bin/env bash
# npm `mcporter` 0.12.3: a variable that is not set, in an argument of one server of a configuration, disables all servers
# of the file. In the environment of that server, the same variable disables nothing.
#
#   {"mcpServers": {"good": …, "other": {…, "args": […, "${NOT_SET_ANYWHERE}"]}}}
#   mcporter call --config mcp.json good.echo message=hi      fails, and names NOT_SET_ANYWHERE
#   the same with "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}      Echo: hi
#
# One would guess that the place in which the variable stands makes no difference, and that only the server which needs it
# cannot be used. A shared file with one optional server is then unusable for everybody who does not use that server.
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
other='"command": "node", "args": ["node_modules/@modelcontextprotocol/server-everything/dist/index.js"'
echo "{\"mcpServers\": {\"good\": {$server}, \"other\": {$other], \"env\": {\"TOKEN\": \"\${NOT_SET_ANYWHERE}\"}}}}" >environment.json
echo "{\"mcpServers\": {\"good\": {$server}, \"other\": {$other, \"\${NOT_SET_ANYWHERE}\"]}}}" >argument.json
mcporter call --config environment.json good.echo message=hi | tee environment.out
grep -q 'hi' environment.out
if mcporter call --config argument.json good.echo message=hi >argument.out 2>&1; then
  cat argument.out
  exit 1
fi
head -1 argument.out
grep -q 'NOT_SET_ANYWHERE' argument.out
