// When tokens were last used, as all members tell it: each keeps that of its own clients only.
import { ask } from "./api.js";
import { h } from "./dom.js";
import { ago } from "./text.js";

const most = 200; // tokens in a question
const wait = 4000; // ms; the node waits for the others for a second

// Uses keeps the answers about the tokens whose accessors shown returns.
export class Uses {
  constructor(app, shown) {
    Object.assign(this, { app, shown, answers: new Map(), silent: [], failed: false });
  }

  // source is one of a Poll.
  source() {
    return { name: "uses", every: 10000, ask: () => this.ask() };
  }

  async ask() {
    const body = JSON.stringify(this.shown().slice(0, most));
    if (body === "[]") return;
    try {
      const { data } = await ask("POST", "v1/acl/uses", { body, wait });
      for (const u of data.uses) this.answers.set(u.accessor, u);
      Object.assign(this, { silent: data.silent, failed: false });
    } catch {
      this.failed = true; // what is known of before stays
    }
    this.app.draw();
  }

  // of says when a token was last used. Until the members have told, what the answer about the token says counts, which
  // is of this node.
  of(t) {
    const told = this.answers.get(t.AccessorID);
    if (told?.last_used) return `last used ${ago(Date.parse(told.last_used))} on node ${told.node}`;
    if (told) return "not used since the nodes started";
    if (t.LastUsed) return `last used ${ago(Date.parse(t.LastUsed))} on this node`;
    return "not used on this node since it started";
  }

  // gap says which members have not told; null if all have.
  gap() {
    const who = this.failed ? "the other nodes" : this.silent.map((n) => `node ${n}`).join(", ");
    if (who === "") return null;
    const text = `Without an answer: ${who}. A token may have been used there later.`;
    return h("p", { class: "alert", role: "status" }, text);
  }
}
