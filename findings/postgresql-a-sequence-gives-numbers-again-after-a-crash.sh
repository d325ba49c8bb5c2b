#!/usr/bin/env bash
# PostgreSQL 16.2 (PyPI `pgserver` 0.1.4): clients get numbers from a sequence with `synchronous_commit = off`, and use them
# as names outside of the database. The server then crashes (SIGQUIT) before it has written its log.
#
# A sequence does not take a number back if a transaction is rolled back, so one could take all of its numbers for unique.
# But the server puts a record into its log for every 33rd number only. Numbers that were given since a record that has not
# reached the disk are given again: 34 and 35 here, to clients that know them already. Whether a client meets this is thus
# decided by its number, and not by what it waited for.
#
#   34 numbers: given last 34, after the crash 34; 35 numbers: given last 35, after the crash 34; 30 numbers: given last 30,
#   after the crash 34
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
server=
trap 'kill -QUIT $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$place"' EXIT
python3 -m venv venv
venv/bin/pip install --quiet --no-deps pgserver==0.1.4
bin=$(echo "$place"/venv/lib/python3*/site-packages/pgserver/pginstall/bin)
mkdir data socket
[ ${#as[@]} = 0 ] || chown 65534:65534 data socket
"${as[@]}" "$bin/initdb" -D data -U finder -A trust --locale=C -E UTF8 >/dev/null

start() {
  "${as[@]}" "$bin/postgres" -D data -k "$place/socket" -c listen_addresses= -c wal_writer_delay=10s -c autovacuum=off \
    >>log 2>&1 &
  server=$!
  until "$bin/pg_isready" -q -h "$place/socket"; do sleep 0.1; done
}
ask() { "$bin/psql" -h "$place/socket" -U finder -d postgres -qAt -v ON_ERROR_STOP=1 -c "$1"; }

seen=()
for count in 34 35 30; do
  start
  version=$(ask "SELECT split_part(version(), ' ', 2)")
  # The first number is durable.
  ask "DROP SEQUENCE IF EXISTS numbers; CREATE SEQUENCE numbers" 2>/dev/null
  ask "SELECT nextval('numbers')" >/dev/null
  given=$(ask "SET synchronous_commit = off; SELECT max(nextval('numbers')) FROM generate_series(2, $count)")
  kill -QUIT $server
  wait $server 2>/dev/null || true
  start
  again=$(ask "SELECT nextval('numbers')")
  kill -INT $server
  wait $server 2>/dev/null || true
  seen+=("$given/$again")
  echo "PostgreSQL $version, $count numbers: given last $given, after the crash $again"
done
[ "${seen[*]}" = "34/34 35/34 30/34" ]
