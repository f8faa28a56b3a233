// A question before what cannot be taken back: the person types the name of what is meant.
import { h, patch } from "./dom.js";

// confirmTyped is confirm of dom.js with a field to type word in. Until it holds the word, the button does nothing.
export function confirmTyped(title, body, verb, word) {
  const dialog = document.getElementById("dialog");
  if (dialog.open) return Promise.resolve(false);
  return new Promise((resolve) => {
    let typed = "",
      answer = false;
    const yes = () => {
      answer = typed === word;
      if (answer) dialog.close();
    };
    const draw = () => patch(dialog, [h("h2", { id: "dialog-title" }, title), ...body, ...field(), choice()]);
    const field = () => [
      h(
        "label",
        { class: "grow typed" },
        h("span", {}, "To go on, type its name: ", h("code", {}, word)),
        h("input", {
          type: "text",
          value: typed,
          autofocus: true,
          autocomplete: "off",
          spellcheck: "false",
          oninput: (e) => {
            typed = e.target.value;
            draw();
          },
          onkeydown: (e) => e.key === "Enter" && yes(),
        }),
      ),
    ];
    const choice = () =>
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          { type: "button", class: "danger", "aria-disabled": typed === word ? null : "true", onclick: yes },
          verb,
        ),
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
      );
    draw();
    dialog.addEventListener(
      "close",
      () => {
        patch(dialog, []);
        resolve(answer);
      },
      { once: true },
    );
    dialog.showModal();
  });
}
