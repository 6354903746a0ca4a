// Label a collection: mark a few clips, carry their marks to all, check the doubtful ones.

import { address, done, get, post, put } from "./api.js";
import { preview } from "./clips.js";
import { clock, h, icon, iconButton, link, loading, menu, onKeys, percent, spoken, toast } from "./dom.js";
import { Session } from "./session.js";
import { stage } from "./stage.js";
import { transport } from "./transport.js";

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
  const first = () => check.querySelector("a.primary")?.click();
  onKeys({ n: first, N: first }, signal);
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
function queue(sea, rows) {
  return h("ul.label-cards", {}, rows.map((row) => card(sea, row.clip, link(sea, "label", { clip: row.clip.ref }), row.marks.length ? `${percent(row.confidence)} sure` : "nothing aligns", "Check ")));
}

function card(sea, clip, href, words, action) {
  const { box, begin, end } = preview(sea, clip);
  return h("li", { onpointerenter: begin, onpointerleave: end, data: { ref: clip.ref } },
    h("a", { href }, spoken(action), box, h("span.name", { title: clip.file }, clip.name), h("span.faint", {}, words)));
}

const counted = (n) => (n === 1 ? "1 clip" : `${n} clips`);
const marksWords = (marks) => (marks.length === 1 ? "1 mark" : `${marks.length} marks`);

const step = (number, title, ...content) => h("section.label-step", {}, h("h2", {}, h("span.number", { "aria-hidden": "true" }, number), title), content);

const AHEAD = 6; // clips shown of the queue

