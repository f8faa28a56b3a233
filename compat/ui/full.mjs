// The page of a cluster whose disks are at their quota.
import { check, end, has, nodes, open, picture, put, run, show, sound, statusOf, until } from "./harness.mjs";

const value = new Uint8Array(500000);
crypto.getRandomValues(value.subarray(0, 65536));
await put("kept", "small");
await until("the quota", async () => {
  for (let i = 0; i < 100; i++) {
    const { status } = await fetch(`${nodes[0]}/v1/kv/fill%2F${i}`, { method: "PUT", body: value });
    if (status === 507) return true;
  }
});
// The others reach it a little later; until then one of them takes over, and takes writes.
await until("the quota of all", async () => (await statusOf(nodes[0])).full.length === nodes.length);

await run("at the quota", async () => {
  const page = await open(nodes[0], { quiet: true });
  await has(page, "The disk of node 1 is short of space.");
  await has(page, "writes that need space are refused");
  await sound(page, "a full disk");
  await picture(page, "full-1280-light");
  await show(page, "#key?k=kept", "small");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Value").fill("x".repeat(200000));
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "Nothing was changed: no room");
  check("what was typed is kept", (await page.getByLabel("Value").inputValue()).length === 200000);
  await sound(page, "a refused write");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("dialog").getByRole("button", { name: "Discard it" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await has(page, "There is no such key.");
  for (const [fragment, text] of [
    ["#keys?p=fill%2F", "keys here and below"],
    ["#locks", "Sessions"],
    ["#backup", "Download a backup"],
  ]) {
    await show(page, fragment, text);
    await sound(page, `${fragment} of a full disk`);
  }
  await page.context().close();
});

await end();
