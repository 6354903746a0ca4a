// The keys.

import { h, showDialog } from "./dom.js";

const KEYS = {
  "Everywhere": [["?", "these keys"], ["Ctrl Z", "undo: anchors, marks, drawings, edits of clips, the order of a grid; with Shift, redo"]],
  "Sea": [["/", "filter"], ["Arrows", "from clip to clip"], ["Enter", "search with it"], ["M", "mark it"], ["E", "edit its name, label and tags"], ["Delete", "remove it from the sea"]],
  "In step": [
    ["Space", "play, pause"], ["← →", "one frame"], ["Shift ← →", "ten frames"], ["Home End", "first, last frame"],
    ["[ ]", "slower, faster"], ["L", "loop"], ["B", "loop a span: press at its start, at its end, and once more to end it"], ["S", "skip frames without a counterpart"], ["O", "side by side, stacked, overlaid"], ["X", "swap the two videos"], ["Q", "sound: none, of the first video, of the second"], ["K", "keep the clock of the first video, or of the second"], ["I", "mirror the second video"], ["F", "full screen"], ["+ − 0", "zoom in, out, reset; drag to move the picture"],
    ["A", "set an anchor: ← → move the other video, Enter pins, Esc leaves"],
  ],
  "Check carried marks": [["Enter", "confirm, then the next doubtful clip"], ["N", "next without confirming"], ["← →", "move the mark by a frame; with Shift, ten"], ["↑ ↓", "choose another mark"]],
  "Marks": [["M", "key moment"], ["P", "start of a phase"], ["1 – 9", "the key moment of that number"], ["Backspace", "remove the mark here"]],
};

export function showHelp() {
  const dialog = h("dialog.help", { "aria-label": "Keys", onclick: (event) => event.target === dialog && dialog.close() },
    h("h2", { tabindex: -1, autofocus: true }, "Keys"), // not the button: on a phone that is far down
    h("div.columns", {}, Object.entries(KEYS).map(([title, keys]) =>
      h("section", {}, h("h3", {}, title), h("dl", {}, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]))))),
    h("form", { method: "dialog" }, h("button.primary", {}, "Close")));
  showDialog(dialog);
}
