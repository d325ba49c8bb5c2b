#!/usr/bin/env bash
# GNU parallel 20221122 (Debian package 20221122+ds-2): a job is started with SIGALRM ignored.
#
#   sleep 3 with an alarm after 1 second, alone: ended by SIGALRM
#   the same as a job of parallel: ended well, after 3 seconds
#
# One would guess that a job starts with the signals that the shell gave to parallel, as with xargs. An ignored signal stays
# ignored across exec, so a program that limits its own time with alarm(2) and no handler has no limit there. (`timeout`
# of coreutils sets a handler, and works.)
#
# Unpacks the package in a temporary directory; needs Debian 12, perl and python3. Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
apt-get download -qq parallel=20221122+ds-2
dpkg -x parallel_*.deb .
cat >limited.py <<'PYTHON'
import os, signal

signal.alarm(1)
os.execvp("sleep", ["sleep", "3"])
PYTHON

end() { "$@" >/dev/null 2>&1 && echo "ended well" || echo "ended with $?"; }
alone=$(end python3 limited.py)
xargs=$(echo limited.py | end xargs -n 1 python3)
parallel=$(end env HOME="$place" usr/bin/parallel python3 ::: limited.py)
echo "alone: $alone; under xargs: $xargs; under parallel: $parallel"
[ "$alone" = "ended with 142" ] && [ "$xargs" = "ended with 125" ] && [ "$parallel" = "ended well" ]
