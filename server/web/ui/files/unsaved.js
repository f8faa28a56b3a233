// What a person has typed is not lost without a question: by a link, by another address, or by closing the tab.
import { confirm, h } from "./dom.js";

// sureToLose asks whether what was typed may be lost. text says what it is.
export const sureToLose = (text = "What you have typed here is not saved.") =>
  confirm("Leave without saving?", [h("p", {}, text)], "Discard it", true);

// onNavigation calls go when the address has changed, but asks first if part() has something unsaved. A part that can
// have some has unsaved(), which may be the text to ask with, and discard() to forget it.
export function onNavigation(part, go) {
  async function ask(wanted) {
    const text = part().unsaved();
    if (!(await sureToLose(typeof text === "string" && text ? text : undefined))) return;
    part().discard();
    location.hash = wanted;
  }
  window.addEventListener("beforeunload", (e) => {
    if (part().unsaved?.()) e.preventDefault(); // the browser asks
  });
  // A link is held before it is followed, so that the history has no entry of it.
  document.addEventListener("click", (e) => {
    const hash = e.target.closest?.("a[href^='#']")?.hash;
    if (!hash || hash === location.hash || e.defaultPrevented || e.ctrlKey || e.metaKey || e.shiftKey) return;
    if (!part().unsaved?.()) return;
    e.preventDefault();
    ask(hash);
  });
  window.addEventListener("hashchange", (e) => {
    if (!part().unsaved?.()) {
      go();
      return;
    }
    const wanted = location.hash;
    history.replaceState(null, "", e.oldURL); // at once: whatever is drawn meanwhile is still the old part
    ask(wanted);
  });
}
