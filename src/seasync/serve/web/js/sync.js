// The sync view: query and match in step, why they are, and what to do when they are not.

import { get } from "./api.js";
import { choice, h, icon, isTyping, link, loading, menu, toast } from "./dom.js";
import { corrector } from "./correct.js";
import { curve } from "./curve.js";
import { downloads } from "./downloads.js";
import { marksPanel } from "./marks.js";
import { anchorList, matrix } from "./matrix.js";
import { Session } from "./session.js";
import { stage } from "./stage.js";
import { strips } from "./strips.js";
import { transport } from "./transport.js";
import { verdict } from "./verdict.js";

const FIELDS = ["query", "match", "start", "end", "match_start", "match_end", "recipe", "partial", "order"];
const PARTS = { auto: "whole or in part", never: "whole", always: "in part", any: "in part, in any order" };
const LAYOUTS = ["side", "stack", "overlay"];

export async function syncView({ sea, params, place, signal, ready }) {
  const request = Object.fromEntries(FIELDS.filter((key) => params.has(key)).map((key) => [key, params.get(key)]));
  if (!request.query || !request.match) {
    location.hash = link(sea, "search", { query: request.query });
    return;
  }
  const wait = h("div.opening", {}, loading("Aligning…"));
  place.append(wait);
  ready();
  const about = get(`/seas/${sea}`, {}, signal).catch(() => ({})); // known by the time it is needed
  const session = await Session.open(sea, request, { signal, note: (side, text, share) => wait.replaceChildren(loading(`${text} ${Math.round(100 * share)} %`)) });
  signal.addEventListener("abort", () => session.close());
  window.seasync = session; // for tests and the curious
  const { encoder } = await about;
  let layout = innerWidth < 700 ? "stack" : "side";

  const shown = stage(session);
  const marks = marksPanel(session, { signal, changed: () => control?.drawMarks() });
  const control = transport(session, { ticks: () => marks.ticks(), signal });
  const through = h("input.through", { type: "range", min: 0, max: 1, step: 0.05, value: 0.5, "aria-label": "Opacity of the match", hidden: true, oninput: () => shown.setOpacity(through.value) });
  const layouts = choice("Layout", [["side", "Side"], ["stack", "Stack"], ["overlay", "Overlay"]], layout, setLayout);
  const keeps = choice("Whose clock is kept", [["query", "Query", "The query plays evenly, the match follows"], ["match", "Match", "The match plays evenly, the query follows"]], "query", setKeep);
  const sound = menu("Sound", [["none", "no sound"], ["query", "query's sound"], ["match", "match's sound"]], "none", setSound);
  const parts = menu("Whole or in part", Object.entries(PARTS), request.order === "any" ? "any" : (request.partial ?? "auto"), setPart);

  place.replaceChildren(
    h("div.heading", {},
      h("h1", {}, h("span.query", { title: session.reels.query.footage.file }, session.reels.query.footage.name), h("span.and", {}, "and"), h("span.match", { title: session.reels.match.footage.file }, session.reels.match.footage.name)),
      h("span.space"),
      h("a.button.small", { href: link(sea, "search", { query: request.query, start: request.start, end: request.end }) }, icon("search"), "Matches"),
      h("a.button.small", { href: link(sea, "sync", { query: request.match, match: request.query, start: request.match_start, end: request.match_end, match_start: request.start, match_end: request.end, recipe: request.recipe }) }, icon("swap"), "Swap")),
    h("div.sync", {},
      h("section.watch", {}, shown, control,
        h("div.settings", {}, labelled("Layout", layouts, through), labelled("Keep", keeps), labelled("Sound", sound), labelled("Align", parts)),
        strips(session)),
      h("section.why", {}, verdict(session), matrix(session), curve(session),
        h("div.tabs", {}, panel("Correct", true, h("div", {}, corrector(session, { signal }), anchorList(session))), panel("Mark", false, marks), panel("Download", false, downloads(session, { encoder }))))));
  setLayout(layout);

  function setPart(part) {
    Object.assign(session.request, { partial: part === "any" ? "always" : part, order: part === "any" ? "any" : "same" });
    history.replaceState(null, "", link(sea, "sync", session.request));
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
    session.player.setSound(side === "none" ? "none" : side === session.keep ? "lead" : "follow");
  }

  window.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    if (event.key === "o") setLayout(LAYOUTS[(LAYOUTS.indexOf(layout) + 1) % LAYOUTS.length]);
    if (event.key === "k") setKeep(session.other);
  }, { signal });
}

function labelled(text, ...fields) {
  return h("div.field", {}, h("span.faint", {}, text), fields);
}

function panel(title, open, content) {
  return h("details.panel", { open, name: "panel" }, h("summary", {}, title), content);
}
