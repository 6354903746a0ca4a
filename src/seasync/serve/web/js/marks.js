// Key moments and phases of one video: a view of its own, or a panel beside two videos in step.

import { address, get, put } from "./api.js";
import { NO_SEA } from "./comparisons.js";
import { clock, h, icon, iconButton, link, loading, onKeys, prose, toast } from "./dom.js";
import { Session } from "./session.js";
import { stage } from "./stage.js";
import { transport } from "./transport.js";

export async function markView({ sea, params, place, signal, ready }) {
  const clip = params.get("clip");
  if (!clip) {
    place.append(h("section.drop-here", {},
      h("h1", {}, "Mark key moments and phases"),
      h("p", {}, prose("Choose a clip of the sea. Its marks are carried over to clips that move in step, and exported as the annotation that `seasync evaluate` reads.")),
      h("div.actions", {}, h("a.button.primary", { href: link(sea, "sea") }, "Choose a clip"))));
    return;
  }
  const wait = h("div.opening", {}, loading("Opening…"));
  place.append(wait);
  ready();
  const session = await Session.open(sea, { query: clip }, { signal, wait });
  const shown = stage(session);
  const marks = marksPanel(session, { signal, changed: () => control?.drawMarks() });
  const control = transport(session, { ticks: () => marks.ticks(), signal });
  const back = params.get("back") === "label" && h("a.button.small", { href: link(sea, "label") }, icon("back"), "Back to labeling");
  place.replaceChildren(
    h("div.heading", {},
      h("h1", {}, h("span.query", { title: session.lead.footage.file }, session.lead.footage.name)), h("span.space"), session.undo.buttons(), back,
      h("a.button.small", { href: link(sea, "search", { query: clip }) }, icon("search"), "Find what moves like it")),
    h("div.sync", {}, h("section.watch", {}, shown, control), h("section.why", {}, h("h2", {}, "Marks"), marks)));
}

const NEAR = 1.5; // frames: a mark so close counts as the one meant

