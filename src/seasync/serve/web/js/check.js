// Checking one clip: its carried marks, confirmed or corrected with keys, then the next doubtful clip.

import { get, put } from "./api.js";
import { carried, carryAgain, isCarrying } from "./carried.js";
import { clock, h, icon, iconButton, isTyping, link, loading, percent, spoken, toast } from "./dom.js";
import { queue } from "./label.js";
import { Session } from "./session.js";
import { stage } from "./stage.js";
import { transport } from "./transport.js";

const AHEAD = 6; // clips shown of the queue

export async function checkView({ sea, params, place, signal, ready }) {
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
  const session = await Session.open(sea, { query: ref }, { signal, note: (side, text, share) => wait.replaceChildren(loading(`${text} ${Math.round(100 * share)} %`)) });
  signal.addEventListener("abort", () => session.close());
  window.seasync = session; // for tests and the curious
  session.undo.listen(signal);
  let marks = row.marks.map((mark) => at(mark, session.lead.nearest(mark.seconds)));
  let selected = leastSure();
  const list = h("ul.marks.check-marks", { "aria-label": "Carried marks" });
  const next = h("div");
  const shown = stage(session);
  listenToKeys(); // before the transport: the arrows move the mark here
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

  function listenToKeys() {
    const keys = {
      Enter: confirm,
      n: goOn,
      ArrowLeft: (event) => nudge(event.shiftKey ? -10 : -1),
      ArrowRight: (event) => nudge(event.shiftKey ? 10 : 1),
      ArrowUp: () => select(Math.max(selected - 1, 0)),
      ArrowDown: () => select(Math.min(selected + 1, marks.length - 1)),
    };
    window.addEventListener("keydown", (event) => {
      const act = keys[event.key] ?? keys[event.key.toLowerCase()];
      if (!act || isTyping(event) || (event.key === "Enter" && event.target.closest("button, a"))) return;
      event.preventDefault();
      act(event);
    }, { signal });
  }
}

const seen = new Set(); // clips that were passed over with N; they come again after the others
