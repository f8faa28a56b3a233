"""Runs a program under the system calls that a unit allows: confine.py UNIT ROOT UID GID PROGRAM [ARGUMENT...]

The program runs in the directory ROOT as that user, and cannot gain privileges. systemd is asked what its groups of calls hold. Where systemd does not run, this is how to see that a node can bear the
unit's SystemCallFilter.
"""

import errno
import os
import re
import subprocess
import sys

import seccomp


def calls(group):
    """Returns the system calls of a group, with those of the groups in it."""
    if not group.startswith("@"):
        return {group}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True, capture_output=True, text=True).stdout
    found = set()
    for name in re.findall(r"^\s+(@?[a-z0-9_-]+)$", listed, re.M):
        found |= calls(name)
    return found


allowed = set()
for line in open(sys.argv[1]):
    key, _, value = line.strip().partition("=")
    if key != "SystemCallFilter":
        continue
    named = set().union(*(calls(x) for x in value.lstrip("~").split()))
    allowed = allowed - named if value.startswith("~") else allowed | named
if not allowed:
    sys.exit("the unit has no SystemCallFilter")

rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for name in sorted(allowed | {"execve"}):
    try:
        rules.add_rule(seccomp.ALLOW, name)
    except (RuntimeError, ValueError):  # not known on this architecture
        pass
root, uid, gid = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
os.chroot(root)
os.chdir("/")
os.umask(0o077)
os.setgroups([])
os.setgid(gid)
os.setuid(uid)
rules.load()
os.execv(sys.argv[5], sys.argv[5:])
