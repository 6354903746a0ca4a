// Marking one clip: key moments and phases, with keys.

import { h, icon, link, loading, prose } from "./dom.js";
import { marksPanel } from "./marks.js";
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
  const session = await Session.open(sea, { query: clip }, { signal, note: (side, text, share) => wait.replaceChildren(loading(`${text} ${Math.round(100 * share)} %`)) });
  signal.addEventListener("abort", () => session.close());
  window.seasync = session; // for tests and the curious
  session.undo.listen(signal);
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
