#!/usr/bin/env bash
# patchloom 0.37.6 (crates.io), `patchloom doc set FILE SELECTOR VALUE --apply`.
#
# Its help promises edits of JSON, YAML and TOML by a parser. Setting a value that is there changes only this value. Setting a
# new key writes the whole JSON document anew: the integer 12345678901234567890123 of another key becomes
# 1.2345678901234568e+22, `1.50` becomes `1.5`, an escape becomes its character, and lists on one line become several lines.
# The exit code is 0, and the output is `updated f.json`.
#
# Seen with cargo 1.95.0: after the set of a value that was there, `diff` shows one line; after the set of a new key, the file
# has `"big": 1.2345678901234568e+22`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo install --quiet --root "$work" --locked --no-default-features --features cli --version 0.37.6 patchloom
cd "$work"
cat > f.json <<'JSON'
{
    "server": {
        "port": 8080,
        "ratio": 1.50
    },
    "big": 12345678901234567890123,
    "list": [1, 2]
}
JSON
cp f.json before.json
bin/patchloom doc set f.json server.port 9090 --apply
changed=$(diff before.json f.json | grep -c '^>') || true
[ "$changed" = 1 ] || { echo "the set of a value that was there changed $changed lines"; exit 1; }
grep -q '"big": 12345678901234567890123' f.json || { echo 'the integer was changed by the first set'; exit 1; }
bin/patchloom doc set f.json server.tls true --apply
cat f.json
grep -q '"big": 1.2345678901234568e+22' f.json || { echo 'the set of a new key keeps the integer now'; exit 1; }
echo 'As stated: a new key changed the value of another one.'
