// The sync view: query and match in step, how well they fit, how their timing differs, and how to correct them.

import { choicesOf, get } from "./api.js";
import { bodiesPanel } from "./bodies.js";
import { alignmentOf, changeComparison, comparisonBar, comparisonLink, keepButton, keepComparison, NO_SEA } from "./comparisons.js";
import { corrector, moveNotes, swapped, trimButtons } from "./correct.js";
import { curve } from "./curve.js";
import { capital, choice, fullScreen, h, icon, iconButton, isStill, link, loading, menu, onKeys, recall, remember, tick, toast } from "./dom.js";
import { downloads, filmAhead, filmButton } from "./downloads.js";
import { drawingTools } from "./drawings.js";
import { marksPanel } from "./marks.js";
import { anchorList, matrix } from "./matrix.js";
import { verdict } from "./quality.js";
import { reportPanel } from "./report.js";
import { Session } from "./session.js";
import { stage, zoomable } from "./stage.js";
import { strips } from "./strips.js";
import { rememberMoment, transport } from "./transport.js";

const FIELDS = ["query", "match", "start", "end", "match_start", "match_end", "recipe", "partial", "order", "consensus"];
const LAYOUTS = ["side", "stack", "overlay"];
const LOOKS = ["layout", "clock", "mirror", "speed", "sound", "loop", "since"]; // in the address, beside the request
const COMPARED = { query: "first video", match: "second video" }; // nobody has searched for these two

