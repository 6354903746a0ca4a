// Label a collection: mark a few clips, carry their marks to all, check the doubtful ones.

import { address, get } from "./api.js";
import { carried, carry, isCarrying } from "./carried.js";
import { checkView } from "./check.js";
import { preview } from "./clips.js";
import { h, icon, isTyping, link, menu, percent, spoken, toast } from "./dom.js";

const SHOWN = 12; // cards of a list
const TOLERANCES = [0.05, 0.1, 0.2, 0.5, 1];

export async function labelView(view) {
  if (view.params.get("clip")) return checkView(view);
  const { sea, place, signal } = view;
  const [info, last] = await Promise.all([get(`/seas/${sea}`, {}, signal), carried(sea, { limit: 1 }, signal)]);
  const settings = { label: last.label ?? "", tolerance: last.tolerance };
  const marked = h("div");
  const state = h("p.state", { role: "status" });
  const go = h("button.primary", { type: "button", onclick: run }, "Carry to all clips");
  const check = h("div");
  const names = Object.entries(info.labels);
  place.append(
    h("h1", {}, "Label a collection"),
    h("p.faint", {}, "Mark the key moments on a few clips. Seasync carries them to every clip that moves alike, and shows you the ones it is unsure about."),
    step(1, "Mark a few clips", marked),
    step(2, "Carry the marks to all",
      h("div.fields", {},
        names.length ? h("label", {}, "Clips", menu("Clips", [["", "All clips"], ...names.map(([name, n]) => [name, `${name} (${n})`])], settings.label, (label) => (settings.label = label))) : null,
        h("label", {}, "A mark is right within", menu("Tolerance", TOLERANCES.map((one) => [one, `${one} s`]), settings.tolerance, (value) => (settings.tolerance = Number(value)))),
        go),
      state),
    check);
  window.addEventListener("carried", (event) => event.detail === sea && draw(), { signal });
  window.addEventListener("keydown", (event) => {
    const first = check.querySelector("a.primary");
    if (event.key.toLowerCase() === "n" && !isTyping(event) && first) first.click();
  }, { signal });
  await Promise.all([drawMarked(), draw()]);

  async function drawMarked() {
    const found = (await get(`/seas/${sea}/marks`, {}, signal)).filter(({ ref, marks }) => ref.startsWith("clip:") && marks.length);
    const known = await Promise.all(found.slice(0, SHOWN).map(({ ref }) => get(`/seas/${sea}/clips/${ref.slice(5)}`, {}, signal).catch(() => null)));
    const cards = known.flatMap((clip, n) => (clip ? [card(sea, clip, link(sea, "mark", { clip: clip.ref, back: "label" }), marksWords(found[n].marks), "Marks of ")] : []));
    const more = found.length > SHOWN ? h("p.faint", {}, `and ${found.length - SHOWN} more`) : null;
    marked.replaceChildren(
      cards.length ? h("ul.label-cards", {}, cards) : h("p.faint", {}, "No clip has marks yet. One is enough to begin; three to five that differ are better."),
      ...(more ? [more] : []),
      h("div.actions", {}, h("a.button", { class: cards.length ? "button" : "button primary", href: link(sea, "sea", { pick: "mark", label: settings.label }) }, icon("mark"), cards.length ? "Mark another clip" : "Choose a clip to mark")));
    go.disabled = !cards.length;
  }

  async function run() {
    go.disabled = true;
    try {
      await carry(sea, settings, (job) => (state.textContent = job.state === "running" ? `Carrying… ${job.message}` : "Waiting…"));
    } catch (error) {
      toast(error.message, "bad");
      state.textContent = "";
    }
    go.disabled = false;
    if (!signal.aborted) await draw();
  }

  async function draw() {
    const found = await carried(sea, { limit: SHOWN }, signal);
    if (!found.labeled) return check.replaceChildren();
    const again = isCarrying(sea) ? " Updating…" : found.outdated ? " You have changed marks since: carry them again." : "";
    const sure = found.total - found.doubtful;
    state.textContent = `Marks of ${counted(found.labeled)} carried to ${counted(found.total)}: ${sure} sure, ${found.doubtful} to check.${again}`;
    const doubtful = found.clips.filter((one) => !one.sure);
    check.replaceChildren(
      step(3, "Check the doubtful ones",
        doubtful.length
          ? [h("div.actions", {}, h("a.button.primary", { href: link(sea, "label", { clip: doubtful[0].clip.ref }) }, "Check the most doubtful clip ", h("kbd", {}, "N"))), queue(sea, doubtful)]
          : h("p", {}, "Nothing to check: every mark is sure.")),
      step(4, "Export", h("div.actions", {},
        h("a.button", { href: address(`/seas/${sea}/carried.csv`), download: "marks.csv" }, icon("download"), "All marks (CSV)"),
        h("span.faint", {}, "Marks that you set or confirmed have no confidence value."))));
  }
}

/** Cards of doubtful clips that lead to their checking. */
export function queue(sea, rows) {
  return h("ul.label-cards", {}, rows.map((row) => card(sea, row.clip, link(sea, "label", { clip: row.clip.ref }), row.marks.length ? `${percent(row.confidence)} sure` : "nothing aligns", "Check ")));
}

function card(sea, clip, href, words, action) {
  const { box, begin, end } = preview(sea, clip);
  return h("li", { onpointerenter: begin, onpointerleave: end, data: { ref: clip.ref } },
    h("a", { href }, spoken(action), box, h("span.name", { title: clip.file }, clip.name), h("span.faint", {}, words)));
}

const counted = (n) => (n === 1 ? "1 clip" : `${n} clips`);
const marksWords = (marks) => (marks.length === 1 ? "1 mark" : `${marks.length} marks`);

function step(number, title, ...content) {
  return h("section.label-step", {}, h("h2", {}, h("span.number", { "aria-hidden": "true" }, number), title), content);
}
