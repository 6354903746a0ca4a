// A sea: all its clips, to look through, filter, add to, change and choose from.

import { acceptDrops, addDialog, chooseFiles } from "./add.js";
import { ask, del, get, post } from "./api.js";
import { preview } from "./clips.js";
import { askDialog, h, icon, iconButton, link, menu, notice, onKeys, spoken, toast } from "./dom.js";
import { UndoStack } from "./session.js";

const PAGE = 60;
const TILES = 9; // of a grid
const ORDERS = [["", "As added"], ["added true", "Newest first"], ["name", "By name"], ["label", "By label"], ["length", "Shortest first"], ["length true", "Longest first"]];

export async function seaView({ sea, params, about, refreshSeas, place, signal }) {
  const grid = h("ul.grid", { "aria-label": "Clips" });
  const end = h("div.end");
  const count = h("p.count", { role: "status" });
  let filter = { text: params.get("text") ?? "", label: params.get("label") ?? "", order: params.get("order") ?? "", reverse: params.get("reverse") ?? "" };
  let known = []; // labels
  let shown = 0;
  let total = Infinity;
  let busy = null; // the turn whose page is being fetched
  let turn = 0; // of the filter; answers to an earlier one are not wanted

  const text = h("input.filter", { type: "search", placeholder: "Filter by name, label or tag", "aria-label": "Filter", value: filter.text, oninput: () => refilter({ text: text.value }) });
  const labels = h("span");
  const undo = new UndoStack();
  undo.listen(signal);
  const together = h("a.button", { hidden: true, title: "One reference, the others follow it" }, icon("grid"), h("span"));
  const open = (files) => addDialog(sea, about, files, refresh);
  const chooseAndAdd = async () => {
    const files = await chooseFiles();
    if (files.length) open(files);
  };
  const companion = params.get("with"); // an upload that waits for its model
  const marking = params.get("pick") === "mark"; // a clip is chosen to be marked
  const title = h("h1", {}, marking ? "Choose a clip to mark" : companion ? "Choose the model to compare with" : `Clips of ${sea}`);
  const sorted = menu("Sort", ORDERS, `${filter.order} ${filter.reverse}`.trim(), (chosen) => {
    const [order, reverse] = chosen.split(" ");
    refilter({ order: order ?? "", reverse: reverse ?? "" });
  });
  const deletes = h("button", { type: "button", hidden: true, onclick: () => deleteSeaDialog(sea, total, async () => {
    await refreshSeas();
    location.hash = "#/";
  }) }, "Delete the sea");
  const tools = h("div.tools", {}, text, labels, sorted, count, together, h("span.space"), undo.buttons(), deletes,
    h("button", { type: "button", onclick: () => open([]) }, "Add by path"),
    h("button.primary", { type: "button", onclick: chooseAndAdd }, icon("add"), "Add videos"));
  place.append(title, tools, grid, end);
  acceptDrops(place, `Drop to add to ${sea}`, open, signal);

  const watcher = new IntersectionObserver((seen) => seen[0].isIntersecting && more(), { rootMargin: "800px" });
  signal.addEventListener("abort", () => watcher.disconnect());
  listenToKeys();
  await refresh();
  watcher.observe(end);

  async function refresh() {
    const info = await get(`/seas/${sea}`, {}, signal);
    const names = Object.entries(info.labels);
    known = names.map(([name]) => name);
    deletes.hidden = !info.deletable;
    labels.replaceChildren(names.length ? menu("Label", [["", "All labels"], ...names.map(([name, n]) => [name, `${name} (${n})`])], filter.label, (label) => refilter({ label })) : "");
    await refilter({});
  }

  async function refilter(change) {
    filter = { ...filter, ...change };
    turn += 1;
    shown = 0;
    total = Infinity;
    history.replaceState(null, "", link(sea, "sea", { ...filter, with: companion, pick: marking ? "mark" : "" }));
    await more(true);
  }

  async function more(fresh = false) {
    if (shown >= total || (busy === turn && !fresh)) return;
    const mine = (busy = turn);
    const page = await get(`/seas/${sea}/clips`, { ...filter, offset: shown, limit: PAGE }, signal);
    if (mine !== turn) return;
    busy = null;
    total = page.total;
    if (fresh) grid.replaceChildren();
    grid.append(...page.clips.map((clip) => card(clip)));
    shown += page.clips.length;
    tellCount();
  }

  function tellCount() {
    count.textContent = total === 1 ? "1 clip" : `${total.toLocaleString("en")} clips`;
    end.replaceChildren(...(total ? [] : [nothing()]));
    const [leader, ...follower] = [...grid.children].slice(0, TILES).map((item) => item.dataset.ref);
    together.hidden = !follower.length || !(filter.label || filter.text) || Boolean(companion) || marking;
    together.lastChild.textContent = `Play ${follower.length + 1} in a grid`;
    together.href = link(sea, "grid", { leader, follower });
  }

  function nothing() {
    if (filter.text || filter.label) {
      return notice("empty", "No clip matches", "No clip of this sea has this name or label.", h("button", { type: "button", onclick: () => ((text.value = ""), refilter({ text: "", label: "" }), refresh()) }, "Show all"));
    }
    return notice("empty", "An empty sea", "Drop videos anywhere on this page. Each becomes a clip that you can search for.",
      h("button.primary", { type: "button", onclick: chooseAndAdd }, icon("add"), "Add videos"));
  }

  function card(clip) {
    const { box, begin, end } = preview(sea, clip);
    const search = marking ? link(sea, "mark", { clip: clip.ref, back: "label" }) : companion ? link(sea, "sync", { query: clip.ref, match: companion, keep: "yes" }) : link(sea, "search", { query: clip.ref });
    const words = marking ? `Mark ${clip.name}` : companion ? `Compare with ${clip.name}` : `Search with ${clip.name}`;
    if (clip.label) box.append(h("span.label", { title: clip.label }, clip.label));
    const item = h("li.clip", { onpointerenter: begin, onpointerleave: end, onfocusin: begin, onfocusout: end, data: { ref: clip.ref } },
      h("a.open", { href: search, draggable: "false" }, spoken(`${words}, `), box),
      h("div.about", {}, h("span.name", { title: clip.file }, clip.name), clip.tags.slice(0, 2).map((tag) => h("span.tag", { title: tag }, tag))),
      h("div.do", {},
        h("a.icon-button", { href: search, title: words, "aria-label": words }, icon("search")),
        h("a.icon-button", { href: link(sea, "mark", { clip: clip.ref }), title: `Mark ${clip.name}`, "aria-label": `Mark ${clip.name}` }, icon("mark")),
        iconButton("rename", `Edit ${clip.name}`, { onclick: () => edit(clip) }),
        iconButton("trash", `Remove ${clip.name}`, { onclick: () => remove(clip, item) })));
    item.edit_clip = () => edit(clip);
    item.remove_clip = () => remove(clip, item);
    return item;
  }

  function edit(clip) {
    editDialog(sea, clip, known, (changed) => {
      const again = (wanted) => async () => replace(await changeClip(sea, clip, wanted));
      undo.push({ name: `changes of ${changed.name}`, undo: again(clip), redo: again(changed) });
      replace(changed).querySelector(".open").focus();
      toast(`${changed.name} was changed`);
    });
  }

  /** Show a clip as it is now. */
  function replace(clip) {
    const fresh = card(clip);
    grid.querySelector(`[data-ref="${clip.ref}"]`)?.replaceWith(fresh);
    return fresh;
  }

  function remove(clip, item) {
    const words = h("p", {}, "The video file stays where it is, unless it was uploaded here.");
    askDialog(`Remove ${clip.name} from the sea?`, words, h("button.danger", { autofocus: true }, "Remove"), async () => {
      await del(`/seas/${sea}/clips/${clip.id}`);
      item.remove();
      shown -= 1;
      total -= 1;
      tellCount();
      toast(`${clip.name} was removed from the sea`);
    });
  }

  /** From clip to clip with the arrows. */
  function listenToKeys() {
    const items = () => [...grid.children];
    const here = () => document.activeElement?.closest(".clip");
    const across = () => Math.max(1, items().filter((item) => item.offsetTop === items()[0].offsetTop).length);
    const go = (step) => items()[Math.min(Math.max(items().indexOf(here()) + step, 0), items().length - 1)]?.querySelector(".open").focus();
    const keys = { "/": () => text.focus(), ArrowRight: () => go(1), ArrowLeft: () => go(-1), ArrowDown: () => go(across()), ArrowUp: () => go(-across()) };
    onKeys(keys, signal);
    const ofClip = { m: (item) => (location.hash = link(sea, "mark", { clip: item.dataset.ref })), e: (item) => item.edit_clip(), Delete: (item) => item.remove_clip() };
    onKeys(Object.fromEntries(Object.entries(ofClip).map(([key, act]) => [key, () => act(here())])), signal, () => !here());
  }
}

