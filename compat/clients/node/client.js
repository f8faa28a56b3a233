// The npm package consul, as it is, against the node at HOST PORT.
//
// It says "ready" when it holds a lock and watches a key, goes on when a line comes in, and says "ok" when all was right. In
// between the cluster may lose its master.
const assert = require("node:assert/strict");
const { once } = require("node:events");
const Consul = require("consul");

const node = new Consul({ host: process.argv[2], port: Number(process.argv[3]) });
const { kv, session } = node;

// The package makes undefined of an answer of false.
const no = (answer) => assert.equal(answer ?? false, false);

async function keys() {
  assert.equal(await kv.get("js/none"), undefined);
  assert.equal(await kv.set({ key: "js/a", value: Buffer.from([0, 255, 65]), flags: 42 }), true);
  const raw = await kv.get({ key: "js/a", raw: true });
  assert.deepEqual([...raw], [0, 255, 65]);
  const entry = await kv.get("js/a");
  assert.equal(entry.Flags, 42);
  for (const mode of [{}, { consistent: true }, { stale: true }]) {
    assert.equal((await kv.get({ key: "js/a", ...mode })).Key, "js/a");
  }
  for (const name of ["js/ü 漢%2F+", "js/dir/x", "js/dir/y"]) {
    assert.equal(await kv.set(name, name), true);
    assert.equal((await kv.get(name)).Value, name);
  }
  const all = await kv.get({ key: "js/", recurse: true });
  assert.deepEqual(all.map((e) => e.Key), ["js/a", "js/dir/x", "js/dir/y", "js/ü 漢%2F+"]);
  assert.deepEqual(await kv.keys({ key: "js/", separator: "/" }), ["js/a", "js/dir/", "js/ü 漢%2F+"]);
  no(await kv.set({ key: "js/a", value: "2", cas: 0 }));
  assert.equal(await kv.set({ key: "js/a", value: "2", cas: entry.ModifyIndex }), true);
  no(await kv.del({ key: "js/a", cas: entry.ModifyIndex }));
  assert.equal(await kv.del({ key: "js/dir/", recurse: true }), true);
  assert.equal(await kv.get({ key: "js/dir/", recurse: true }), undefined);
}

async function transactions() {
  const value = Buffer.from("one").toString("base64");
  const set = { KV: { Verb: "set", Key: "js/txn", Value: value } };
  const done = await node.transaction.create([set, { KV: { Verb: "get", Key: "js/txn" } }]);
  assert.equal(done.Results[1].KV.Value, value);
  const failed = node.transaction.create([{ KV: { Verb: "check-not-exists", Key: "js/txn" } }]);
  await assert.rejects(failed, { statusCode: 409 });
}

// A lock, and a watch on a key, over a change of master.
async function locks() {
  const { ID: mine } = await session.create({ name: "js", ttl: "10s", lockdelay: "0s", behavior: "delete" });
  const { ID: other } = await session.create({ lockdelay: "0s" });
  assert.equal((await session.renew(mine))[0].ID, mine);
  assert.equal((await session.get(mine)).Name, "js");
  assert.ok((await session.list()).length >= 2);
  assert.equal(await kv.set({ key: "js/lock", value: "mine", acquire: mine }), true);
  no(await kv.set({ key: "js/lock", value: "other", acquire: other }));
  await assert.rejects(session.create({ ttl: "1ms" }), { statusCode: 500 });
  assert.ok((await node.status.peers()).includes(await node.status.leader()));

  const watch = node.watch({ method: kv.get, options: { key: "js/news", wait: "60s" } });
  const seen = new Promise((resolve) => watch.on("change", (e) => e && resolve(e.Value)));
  await once(watch, "change");
  console.log("ready");
  await once(process.stdin, "data");

  assert.equal((await session.renew(mine))[0].ID, mine);
  no(await kv.set({ key: "js/lock", value: "other", acquire: other }));
  assert.equal(await kv.set("js/news", "come"), true);
  assert.equal(await seen, "come");
  watch.end();
  assert.equal(await kv.set({ key: "js/lock", value: "free", release: mine }), true);
  assert.equal(await kv.set({ key: "js/lock", value: "other", acquire: other }), true);
  await session.destroy(other);
  assert.equal((await kv.get("js/lock")).Session, undefined);
  await session.destroy(mine);
  await assert.rejects(session.renew(mine), { statusCode: 404 });
  assert.equal(await kv.del({ key: "js/", recurse: true }), true);
}

keys()
  .then(transactions)
  .then(locks)
  .then(() => console.log("ok"))
  .then(() => process.exit(0), (err) => {
    console.error(err);
    process.exit(1);
  });
