#!/usr/bin/env bash
# PostgreSQL 16.2 (PyPI `pgserver` 0.1.4): one connection commits with `synchronous_commit = off`, which returns before the
# commit is on the disk. It then runs a second transaction with `synchronous_commit = on`, and wants to know that both are
# durable when that one ends.
#
# If the second transaction only gets a number (`pg_current_xact_id()`), it is recorded as committed, but its commit waits
# for nothing, and the first one is still not on the disk. The log is written only if the second transaction has put a
# record into it before its commit, for example by `pg_logical_emit_message(true, …)`.
#
#   after the first commit: false, after a transaction with a number: false, after one with a record: true
#
# Installs the package in a temporary directory; needs python3 with venv. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then
  # The server does not run as root.
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$place"
fi
cd "$place"
python3 -m venv venv
venv/bin/pip install --quiet --no-deps pgserver==0.1.4
bin=$(echo "$place"/venv/lib/python3*/site-packages/pgserver/pginstall/bin)
mkdir data socket
[ ${#as[@]} = 0 ] || chown 65534:65534 data socket
"${as[@]}" "$bin/initdb" -D data -U finder -A trust --locale=C -E UTF8 >/dev/null
"${as[@]}" "$bin/postgres" -D data -k "$place/socket" -c listen_addresses= -c wal_writer_delay=10s -c autovacuum=off \
  >log 2>&1 &
server=$!
trap 'kill -QUIT $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$place"' EXIT
until "$bin/pg_isready" -q -h "$place/socket"; do sleep 0.1; done

"$bin/psql" -h "$place/socket" -U finder -d postgres -qAt -v ON_ERROR_STOP=1 >told <<'SQL'
SELECT split_part(version(), ' ', 2);
CREATE TABLE once (number int);
SET synchronous_commit = off;
INSERT INTO once VALUES (1);
SELECT pg_current_wal_insert_lsn() AS inserted \gset
SELECT (pg_current_wal_flush_lsn() >= :'inserted')::text;
SET synchronous_commit = on;
SELECT pg_current_xact_id() IS NOT NULL AS numbered \gset
SELECT (pg_current_wal_flush_lsn() >= :'inserted')::text;
SELECT pg_logical_emit_message(true, 'finding', '') IS NOT NULL AS recorded \gset
SELECT (pg_current_wal_flush_lsn() >= :'inserted')::text;
SQL
mapfile -t told <told
echo "PostgreSQL ${told[0]}: after the first commit: ${told[1]}, after a transaction with a number: ${told[2]}," \
  "after one with a record: ${told[3]}"
[ "${told[*]:1}" = "false false true" ]
