"""redis-py, as it is, at the node on PORT, which refuses what comes too fast.

Runs transactions and single commands for some seconds, and says "ok" with their numbers if no call was told what is not so.
"""

import sys
import threading
import time

import redis

pool = redis.BlockingConnectionPool(port=int(sys.argv[1]), max_connections=4, decode_responses=True)
r = redis.Redis(connection_pool=pool)
end = time.time() + float(sys.argv[2])
big = "x" * (60 << 10)
done, refused, wrong = [], [], []


def work(w):
    for i in range(1 << 30):
        if time.time() > end:
            return
        name = "py/%d/%d" % (w, i)
        try:
            with r.pipeline() as p:
                if i % 2:
                    p.watch(name)
                    p.multi()
                got = p.set(name, big).incr(name + "/n").execute()
            if got != [True, 1]:
                wrong.append("transaction: %r" % got)
            done.append(name)
        except redis.exceptions.RedisError as e:
            refused.append(e)
        try:
            if r.get("balance") != "100":
                wrong.append("GET balance")
            if r.set("py/order", "1") is not True:
                wrong.append("SET")
        except redis.exceptions.RedisError as e:
            refused.append(e)


threads = [threading.Thread(target=work, args=(w,)) for w in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not wrong, wrong[:5]
print("ok %d done, %d refused" % (len(done), len(refused)))
