// Comparisons that people keep: opened, named, shared, saved to a file.

import { chooseFiles, sendFile } from "./add.js";
import { address, ask, del, get, post, dropUnset } from "./api.js";
import { thumbnailAddress } from "./clips.js";
import { askDialog, capital, copyText, h, icon, iconButton, link, remember, tellDialog, toast } from "./dom.js";

export const NO_SEA = "-"; // uploads are compared there without any sea
const WITHOUT_VIDEOS = 409; // the answer to a file whose videos the server does not have
const FIELDS = ["query", "match", "start", "end", "match_start", "match_end", "recipe", "partial", "order", "consensus", "takes"];

/** The address of a comparison in the sync view, or in the grid. */
export function comparisonLink({ id, sea, alignment, grid }) {
  const { query, match, takes, start, end, recipe, consensus } = alignment;
  if (grid) return link(sea, "grid", { leader: query, follower: [match, ...takes], start, end, recipe, consensus: consensus || "", comparison: id });
  return link(sea, "sync", { ...Object.fromEntries(FIELDS.map((key) => [key, alignment[key] || ""])), comparison: id });
}

/** Keep two videos as a comparison, or several as a grid; the same again are the same comparison. */
export const keepComparison = (sea, request, { grid = false } = {}) => post("/comparisons", { sea, alignment: alignmentOf(request), grid });

/** What a comparison keeps of a request. */
export const alignmentOf = (request) => dropUnset(Object.fromEntries(FIELDS.map((key) => [key, request[key]])));

export const changeComparison = (id, change) => ask("PATCH", `/comparisons/${id}`, { body: change });

/** Open a `.seasync` file and go to what it holds. If it is without its videos, ask for them. */
export async function openFile(file) {
  const answer = await fetch(address("/comparisons/file"), { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file });
  const known = await answer.json();
  if (answer.ok) location.hash = comparisonLink(known);
  else if (answer.status === WITHOUT_VIDEOS) askForVideos(file, known.detail);
  else throw new Error(known.detail);
}

function askForVideos(file, reason) {
  askDialog(`${file.name} needs its videos`, h("p", {}, `${capital(reason)}.`), h("button.primary", { autofocus: true }, "Choose the videos"), async () => {
    for (const video of await chooseFiles()) await sendFile(video);
    await openFile(file);
  });
}

/** With or without the videos? */
function saveDialog({ id, name }) {
  const way = (embed, title, text) => h("li", {}, h("a.way", { href: address(`/comparisons/${id}/file`, { embed }), download: "", onclick: () => dialog.close() }, icon("save"), h("span", {}, h("b", {}, title), h("span.faint", {}, text))));
  const dialog = tellDialog("dialog", "Save as a file", [
    h("p", {}, `${name}, with its anchors, marks and drawings.`),
    h("ul.ways", {},
      way(true, "With the videos", "Opens on every machine with Seasync."),
      way(false, "Without the videos", "A small file. To open it, you need the same two videos."))],
    h("div.actions", {}, h("button", {}, "Cancel")));
}

function renameDialog(comparison, renamed) {
  const name = h("input", { name: "name", value: comparison.name, maxlength: 120, required: true, autofocus: true, autocomplete: "off" });
  askDialog("Rename the comparison", h("label", {}, "Name", name), h("button.primary", {}, "Rename"), async () => renamed(await changeComparison(comparison.id, { name: name.value.trim() })));
}

/** The list of comparisons, as cards. */
export function comparisonList(comparisons) {
  const list = h("ul.comparisons", { "aria-label": "Comparisons" });
  list.append(...comparisons.map(card));
  return list;

  function card(comparison) {
    const { alignment, sea } = comparison;
    const name = h("span.name", { title: comparison.name }, comparison.name);
    const picture = (ref) => h("img", { src: thumbnailAddress(sea, ref, { height: 160 }), alt: "", loading: "lazy" });
    const item = h("li.comparison", {},
      h("a.open", { href: comparisonLink(comparison) }, h("div.pair", {}, picture(alignment.query), picture(alignment.match)), name),
      h("div.line", {}, h("span.faint", {}, new Date(1000 * comparison.changed).toLocaleDateString()), h("span.space"),
        iconButton("rename", `Rename ${comparison.name}`, { onclick: () => renameDialog(comparison, (changed) => ((comparison.name = changed.name), (name.textContent = changed.name))) }),
        comparison.grid ? null : iconButton("save", `Save ${comparison.name} as a file`, { onclick: () => saveDialog(comparison) }),
        iconButton("trash", `Delete ${comparison.name}`, { onclick: () => remove(comparison, item) })));
    return item;
  }

  function remove(comparison, item) {
    askDialog(`Delete ${comparison.name}?`, h("p", {}, "Its uploaded videos are deleted after a day, unless something else uses them."), h("button.danger", { autofocus: true }, "Delete"), async () => {
      await del(`/comparisons/${comparison.id}`);
      item.remove();
    });
  }
}

/** The comparison that a sync view shows: its name, and what can be done with it. */
export function comparisonBar(session, id) {
  const box = h("span.comparison-bar");
  let comparison = null;
  const show = (found) => {
    comparison = found;
    box.replaceChildren(
      h("button.small", { type: "button", title: "Rename the comparison", onclick: () => renameDialog(comparison, show) }, icon("rename"), h("span.name", {}, comparison.name)),
      h("button.small", { type: "button", onclick: () => copyText(location.href).then(() => toast("The link was copied")) }, icon("link"), "Copy link"),
      comparison.grid ? "" : h("button.small", { type: "button", onclick: () => saveDialog(comparison) }, icon("save"), "Save file"));
  };

  get(`/comparisons/${id}`).then(show, () => box.replaceChildren(keepButton(session)));
  return box;
}

/** A button that keeps what is on show as a comparison. */
export function keepButton(session) {
  const button = h("button.small", { type: "button", onclick: keep }, icon("save"), "Keep");
  async function keep() {
    const kept = await keepComparison(session.sea, session.request, { grid: session.isGrid });
    remember({ comparison: kept.id });
    button.replaceWith(comparisonBar(session, kept.id));
    toast("Kept. You find it on the start page.");
  }
  return button;
}
