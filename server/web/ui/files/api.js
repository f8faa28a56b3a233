// The API of the node that this page came from. Paths are relative to the page, so that a proxy may add one in front.
import { parse } from "./json.js";

const root = new URL("../", import.meta.url);
const stored = "tenure-token";
const statusWait = 2000; // ms; nothing that status reads waits for anything
const usualWait = 12000; // a node answers within 10 s, or says that it cannot
const readWait = 4000; // of what is asked again and again
const spare = 1000; // by how much sooner the node is to answer than the page gives up
const tries = 4;

let token = sessionStorage.getItem(stored) ?? "";
let newest = 0n; // the largest revision that any answer has named
let cluster = ""; // of the first status

export const hasToken = () => token !== "";

// useToken keeps a token until the tab is closed; "" forgets it.
export function useToken(secret) {
  token = secret;
  if (secret) sessionStorage.setItem(stored, secret);
  else sessionStorage.removeItem(stored);
}

// A Failure is an answer that is no success, or that there was none: then code is "unreachable".
export class Failure extends Error {
  constructor(status, code, text) {
    super(text);
    this.status = status;
    this.code = code;
  }
  get denied() {
    return this.code === "denied" || this.code === "unknown-token";
  }
  get inDoubt() {
    return ["unknown", "key-too-old", "internal", "unreachable"].includes(this.code);
  }
}

const unreachable = (why) => new Failure(0, "unreachable", why);

function note(revision) {
  if (BigInt(revision) > newest) newest = BigInt(revision);
}

// path returns the path of what has a name that is anybody's.
export function path(before, name, after = "") {
  // A browser takes these two for steps in a path, however they are written.
  if (name === "." || name === "..")
    throw new Failure(0, "invalid", `A browser cannot ask for ${name}: use kvctl.`);
  try {
    return before + encodeURIComponent(name) + after;
  } catch {
    throw new Failure(0, "invalid", "That is no Unicode text.");
  }
}

// ask sends one request and returns {data, headers}, or {response} if `stream` is set.
export async function ask(
  method,
  where,
  { query = {}, body, headers = {}, wait = usualWait, stream, signal } = {},
) {
  const url = new URL(where, root);
  for (const [name, value] of Object.entries(query))
    if (value != null && value !== false) url.searchParams.set(name, value === true ? "" : value);
  if (token) headers = { ...headers, "X-Consul-Token": token };
  const end = new AbortController();
  const timer = stream ? 0 : setTimeout(() => end.abort(), wait);
  signal?.addEventListener("abort", () => end.abort());
  let response, text;
  try {
    // same-origin: a certificate of the person goes along, as a node may ask for one
    response = await fetch(url, {
      method,
      body,
      headers,
      signal: end.signal,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
    });
    if (stream && response.ok) return { response };
    text = await response.text();
  } catch {
    throw unreachable(signal?.aborted ? "stopped" : "The node does not answer.");
  } finally {
    clearTimeout(timer);
  }
  const revision = response.headers.get("X-Tenure-Index") ?? response.headers.get("X-Consul-Index");
  if (/^\d+$/.test(revision ?? "")) note(revision);
  if (response.ok) {
    try {
      return { data: text === "" ? null : parse(text), headers: response.headers };
    } catch {
      throw unreachable("The answer is not the API's: is there a proxy before the node?");
    }
  }
  const code = response.headers.get("X-Tenure-Error");
  if (!code) throw unreachable(`The answer ${response.status} is not the node's: is there a proxy before it?`);
  throw new Failure(response.status, code, text.trim() || `The node answered ${response.status} (${code}).`);
}

export const get = (where, query, { wait = readWait } = {}) =>
  ask("GET", where, { query, wait, headers: { "X-Tenure-Timeout-Ms": String(wait - spare) } });

// status asks the node for its view of itself. It needs no token.
export async function status() {
  const { data } = await get("v1/status", {}, { wait: statusWait });
  cluster ||= data.cluster;
  note(data.revision);
  return data;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// write sends a write that is applied once, however often it must be sent.
export async function write(method, where, options = {}) {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join(
    "",
  );
  const headers = { "Idempotency-Key": "ui-" + key, ...forThisCluster() };
  if (newest > 0n) headers["X-Tenure-Base"] = String(newest);
  for (let i = 1; ; i++) {
    try {
      return await ask(method, where, { ...options, headers });
    } catch (err) {
      const again = ["unreachable", "not-applied", "overloaded", "unknown"].includes(err.code);
      if (i === tries || !again) throw err;
    }
    await pause(500 * i);
  }
}

// command sends a request of an operator, once: whether it had an effect can be seen on the page.
export const command = (where, body) =>
  ask("POST", where, { body: JSON.stringify(body), headers: forThisCluster() });

// forThisCluster has a node of another cluster refuse: one may have been set up at the same address since.
const forThisCluster = () => (cluster ? { "X-Tenure-Cluster": cluster } : {});