async function checkView({ sea, params, place, signal, ready }) {
  const ref = params.get("clip");
  const wait = h("div.opening", {}, loading("Opening…"));
  place.append(wait);
  ready();
  const [found, names] = await Promise.all([carried(sea, { limit: 500 }, signal), get(`/seas/${sea}/mark-names`, {}, signal)]);
  const here = found.clips.findIndex((one) => one.clip.ref === ref);
  if (here < 0) { // a person has marked it meanwhile
    location.replace(link(sea, "mark", { clip: ref, back: "label" }));
    return;
  }
  const row = found.clips[here];
  const session = await Session.open(sea, { query: ref }, { signal, wait });
  let marks = row.marks.map((mark) => at(mark, session.lead.nearest(mark.seconds)));
  let selected = leastSure();
  const list = h("ul.marks.check-marks", { "aria-label": "Carried marks" });
  const next = h("div");
  const shown = stage(session);
  const keys = {
    Enter: confirm,
    n: goOn,
    N: goOn,
    ArrowLeft: (event) => nudge(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => nudge(event.shiftKey ? 10 : 1),
    ArrowUp: () => select(Math.max(selected - 1, 0)),
    ArrowDown: () => select(Math.min(selected + 1, marks.length - 1)),
  };
  onKeys(keys, signal, (event) => event.key === "Enter" && event.target.closest("button, a")); // before the transport: the arrows move the mark here
  const control = transport(session, { ticks: () => marks, signal });
  place.replaceChildren(
    h("div.heading", {},
      h("h1", {}, "Check ", h("span.query", { title: row.clip.file }, row.clip.name)), h("span.space"), session.undo.buttons(),
      h("a.button.small", { href: link(sea, "label") }, icon("back"), "All clips")),
    h("div.sync", {},
      h("section.watch", {}, shown, control),
      h("section.why", {},
        h("h2", {}, "Are these marks right?"),
        list,
        h("div.actions", {},
          h("button.primary", { type: "button", onclick: confirm }, "Confirm ", h("kbd", {}, "Enter")),
          h("button", { type: "button", onclick: goOn }, "Next ", h("kbd", {}, "N"))),
        h("p.faint", {}, "← → move the mark by a frame, ↑ ↓ choose another. A confirmed clip counts as labeled and improves the rest."),
        next)));
  window.addEventListener("carried", (event) => event.detail === sea && drawQueue(), { signal });
  draw();
  drawQueue();
  seekSelected();

  function at(mark, index) {
    return { ...mark, index, frame: session.lead.number(index), seconds: session.lead.seconds[index] };
  }

  function leastSure() {
    return marks.reduce((best, mark, n) => (mark.confidence < marks[best].confidence ? n : best), 0);
  }

  function draw() {
    const missing = Object.entries(names).flatMap(([kind, all]) => all.filter((name) => !marks.some((mark) => mark.kind === kind && mark.name === name)).map((name) => ({ kind, name })));
    list.replaceChildren(...marks.map(markRow), ...missing.map(missingRow));
    control.drawMarks();
  }

  function markRow(mark, n) {
    const sure = mark.confidence === null ? "set by you" : percent(mark.confidence);
    return h("li", { class: mark.kind, "aria-current": n === selected ? "true" : undefined, data: { frame: mark.frame, name: mark.name } },
      h("span.kind"),
      h("button.link.name", { type: "button", onclick: () => select(n) }, mark.name),
      iconButton("back", `${mark.name}: one frame earlier`, { onclick: () => (select(n), nudge(-1)) }),
      h("span.time", {}, clock(mark.seconds)),
      iconButton("forward", `${mark.name}: one frame later`, { onclick: () => (select(n), nudge(1)) }),
      h("span.sure", { class: `sure ${mark.confidence !== null && mark.confidence < 0.9 ? "poor" : "good"}` }, sure, spoken(" sure")),
      iconButton("close", `Remove ${mark.name}`, { onclick: () => change(marks.filter((_, other) => other !== n)) }));
  }

  function missingRow({ kind, name }) {
    const set = () => {
      const added = { ...at({ kind, name }, session.lead.indexAt(session.player.time)), confidence: null };
      change([...marks, added].sort((one, other) => one.seconds - other.seconds), added);
    };
    return h("li.faint", { class: `faint ${kind}` }, h("span.kind"), h("span.name", {}, name), h("button.small", { type: "button", onclick: set }, "Set here"));
  }

  /** Other marks from now on; what `kept` says stays selected. */
  function change(after, kept = null) {
    const before = marks;
    session.undo.push({ name: "marks", undo: () => use(before), redo: () => use(after) });
    use(after, kept);
  }

  function use(list, kept = null) {
    marks = list;
    selected = kept ? marks.indexOf(kept) : Math.min(selected, Math.max(marks.length - 1, 0));
    draw();
  }

  function select(n) {
    selected = n;
    draw();
    seekSelected();
  }

  function seekSelected() {
    if (marks[selected]) session.player.seek(marks[selected].seconds);
  }

  /** Move the selected mark, and the picture with it. */
  function nudge(frames) {
    const mark = marks[selected];
    if (!mark) return;
    const index = Math.min(Math.max(mark.index + frames, 0), session.lead.seconds.length - 1);
    const moved = { ...at(mark, index), confidence: null };
    change(marks.map((one) => (one === mark ? moved : one)), moved);
    seekSelected();
  }

  async function confirm() {
    if (!marks.length) return toast("No marks: set at least one, or go on with N");
    const kept = marks.map(({ kind, name, frame, seconds }) => ({ kind, name, frame, seconds }));
    await put(`/seas/${sea}/marks/${ref}`, kept);
    carryAgain(sea, found).catch((error) => toast(error.message, "bad"));
    goOn();
  }

  /** The next doubtful clip in the queue as it is now, or the overview after the last. */
  async function goOn() {
    const now = await carried(sea, { limit: 500 });
    const doubtful = now.clips.filter((one) => !one.sure && one.clip.ref !== ref);
    const later = doubtful.find((one) => one.confidence >= row.confidence && !seen.has(one.clip.ref)) ?? doubtful.find((one) => !seen.has(one.clip.ref));
    seen.add(ref);
    if (!later) {
      seen.clear();
      toast(doubtful.length ? "That was the last of the queue" : "Every doubtful clip is checked");
    }
    location.hash = later ? link(sea, "label", { clip: later.clip.ref }) : link(sea, "label");
  }

  async function drawQueue() {
    const now = await carried(sea, { limit: 60 }, signal);
    const rest = now.clips.filter((one) => !one.sure && one.clip.ref !== ref);
    next.replaceChildren(h("h2", {}, `${rest.length ? now.doubtful - Number(!row.sure) : "No"} more to check`, isCarrying(sea) ? h("span.faint", {}, " · updating…") : ""), queue(sea, rest.slice(0, AHEAD)));
  }
}

const seen = new Set(); // clips that were passed over with N; they come again after the others

/** The clips that marks were carried to, the most doubtful first. */
const carried = (sea, params, signal) => get(`/seas/${sea}/carried`, params, signal);

/** Carry the marks that people set to all clips; progress(job) is called as it goes. */
const carry = async (sea, { label, tolerance }, progress) => done(await post(`/seas/${sea}/carry`, { label: label || null, tolerance }), progress);

const running = new Map(); // per sea: the run in progress, and whether another must follow it

/** Carry again in the background, since a clip was corrected. Corrections during a run share the next one. */
async function carryAgain(sea, settings) {
  const current = running.get(sea);
  if (current) {
    current.again = true;
    return;
  }
  const run = { again: true };
  running.set(sea, run);
  tell(sea);
  try {
    while (run.again) {
      run.again = false;
      await carry(sea, settings, () => {});
    }
  } finally {
    running.delete(sea);
    tell(sea);
  }
}

const isCarrying = (sea) => running.has(sea);

function tell(sea) {
  window.dispatchEvent(new CustomEvent("carried", { detail: sea }));
}
