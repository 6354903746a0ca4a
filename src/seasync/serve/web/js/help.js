// The keys.

import { h, showDialog } from "./dom.js";

const KEYS = {
  "Everywhere": [["?", "these keys"]],
  "Sea": [["/", "filter"], ["arrows", "from clip to clip"], ["Enter", "search with it"], ["M", "mark it"], ["Delete", "take it out of the sea"]],
  "In step": [
    ["Space", "play, pause"], ["← →", "one frame"], ["Shift ← →", "ten frames"], ["Home End", "first, last frame"],
    ["[ ]", "slower, faster"], ["L", "loop"], ["S", "pass over what has no counterpart"], ["O", "side by side, stacked, overlaid"], ["K", "keep the query's clock, or the match's"],
    ["A", "anchor: then ← → move the other video alone, Enter pins, Esc leaves"],
  ],
  "Marks": [["M", "key moment"], ["P", "a phase begins"], ["1 – 9", "the key moment of that number"], ["Backspace", "take the mark here away"]],
};

export function showHelp() {
  const dialog = h("dialog.help", { "aria-label": "Keys", onclick: (event) => event.target === dialog && dialog.close() },
    h("h2", { tabindex: -1, autofocus: true }, "Keys"), // not the button: on a phone that is far down
    h("div.columns", {}, Object.entries(KEYS).map(([title, keys]) =>
      h("section", {}, h("h3", {}, title), h("dl", {}, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]))))),
    h("form", { method: "dialog" }, h("button.primary", {}, "Close")));
  showDialog(dialog);
}