export async function syncView({ sea, params, place, signal, ready }) {
  const request = Object.fromEntries(FIELDS.filter((key) => params.has(key)).map((key) => [key, params.get(key)]));
  if (params.has("takes")) request.takes = params.getAll("takes");
  if (!request.query || !request.match) {
    location.hash = link(sea, "search", { query: request.query });
    return;
  }
  if (params.has("keep")) { // a comparison that has just been chosen
    const kept = await keepComparison(sea, request);
    history.replaceState(null, "", comparisonLink(kept));
    params.set("comparison", kept.id);
  }
  const wait = h("div.opening", {}, h("h1", {}, "In step"), loading("Encoding and aligning the videos…"));
  place.append(wait);
  ready();
  const about = get(`/seas/${sea}`, {}, signal).catch(() => ({})); // known by the time it is needed
  const nouns = sea === NO_SEA || params.has("comparison") ? COMPARED : undefined;
  const session = await Session.open(sea, request, { signal, nouns, wait });
  const { encoder } = await about;
  if (params.get("clock") === "match") session.setKeep("match");
  const the = session.nouns;
  let layout = LAYOUTS.includes(params.get("layout")) ? params.get("layout") : innerWidth < 700 ? "stack" : "side";

  const shown = stage(session);
  const report = reportPanel(session);
  const marks = marksPanel(session, { signal, changed: () => control?.drawMarks(), saved: () => report.refresh() });
  const control = transport(session, { ticks: () => marks.ticks(), signal });
  const through = h("input.through", { type: "range", min: 0, max: 1, step: 0.05, value: 0.5, "aria-label": `Opacity of the ${the.match}`, hidden: true, oninput: () => shown.setOpacity(through.value) });
  const layouts = choice("Layout", [["side", "Side"], ["stack", "Stack"], ["overlay", "Overlay"]], layout, chooseLayout);
  const keeps = choice("Whose clock is kept", choicesOf("keep").map(([side]) => [side, capital(the[side]), `The ${the[side]} plays at its own speed, the other one follows`]), session.keep, setKeep);
  const sound = menu("Sound", [["none", "no sound"], ["query", `${the.query}'s sound`], ["match", `${the.match}'s sound`]], "none", setSound);
  const parts = menu("Whole or in part", [...choicesOf("partial"), ["any", "in part, in any order"]], request.order === "any" ? "any" : (request.partial ?? "auto"), (part) => alignAgain(part === "any" ? { partial: "always", order: "any" } : { partial: part, order: "same" }));
  const alone = !request.takes && (sea === NO_SEA || [request.query, request.match].every((ref) => ref.startsWith("upload")));
  const others = request.takes ? ["takes", "takes"] : ["matches", "clips of the sea that move alike"];
  const helped = tick(`Corrected by other ${others[0]}`, request.consensus === "true", (yes) => alignAgain({ consensus: yes ? "true" : undefined }),
    { hidden: alone, title: `Other ${others[1]} correct this alignment. Anchors replace that.` });
  const mirror = iconButton("mirror", `Mirror the ${the.match} (I)`, { "aria-pressed": "false", onclick: turnMirror });
  const draw = drawingTools(session, shown, { signal });
  const watch = h("section.watch", { "aria-label": "Videos" }, shown, control,
    h("div.settings", {}, labelled("Layout", layouts, through, mirror, document.fullscreenEnabled && iconButton("full", "Full screen (F)", { onclick: () => fullScreen(watch) })), labelled("Keeps its speed", keeps), labelled("Sound", sound), labelled("Align", parts, helped), draw.tools, session.undo.buttons()),
    strips(session));

  place.replaceChildren(
    h("div.heading", {},
      h("h1", {}, h("span.query", { title: session.reels.query.footage.file }, session.reels.query.footage.name), h("span.and", {}, "and"), h("span.match", { title: session.reels.match.footage.file }, session.reels.match.footage.name)),
      h("span.space"),
      filmButton(session, "button.small.primary", "Download film"),
      params.has("comparison") ? comparisonBar(session, params.get("comparison")) : keepButton(session),
      sea === "-" ? null : h("a.button.small", { href: link(sea, "search", { query: request.query, start: request.start, end: request.end }) }, icon("search"), "Matches"),
      h("button.small", { type: "button", title: "Swap the two videos (X)", onclick: swap }, icon("swap"), "Swap")),
    h("div.sync", {}, watch,
      h("section.why", { "aria-label": "Comparison" }, verdict(session), matrix(session), curve(session),
        h("div.tabs", {},
          panel("Compare", true, report),
          panel("Bodies", false, bodiesPanel(session, shown, { drawings: draw.list, signal })),
          panel("Correct", false, h("div", {}, corrector(session, { signal }), anchorList(session))),
          panel("Trim", false, trimButtons(session, { changed: async (asked) => (location.hash = await changed(asked)) })),
          panel("Mark", false, marks), panel("Download", false, downloads(session, { encoder }))))));
  setLayout(layout);
  if (params.get("mirror")) turnMirror();
  if (params.has("sound")) setSound((sound.value = params.get("sound")));
  if (Number(params.get("t")) > 0) session.player.seek(Number(params.get("t")));
  rememberMoment(session, signal);
  zoomable(shown, { signal, step: (frames) => session.player.step(frames), tap: () => session.player.toggle() });
  session.addEventListener("go", () => shown.scrollIntoView({ behavior: isStill() ? "auto" : "smooth", block: "nearest" }));
  session.refine(signal).then(() => sea === NO_SEA && filmAhead(session)).catch((error) => error.name !== "AbortError" && toast(error.message, "bad"));

  /** The address of this view with another request, which the comparison keeps too. */
  async function changed(asked) {
    const comparison = recall("comparison");
    if (comparison) await changeComparison(comparison, { alignment: alignmentOf(asked) });
    return link(sea, "sync", { ...asked, comparison, ...Object.fromEntries(LOOKS.map((name) => [name, recall(name)])) });
  }

  async function swap() {
    await moveNotes(session);
    remember({ since: "" }); // a moment of the other video from now on
    location.replace(await changed(swapped(session.request)));
  }

  function alignAgain(change) {
    Object.assign(session.request, change);
    changed(session.request).then((address) => history.replaceState(null, "", address));
    session.solve().catch((error) => toast(error.message, "bad"));
  }

  function chooseLayout(next) {
    setLayout(next);
    remember({ layout: next });
  }

  function setLayout(next) {
    layout = next;
    shown.setLayout(next);
    layouts.set(next);
    through.hidden = next !== "overlay";
  }

  function setKeep(keep) {
    const playing = session.player.playing;
    session.setKeep(keep);
    keeps.set(keep);
    remember({ clock: keep === "query" ? "" : keep });
    setSound(sound.value);
    if (playing) session.player.play();
  }

  function setSound(side) {
    remember({ sound: side === "none" ? "" : side });
    session.player.setSound(side === "none" ? "none" : side === session.keep ? "lead" : 0);
  }

  function nextSound() {
    const sides = ["none", "query", "match"];
    sound.value = sides[(sides.indexOf(sound.value) + 1) % sides.length];
    setSound(sound.value);
  }

  function turnMirror() {
    mirror.setAttribute("aria-pressed", String(shown.classList.toggle("mirrored")));
    remember({ mirror: shown.classList.contains("mirrored") ? "yes" : "" });
    session.dispatchEvent(new Event("mirror"));
  }

  const keys = { o: () => chooseLayout(LAYOUTS[(LAYOUTS.indexOf(layout) + 1) % LAYOUTS.length]), k: () => setKeep(session.other), i: turnMirror, f: () => fullScreen(watch), x: swap, q: nextSound };
  onKeys(keys, signal);
}

const labelled = (text, ...fields) => h("div.field", {}, h("span.faint", {}, text), fields);

const panel = (title, open, content) => h("details.panel", { open, name: "panel" }, h("summary", {}, h("h2", {}, title)), content);
