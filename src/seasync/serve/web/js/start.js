// The start page: compare two videos at once, compare with a model, search or label a collection, reopen a comparison.

import { get } from "./api.js";
import { acceptDrops, chooseFiles, listRefused, sendFile } from "./add.js";
import { comparisonLink, comparisonList, keepComparison, NO_SEA, openFile } from "./comparisons.js";
import { h, icon, link, loading, toast } from "./dom.js";

const MOST = 9; // videos in a grid
const isSaved = (file) => file.name.toLowerCase().endsWith(".seasync");

export async function startView({ sea, place, signal }) {
  const state = h("div.busy", { role: "status", hidden: true });
  const chosen = [null, null]; // what goes into the two slots: {file, sent}, `sent` a promise of the upload
  const slots = [0, 1].map(slot);
  const compare = h("button.primary", { type: "button", disabled: true, onclick: begin }, "Compare");
  const spans = h("button", { type: "button", hidden: true, onclick: () => ((chosen[1] = chosen[0]), begin()) }, "Compare two parts of this video");
  const list = h("div");
  place.append(
    h("h1", {}, "Compare videos in step"),
    h("section.two", { "aria-label": "Compare two videos" },
      h("h2", {}, "Compare two videos"),
      h("p.faint", {}, "Drop or choose two videos of the same movement. Seasync plays them in step and shows where one is late."),
      h("div.slots", {}, slots.map(({ box }) => box)),
      h("div.actions", {}, compare, spans, h("span.space"), h("button", { type: "button", onclick: async () => take(await chooseFiles(true, ".seasync,video/*")) }, "Open a .seasync file")),
      state),
    h("ul.ways", {},
      way("swap", "Compare with a model", "Your video beside a clip of the sea.", async () => withModel((await chooseFiles(false))[0])),
      way("grid", "Compare several takes", "One reference and up to eight takes in a grid.", async () => beginGrid(await chooseFiles(true))),
      way("search", "Search a collection", "Find the clips that move like yours.", link(sea, "search")),
      way("mark", "Label a collection", "Mark moments on a few clips, carry them to all.", link(sea, "label"))),
    list);
  drawSlots();
  acceptDrops(place, "Drop two videos, or several takes", take, signal);
  showComparisons();

  /** Say what is under way; nothing without words. */
  function tell(text) {
    state.hidden = !text;
    state.replaceChildren(loading(text));
  }

  function slot(n) {
    const words = h("span");
    const box = h("button.slot", { type: "button", onclick: async () => fill(n, await chooseFiles()) }, icon("add"), words);
    return { box, words };
  }

  function way(picture, title, text, go) {
    const content = [icon(picture), h("span", {}, h("b", {}, title), h("span.faint", {}, text))];
    return h("li", {}, typeof go === "string" ? h("a.way", { href: go }, content) : h("button.way", { type: "button", onclick: go }, content));
  }

  /** Files that were chosen for a slot: one goes there, several are taken like dropped ones. */
  function fill(n, files) {
    if (files.length !== 1) return take(files);
    put(n, files[0]);
    if (chosen[0] && chosen[1]) begin();
  }

  /** A file goes into a slot. Its upload begins at once; nobody waits for the second one to be chosen. */
  function put(n, file) {
    const sent = sendFile(file, { compare: true });
    chosen[n] = { file, sent };
    drawSlots();
    sent.then((upload) => {
      if (upload || chosen[n]?.sent !== sent) return;
      chosen[n] = null; // refused or cancelled; the tray says why
      drawSlots();
    });
  }

  function drawSlots() {
    slots.forEach(({ box, words }, n) => {
      words.textContent = chosen[n]?.file.name ?? (n ? "Second video" : "First video");
      box.classList.toggle("filled", Boolean(chosen[n]));
    });
    compare.disabled = !(chosen[0] && chosen[1]);
    spans.hidden = !chosen[0] || Boolean(chosen[1]);
  }

  /** Files that were dropped or chosen: one fills the next slot, two are compared at once, more go into a grid. */
  function take(files) {
    if (!files.length) return;
    const saved = files.find(isSaved);
    if (saved) return open(saved, files.filter((file) => !isSaved(file)));
    if (files.length > 2) return beginGrid(files);
    if (files.length === 2) files.forEach((file, n) => put(n, file));
    else put(chosen[0] ? 1 : 0, files[0]);
    if (chosen[0] && chosen[1]) begin();
  }

  /** Open a saved comparison; its videos may come with it. */
  async function open(file, videos) {
    tell(`Opening ${file.name}…`);
    for (const video of videos) await sendFile(video);
    await openFile(file).catch((error) => toast(error.message, "bad"));
    tell("");
  }

  async function begin() {
    const [first, second] = chosen;
    compare.disabled = true;
    tell("Uploading…");
    const [query, match] = await Promise.all([first.sent, second.sent]);
    if (signal.aborted) return; // somebody has gone elsewhere meanwhile
    tell("");
    if (!query || !match) return drawSlots();
    const half = query.seconds / 2;
    const spans = first === second ? { end: half.toFixed(3), match_start: half.toFixed(3) } : {};
    location.hash = comparisonLink(await keepComparison(NO_SEA, { query: query.ref, match: match.ref, ...spans }));
  }

  /** Several takes: the first file is the reference, the others follow it. */
  async function beginGrid(files) {
    if (!files.length) return;
    if (files.length > MOST) toast(`A grid has at most ${MOST} videos; the first ${MOST} are taken`);
    const refs = [];
    const failed = [];
    const taken = files.slice(0, MOST);
    for (const file of taken) {
      tell(`Uploading ${file.name}…`);
      const sent = await sendFile(file, { refused: (reason) => failed.push({ file: file.name, reason }), compare: true });
      if (sent && !refs.includes(sent.ref)) refs.push(sent.ref);
    }
    if (failed.length) listRefused(failed, taken.length);
    tell("");
    if (refs.length < 2 || signal.aborted) return;
    const [query, match, ...takes] = refs;
    location.hash = comparisonLink(await keepComparison(NO_SEA, { query, match, takes, consensus: true }, { grid: true }));
  }

  async function withModel(file) {
    const sent = file && (await sendFile(file));
    if (sent) location.hash = link(sea, "sea", { with: sent.ref });
  }

  async function showComparisons() {
    const found = await get("/comparisons", {}, signal);
    if (found.length) list.replaceChildren(h("h2", {}, "Your comparisons"), comparisonList(found));
  }
}