/** The panel for the video whose clock is kept. `changed()` is called when its marks change, `saved()` when the server has them. */
export function marksPanel(session, { signal, changed, saved = () => {} }) {
  const list = h("ul.marks");
  const names = h("datalist", { id: "mark-names" });
  const box = h("div.marks-panel", {}, names,
    h("div.actions", {},
      h("button", { type: "button", onclick: () => add("moment") }, icon("mark"), "Key moment ", h("kbd", {}, "M")),
      h("button", { type: "button", onclick: () => add("phase") }, "Phase ", h("kbd", {}, "P"))),
    list);
  const exports = h("p.exports");
  box.append(exports);
  let marks = [];
  let ref = null;
  let kept = []; // the marks as the server has them
  let vocabulary = { moment: [], phase: [] };
  let loaded; // a promise: what is done before is done to marks that the server's would replace
  box.ticks = () => marks;

  async function load() {
    if (ref === session.lead.footage.ref) return draw();
    ref = session.lead.footage.ref;
    loaded = Promise.all([
      get(`/seas/${session.sea}/marks/${ref}`).then((found) => found.marks),
      get(`/seas/${session.sea}/mark-names`),
    ]);
    [marks, vocabulary] = await loaded;
    kept = structuredClone(marks);
    draw();
  }

  async function save() {
    marks.sort((one, other) => one.frame - other.frame);
    const [whose, before, after] = [ref, kept, structuredClone(marks)];
    session.undo.push({ name: "marks", undo: () => restore(whose, before), redo: () => restore(whose, after) });
    await store();
  }

  /** Set the marks of a video as they were. */
  async function restore(whose, list) {
    if (whose !== ref) return put(`/seas/${session.sea}/marks/${whose}`, list);
    marks = structuredClone(list);
    await store();
  }

  async function store() {
    kept = structuredClone(marks);
    draw();
    await put(`/seas/${session.sea}/marks/${ref}`, marks);
    vocabulary = await get(`/seas/${session.sea}/mark-names`);
    fillNames();
    saved();
  }

  /** Set a mark here: the next name of its kind that this video does not have yet, or the one given.
   * A frame has one mark of a kind: it keeps its name unless another is given. */
  async function add(kind, name) {
    const { lead, player } = session;
    const index = lead.indexAt(player.time);
    const here = { kind, frame: lead.number(index), seconds: lead.seconds[index] };
    await loaded;
    const there = marks.find((mark) => mark.kind === kind && mark.frame === here.frame);
    if (there && !name) return toast(`${there.name} is here already`);
    const taken = new Set(marks.filter((mark) => mark.kind === kind).map((mark) => mark.name));
    here.name = name ?? vocabulary[kind].find((one) => !taken.has(one)) ?? fresh(kind, taken);
    marks = marks.filter((mark) => mark.kind !== kind || (mark.name !== here.name && mark !== there));
    marks.push(here);
    await save();
  }

  function fresh(kind, taken) {
    let n = taken.size + 1;
    while (taken.has(`${kind} ${n}`)) n += 1;
    return `${kind} ${n}`;
  }

  async function removeHere() {
    const frame = session.lead.number(session.lead.indexAt(session.player.time));
    await loaded;
    const near = marks.filter((mark) => Math.abs(mark.frame - frame) <= NEAR);
    if (!near.length) return;
    marks = marks.filter((mark) => !near.includes(mark));
    await save();
  }

  function draw() {
    const warp = session.follow ? session.warp : null;
    list.replaceChildren(...(marks.length ? marks.map((mark) => row(mark, warp)) : [h("li.faint", {}, "None yet. Go to a moment and press M, or P where a phase begins.")]));
    const file = (text, params) => h("a", { href: address(`/seas/${session.sea}/marks.csv`, params), download: "" }, text);
    exports.replaceChildren(`All marks ${session.sea === NO_SEA ? "of all comparisons" : "of the sea"}: `, file("events.csv", { form: "events" }), ", ", file("phases.csv", { form: "phases" }),
      ...(warp && marks.length ? [". Carried over: ", h("a", { href: address(`/seas/${session.sea}/alignment/marks.csv`, { ...session.asked, to: session.other }), download: "" }, `marks of the ${session.nouns[session.other]}`)] : []));
    fillNames();
    changed();
  }

  function fillNames() {
    names.replaceChildren(...[...vocabulary.moment, ...vocabulary.phase].map((name) => h("option", { value: name })));
  }

  function row(mark, warp) {
    const name = h("input.name", { value: mark.name, list: "mark-names", maxlength: 120, "aria-label": "Name", onchange: () => {
      mark.name = name.value.trim() || mark.name;
      name.value = mark.name;
      save();
    } });
    return h("li", { class: mark.kind, data: { frame: mark.frame } },
      h("span.kind", { title: mark.kind === "phase" ? "phase begins" : "key moment" }),
      name,
      h("button.link", { type: "button", title: `Frame ${mark.frame}`, onclick: () => session.go(session.keep, mark.seconds) }, clock(mark.seconds)),
      warp && h("button.link.carried", { class: `link carried ${session.other}`, type: "button", title: `Carried over to the ${session.nouns[session.other]}`, onclick: () => session.go(session.keep, mark.seconds) }, warp.covers(mark.seconds) ? clock(warp.at(mark.seconds)) : "–"),
      iconButton("close", `Remove ${mark.name}`, { onclick: () => ((marks = marks.filter((one) => one !== mark)), save()) }));
  }

  const named = (n) => [n, () => add("moment", vocabulary.moment[n - 1] ?? `moment ${n}`)];
  onKeys({ m: () => add("moment"), p: () => add("phase"), Backspace: removeHere, ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map(named)) }, signal);
  for (const name of ["keep", "alignment"]) session.addEventListener(name, load);
  load();
  return box;
}
