// The sync view: query and match in step, how well they fit, how their timing differs, and how to correct them.

import { get } from "./api.js";
import { bodiesPanel } from "./bodies.js";
import { choicesOf } from "./choices.js";
import { comparisonBar, keepButton, keepComparison, comparisonLink } from "./comparisons.js";
import { choice, h, icon, iconButton, isTyping, link, loading, menu, toast } from "./dom.js";
import { corrector } from "./correct.js";
import { curve } from "./curve.js";
import { downloads } from "./downloads.js";
import { drawingTools } from "./drawings.js";
import { marksPanel } from "./marks.js";
import { anchorList, matrix } from "./matrix.js";
import { reportPanel } from "./report.js";
import { Session } from "./session.js";
import { stage } from "./stage.js";
import { strips } from "./strips.js";
import { transport } from "./transport.js";
import { trimButtons } from "./trim_buttons.js";
import { verdict } from "./verdict.js";
import { zoomable } from "./zoom.js";

const FIELDS = ["query", "match", "start", "end", "match_start", "match_end", "recipe", "partial", "order"];
const LAYOUTS = ["side", "stack", "overlay"];

export async function syncView({ sea, params, place, signal, ready }) {
  const request = Object.fromEntries(FIELDS.filter((key) => params.has(key)).map((key) => [key, params.get(key)]));
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
  const session = await Session.open(sea, request, { signal, note: (side, text, share) => wait.lastChild.replaceWith(loading(`${text} ${Math.round(100 * share)} %`)) });
  signal.addEventListener("abort", () => session.close());
  window.seasync = session; // for tests and the curious
  const { encoder } = await about;
  let layout = innerWidth < 700 ? "stack" : "side";

  const shown = stage(session);
  const report = reportPanel(session);
  const marks = marksPanel(session, { signal, changed: () => control?.drawMarks(), saved: () => report.refresh() });
  const control = transport(session, { ticks: () => marks.ticks(), signal });
  const through = h("input.through", { type: "range", min: 0, max: 1, step: 0.05, value: 0.5, "aria-label": "Opacity of the match", hidden: true, oninput: () => shown.setOpacity(through.value) });
  const layouts = choice("Layout", [["side", "Side"], ["stack", "Stack"], ["overlay", "Overlay"]], layout, setLayout);
  const keeps = choice("Whose clock is kept", choicesOf("keep"), "query", setKeep);
  const sound = menu("Sound", [["none", "no sound"], ["query", "query's sound"], ["match", "match's sound"]], "none", setSound);
  const parts = menu("Whole or in part", [...choicesOf("partial"), ["any", "in part, in any order"]], request.order === "any" ? "any" : (request.partial ?? "auto"), setPart);
  const mirror = iconButton("mirror", "Mirror the match (I)", { "aria-pressed": "false", onclick: turnMirror });
  const draw = drawingTools(session, shown, { signal });
  const watch = h("section.watch", { "aria-label": "Videos" }, shown, control,
    h("div.settings", {}, labelled("Layout", layouts, through, mirror, iconButton("full", "Full screen (F)", { onclick: fullScreen })), labelled("Keep", keeps), labelled("Sound", sound), labelled("Align", parts), draw.tools),
    strips(session));

  place.replaceChildren(
    h("div.heading", {},
      h("h1", {}, h("span.query", { title: session.reels.query.footage.file }, session.reels.query.footage.name), h("span.and", {}, "and"), h("span.match", { title: session.reels.match.footage.file }, session.reels.match.footage.name)),
      h("span.space"),
      params.has("comparison") ? comparisonBar(session, params.get("comparison")) : keepButton(session),
      sea === "-" ? null : h("a.button.small", { href: link(sea, "search", { query: request.query, start: request.start, end: request.end }) }, icon("search"), "Matches"),
      h("a.button.small", { href: swapped() }, icon("swap"), "Swap")),
    h("div.sync", {}, watch,
      h("section.why", { "aria-label": "Comparison" }, verdict(session), matrix(session), curve(session),
        h("div.tabs", {},
          panel("Compare", true, report),
          panel("Bodies", false, bodiesPanel(session, shown, { drawings: draw.list, signal })),
          panel("Correct", false, h("div", {}, corrector(session, { signal }), anchorList(session))),
          panel("Trim", false, trimButtons(session, { changed: (asked) => (location.hash = link(sea, "sync", { ...asked, comparison: params.get("comparison") })) })),
          panel("Mark", false, marks), panel("Download", false, downloads(session, { encoder }))))));
  setLayout(layout);
  zoomable(shown, { signal, step: (frames) => session.player.step(frames), tap: () => session.player.toggle() });
  session.undo.listen(signal);
  session.refine(signal).catch((error) => error.name !== "AbortError" && toast(error.message, "bad"));

  function swapped() {
    const { query, match, start, end, match_start, match_end, recipe } = request;
    return link(sea, "sync", { query: match, match: query, start: match_start, end: match_end, match_start: start, match_end: end, recipe });
  }

  function setPart(part) {
    Object.assign(session.request, { partial: part === "any" ? "always" : part, order: part === "any" ? "any" : "same" });
    history.replaceState(null, "", link(sea, "sync", { ...session.request, comparison: params.get("comparison") }));
    session.solve().catch((error) => toast(error.message, "bad"));
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
    setSound(sound.value);
    if (playing) session.player.play();
  }

  function setSound(side) {
    session.player.setSound(side === "none" ? "none" : side === session.keep ? "lead" : 0);
  }

  function nextSound() {
    const sides = ["none", "query", "match"];
    sound.value = sides[(sides.indexOf(sound.value) + 1) % sides.length];
    setSound(sound.value);
  }

  function turnMirror() {
    mirror.setAttribute("aria-pressed", String(shown.classList.toggle("mirrored")));
    session.dispatchEvent(new Event("mirror"));
  }

  function fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else watch.requestFullscreen();
  }

  const keys = { o: () => setLayout(LAYOUTS[(LAYOUTS.indexOf(layout) + 1) % LAYOUTS.length]), k: () => setKeep(session.other), i: turnMirror, f: fullScreen, x: () => (location.hash = swapped()), q: nextSound };
  window.addEventListener("keydown", (event) => !isTyping(event) && keys[event.key]?.(), { signal });
}

function labelled(text, ...fields) {
  return h("div.field", {}, h("span.faint", {}, text), fields);
}

function panel(title, open, content) {
  return h("details.panel", { open, name: "panel" }, h("summary", {}, title), content);
}
