#!/usr/bin/env bash
# Linux 6.18 (tmpfs and ext4), CPython's os.removexattr: the access ACL of a file that has none is removed with success, where
# every other absent attribute answers ENODATA. On tmpfs this also sets the change time of the file, although nothing changed; on
# ext4 the time stays.
#
# A program that asks "was there an ACL?" by removing it thus always hears yes, and one that makes its copies of files free of
# ACLs gives each of them a new change time on tmpfs, which a backup or a build may take for a change.
#
#   tmpfs: the ACL removed, change time new; user attribute: No data available
#   ext4: the ACL removed, change time as before; user attribute: No data available
#
# Needs python3, a tmpfs at /dev/shm, and root for an ext4 of its own (left out without). Exits with 1 if it behaves otherwise.
set -euo pipefail
place=$(mktemp -d)
shared=$(mktemp -d -p /dev/shm)
mounted=
trap '[ -z "$mounted" ] || umount "$place/ext4"; rm -rf "$place" "$shared"' EXIT

look() {
  python3 - "$1" "$2" <<'P'
import os, sys, time

name, directory = sys.argv[1:]
path = os.path.join(directory, "file")
open(path, "w").close()
before = os.stat(path).st_ctime_ns
time.sleep(0.1)
os.removexattr(path, "system.posix_acl_access")
after = "as before" if os.stat(path).st_ctime_ns == before else "new"
try:
    os.removexattr(path, "user.none")
    other = "removed"
except OSError as error:
    other = error.strerror
print(f"{name}: the ACL removed, change time {after}; user attribute: {other}")
P
}

uname -r
seen=$(look tmpfs "$shared")
echo "$seen"
[ "$seen" = "tmpfs: the ACL removed, change time new; user attribute: No data available" ]
if [ "$(id -u)" = 0 ]; then
  truncate -s 32M "$place/disk"
  mkfs.ext4 -q -F "$place/disk"
  mkdir "$place/ext4"
  mount -o loop "$place/disk" "$place/ext4"
  mounted=yes
  seen=$(look ext4 "$place/ext4")
  echo "$seen"
  [ "$seen" = "ext4: the ACL removed, change time as before; user attribute: No data available" ]
fi
