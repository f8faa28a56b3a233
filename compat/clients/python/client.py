"""python-consul, as it is, against the node at HOST PORT.

Says "ready" when it holds a lock and waits for a key, goes on when a line comes in, and says "ok" when all was right. In
between the cluster may lose its master.
"""

import sys
import threading

import consul

node = consul.Consul(host=sys.argv[1], port=int(sys.argv[2]))
kv, session = node.kv, node.session


def same(got, want):
    assert got == want, "got %r, want %r" % (got, want)


# Keys.
index, absent = kv.get("py/none")
same(absent, None)
assert int(index) > 0
same(kv.put("py/a", b"\x00\xff binary", flags=42), True)
index, entry = kv.get("py/a")
same((entry["Value"], entry["Flags"], entry["ModifyIndex"]), (b"\x00\xff binary", 42, int(index)))
for mode in "default", "consistent", "stale":
    same(node.kv.get("py/a", consistency=mode)[1]["Key"], "py/a")
for name in "py/ü 漢%2F+", "py/dir/x", "py/dir/y":
    same(kv.put(name, name.encode()), True)
    same(kv.get(name)[1]["Value"].decode(), name)
same([e["Key"] for e in kv.get("py/", recurse=True)[1]], ["py/a", "py/dir/x", "py/dir/y", "py/ü 漢%2F+"])
same(kv.get("py/", keys=True, separator="/")[1], ["py/a", "py/dir/", "py/ü 漢%2F+"])
same(kv.get("py/dir/", recurse=True, keys=True)[1], ["py/dir/x", "py/dir/y"])

# Conditions.
same(kv.put("py/a", "2", cas=0), False)
same(kv.put("py/a", "2", cas=entry["ModifyIndex"]), True)
same(kv.delete("py/a", cas=entry["ModifyIndex"]), False)
same(kv.delete("py/dir/", recurse=True), True)
same(kv.get("py/dir/", recurse=True)[1], None)

# Sessions and locks.
mine = session.create(name="py", ttl=10, lock_delay=0, behavior="delete")
other = session.create(checks=[], lock_delay=0)
same(session.renew(mine)["ID"], mine)
same(session.info(mine)[1]["Behavior"], "delete")
assert {mine, other} <= {s["ID"] for s in session.list()[1]}
same(kv.put("py/lock", "mine", acquire=mine), True)
same(kv.put("py/lock", "other", acquire=other), False)
same(kv.get("py/lock")[1]["Session"], mine)
try:
    session.create(ttl=86400 + 1)
    raise SystemExit("a TTL of more than a day was taken")
except (consul.ConsulException, AssertionError):
    pass
same(node.status.leader() in node.status.peers(), True)
assert node.agent.self()["Config"]["NodeName"]

# A blocking query over a change of master.
index, _ = kv.get("py/news")
found = []


def wait():
    at = index
    while not found:
        at, news = kv.get("py/news", index=at, wait="60s")
        if news:
            found.append(news["Value"])


waiting = threading.Thread(target=wait, daemon=True)
waiting.start()
print("ready", flush=True)
sys.stdin.readline()

same(session.renew(mine)["ID"], mine)
same(kv.put("py/lock", "other", acquire=other), False)
same(kv.put("py/news", "come"), True)
waiting.join(20)
same(found, [b"come"])
same(kv.put("py/lock", "free", release=mine), True)
same(kv.put("py/lock", "other", acquire=other), True)
same(session.destroy(other), True)
same(kv.get("py/lock")[1].get("Session"), None)
same(session.destroy(mine), True)
try:
    session.renew(mine)
    raise SystemExit("a session was renewed after its end")
except consul.NotFound:
    pass
same(kv.delete("py/", recurse=True), True)
print("ok", flush=True)
