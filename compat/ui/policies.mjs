// Tokens and policies on the page: listed, made, narrowed and revoked; a secret is shown once.
import {
  answer,
  api,
  as,
  bootstrap,
  button,
  check,
  end,
  has,
  hostile,
  logIn,
  nodes,
  open,
  policy,
  run,
  show,
  sound,
  token,
  until,
} from "./harness.mjs";

const root = await bootstrap();
const asRoot = as(root);
for (const [Name, Rules] of [
  ["reader", 'key_prefix "" { policy = "read" }'],
  ["writer", 'key_prefix "" { policy = "write" }'],
  ["lister", 'acl = "read"'],
])
  await policy(root, Name, Rules, { Description: hostile });
const lister = await token(root, ["lister"], { Name: "lister" });
const status = async (secret, method, path) =>
  (await fetch(nodes[0] + path, { method, body: method === "PUT" ? "x" : undefined, headers: as(secret) })).status;

let made = "";

await run("a token is made, and its secret shown once", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, root);
  await page.getByRole("link", { name: "Tokens", exact: true }).click();
  await has(page, "All tokens");
  await sound(page, "tokens");
  await button(page, "New token").click();
  await page.getByLabel("Name").fill(hostile);
  await page.getByLabel("Description").fill("for the tests ");
  await page.getByLabel("Expires in").fill("24h");
  await page.getByLabel("reader").check();
  await page.getByLabel("writer").check();
  await sound(page, "a new token");
  await page.getByRole("link", { name: "Policies", exact: true }).click();
  await page.locator("dialog").getByText("What you have typed").waitFor();
  await answer(page, "Cancel");
  await button(page, "Make it").click();
  await has(page, "Copy it now");
  await sound(page, "a secret");
  made = await page.getByLabel("Secret", { exact: true }).inputValue();
  check("it works", (await status(made, "PUT", "/v1/kv/a")) === 200);
  await page.getByRole("link", { name: "Policies", exact: true }).click();
  await page.locator("dialog").getByText("not shown again").waitFor();
  await answer(page, "Cancel");
  check("it is still shown", (await page.getByLabel("Secret", { exact: true }).inputValue()) === made);
  await button(page, "I have kept it").click();
  await has(page, "for the tests⟨U+0020⟩");
  check("it is not shown again", !(await page.content()).includes(made));
  await page.reload();
  await has(page, "for the tests⟨U+0020⟩");
  const row = page.locator(".list li").filter({ hasText: "for the tests" });
  check("its use is shown", /last used .* ago on this node/.test(await row.textContent()), await row.textContent());
  check("its secret is not", !(await page.content()).includes(made));
  await page.context().close();
});

await run("a token is narrowed and revoked", async () => {
  const page = await open(nodes[0], { quiet: true, width: 320, scheme: "dark" });
  await logIn(page, root);
  await show(page, "#tokens", "All tokens");
  await page.locator(".list").getByRole("link", { name: hostile }).click();
  await has(page, "Accessor");
  await sound(page, "a token");
  await button(page, "Change").click();
  await page.getByLabel("writer").uncheck();
  await sound(page, "a token that is changed");
  await button(page, "Save").click();
  await page.locator("dialog").getByText("Taken away: writer.").waitFor();
  await page.locator("dialog").getByText("Given: nothing.").waitFor();
  await sound(page, "what is taken from a token");
  await answer(page, "Change it");
  await has(page, "Saved.");
  check("it may write no more", (await status(made, "PUT", "/v1/kv/a")) === 403);
  check("it may read", (await status(made, "GET", "/v1/kv/a")) === 200);

  await button(page, "Change").click();
  await page.getByLabel("reader").uncheck();
  const accessor = new URL(page.url()).hash.replace("#token?a=", "");
  await api("PUT", "/v1/acl/token/" + accessor, JSON.stringify({ Description: "theirs" }), asRoot);
  await button(page, "Save").click();
  await answer(page, "Change it");
  await has(page, "somebody has changed this token since");
  check("nothing was changed", (await api("GET", "/v1/acl/token/" + accessor, undefined, asRoot)).includes("theirs"));
  await button(page, "Cancel").click();
  await answer(page, "Discard it");

  await button(page, "Revoke").click();
  await page.locator("dialog").getByText("last used").waitFor();
  await sound(page, "a question about a token");
  await answer(page, "Revoke");
  await has(page, "The token was revoked.");
  check("it is refused", (await status(made, "GET", "/v1/kv/a")) === 403);
  const self = JSON.parse(await api("GET", "/v1/acl/token/self", undefined, asRoot)).AccessorID;
  await show(page, "#token?a=" + self, "it cannot revoke itself");
  check("nobody revokes oneself", (await button(page, "Revoke").count()) === 0);
  await page.context().close();
});

await run("policies", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, root);
  await show(page, "#policies", "All policies");
  await sound(page, "policies");
  await button(page, "New policy").click();
  await page.getByLabel("Name").fill("made");
  await page.getByLabel("Rules").fill('key "a" { policy = "reed" }');
  await button(page, "Save").click();
  await has(page, "reed");
  await page.getByLabel("Rules").fill('key "a" { policy = "read" }');
  await button(page, "Save").click();
  await page.getByRole("heading", { name: "made" }).waitFor();
  await has(page, "Tokens that have it");
  await sound(page, "a policy");
  await button(page, "Change").click();
  await page.getByLabel("Rules").fill('key "b" { policy = "read" }');
  await page.getByRole("link", { name: "Locks" }).click();
  await answer(page, "Cancel");
  await button(page, "Save").click();
  await has(page, "Saved.");
  await has(page, 'key "b"');
  await button(page, "Delete").click();
  await page.locator("dialog").getByText("No token has it.").waitFor();
  await answer(page, "Delete");
  await has(page, "All policies");
  await until("that it is gone", async () => (await page.getByRole("link", { name: "made" }).count()) === 0);
  await page.locator(".list").getByRole("link", { name: "lister" }).click();
  await button(page, "Delete").click();
  await page.locator("dialog").getByText("It is taken from 1 token:").waitFor();
  await sound(page, "a question about a policy");
  await answer(page, "Cancel");
  await show(page, "#policy?id=00000000-0000-0000-0000-000000000001", "This policy is built in");
  await page.context().close();
});

await run("with a token that may only look", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, lister);
  await show(page, "#tokens", "This token lacks acl:write.");
  check("New token says so", (await button(page, "New token").getAttribute("aria-disabled")) === "true");
  await button(page, "New token").click({ force: true });
  check("nothing can be typed", (await page.getByLabel("Name").count()) === 0);
  await sound(page, "tokens that may only be seen");
  await page.context().close();
});

await end();