/** Set name, label and tags of a clip; the answer is the clip as it is then. */
const changeClip = (sea, { id }, { name, label, tags }) => ask("PATCH", `/seas/${sea}/clips/${id}`, { body: { name, label: label ?? "", tags } });

/** Name, label and tags of a clip; `changed(clip)` gets it as it is then. */
function editDialog(sea, clip, labels, changed) {
  const field = (text, value, more = {}) => {
    const input = h("input", { value, maxlength: 120, autocomplete: "off", ...more });
    return Object.assign(h("label", {}, text, input), { input });
  };
  const name = field("Name", clip.name, { autofocus: true });
  const label = field("Label", clip.label ?? "", { list: "labels", placeholder: "none" });
  const tags = field("Tags, separated by commas", clip.tags.join(", "), { maxlength: 2000, placeholder: "none" });
  const known = h("datalist", { id: "labels" }, labels.map((one) => h("option", { value: one })));
  const file = h("p.faint", { title: clip.file }, `The file keeps its name, ${clip.file.split("/").at(-1)}.`);
  askDialog(`Edit ${clip.name}`, [h("div.fields.column", {}, name, label, tags), known, file], h("button.primary", {}, "Save"), async () => {
    const wanted = { name: name.input.value.trim(), label: label.input.value.trim(), tags: tags.input.value.split(",").map((one) => one.trim()).filter(Boolean) };
    changed(await changeClip(sea, clip, wanted));
  });
}

