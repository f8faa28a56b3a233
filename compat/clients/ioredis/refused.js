// The npm package ioredis, as it is, at the node on PORT, which refuses what comes too fast.
//
// It runs transactions and single commands for some seconds, and says "ok" with their numbers if no call was told what is
// not so.
const assert = require("node:assert/strict");
const Redis = require("ioredis");

const r = new Redis({ port: Number(process.argv[2]), maxRetriesPerRequest: 0 });
const seconds = Number(process.argv[3]);
r.on("error", () => {});
const big = "x".repeat(60 << 10);
const end = Date.now() + seconds * 1000;
let refused = 0;
let done = 0;

async function work(w) {
  for (let i = 0; Date.now() < end; i++) {
    const name = `js/${w}/${i}`;
    try {
      const results = await r.multi().set(name, big).incr(name + "/n").exec();
      assert.deepEqual(results, [[null, "OK"], [null, 1]]);
      done++;
    } catch (e) {
      if (e instanceof assert.AssertionError) throw e;
      refused++;
    }
    const [value, said] = await Promise.all([r.get("balance").catch(() => "100"), r.set("js/order", "1").catch(() => "OK")]);
    assert.equal(value, "100");
    assert.equal(said, "OK");
  }
}

Promise.all(Array.from({ length: 4 }, (_, w) => work(w))).then(
  () => {
    console.log(`ok ${done} done, ${refused} refused`);
    process.exit(0);
  },
  (e) => {
    console.error(e);
    process.exit(1);
  },
);
