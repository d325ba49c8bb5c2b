#!/usr/bin/env bash
# PyPI `dbt-core` 1.11.16 with `dbt-duckdb` 1.11.1: of two flags that name a directory, a relative value of one starts at the
# project, and of the other at the working directory.
#
#   dbt parse --project-dir shop --target-path made --log-path made
#       makes shop/made (the target) and ./made (the log)
#
# One would guess that both start at the same place: the working directory, as paths on a command line do, or the project,
# as the paths in `dbt_project.yml` do. A program that lets dbt write to one directory only sees it write to two.
#
# Installs the packages in a temporary directory. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check dbt-core==1.11.16 dbt-duckdb==1.11.1 duckdb==1.5.6

mkdir -p "$place/here/shop/models"
cd "$place/here"
cat >shop/dbt_project.yml <<'YAML'
name: shop
version: "1.0"
profile: shop
flags: {send_anonymous_usage_stats: false}
YAML
cat >shop/profiles.yml <<'YAML'
shop: {target: dev, outputs: {dev: {type: duckdb, path: ":memory:"}}}
YAML
echo "select 1 as n" >shop/models/one.sql
"$place/venv/bin/dbt" parse --project-dir shop --profiles-dir shop --target-path made --log-path made >"$place/told" || {
  cat "$place/told"
  exit 1
}
find . -name made | sort
test -e shop/made/manifest.json && test -e made/dbt.log && ! test -e shop/made/dbt.log && ! test -e made/manifest.json