/** `made(name)` is called when the new sea is there. */
export function newSeaDialog(made) {
  const name = h("input", { maxlength: 60, required: true, autofocus: true, autocomplete: "off", pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", title: "Letters, digits, dots, hyphens and underscores", placeholder: "my-takes" });
  askDialog("New sea", [h("label", {}, "Name", name), h("p.faint", {}, "It is kept in the server's own folder. Add videos to it afterwards.")], h("button.primary", {}, "Make"), async () => {
    await post("/seas", { name: name.value.trim() });
    made(name.value.trim());
  });
}

/** `gone()` is called when the sea is deleted. */
function deleteSeaDialog(sea, clips, gone) {
  const name = h("input", { required: true, autofocus: true, autocomplete: "off" });
  const words = h("p", {}, `All ${clips} clips of ${sea}, with their marks and anchors, are deleted. Videos that were uploaded here are deleted too.`);
  askDialog(`Delete ${sea}?`, [words, h("label", {}, `Type ${sea} to confirm`, name)], h("button.danger", {}, "Delete the sea"), async () => {
    if (name.value.trim() !== sea) throw new Error(`Type ${sea} to delete it.`);
    await del(`/seas/${encodeURIComponent(sea)}`);
    toast(`${sea} was deleted`);
    gone();
  });
}
