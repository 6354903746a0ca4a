// What the alignment means in words: whether and how well the two are in step, which parts, what is left out, what may help.

import { capital, h, link, percent } from "./dom.js";
import { gauge, movementWords, numbers, partsBar, spanWords, timingWords } from "./quality.js";

const SIDES = ["query", "match"];

export function verdict(session) {
  const box = h("div.verdict");
  let rows = [];

  function draw() {
    const { alignment } = session;
    const inPart = alignment.pieces.length > 1 || SIDES.some((side) => alignment.coverage[side] < 1);
    rows = alignment.alignable && inPart ? alignment.pieces.map(piece) : [];
    box.replaceChildren(
      h("p", { class: `words ${alignment.alignable ? "good" : "poor"}` }, timingWords(alignment)),
      h("p.movement", {}, capital(movementWords(alignment))),
      ...(alignment.detail === "coarse" ? [h("p.faint.refining", { role: "status" }, "First result. Refining…")] : []),
      gauge(alignment),
      ...(rows.length ? [partsBar(alignment.pieces, ranges(), session.nouns), h("ol.pieces", { "aria-label": "Parts in step" }, rows), coverage()] : []),
      ...(alignment.alignable ? [] : [hints()]),
      numbers(alignment));
    move();
  }

  const ranges = () => Object.fromEntries(SIDES.map((side) => [side, [session.alignment.axes[side].start, session.alignment.axes[side].end]]));

  function piece({ query, match, draq }) {
    return h("li", {}, h("button.link", { type: "button", title: `Go there. DRAQ of this part: ${draq.toFixed(2)}`, onclick: () => session.go("query", query[0]) },
      h("span.dot.query"), spanWords(query), h("span.faint", {}, "with"), h("span.dot.match"), spanWords(match)));
  }

  function coverage() {
    const shares = SIDES.map((side) => `${percent(session.alignment.coverage[side])} of the movement in the ${session.nouns[side]}`);
    const out = SIDES.filter((side) => session.leftOut(side).length).map((side) => `${session.leftOut(side).map(spanWords).join(", ")} of the ${session.nouns[side]}`);
    return h("p.faint.coverage", {}, `Covers ${shares.join(" and ")}.${out.length ? ` Left out: ${out.join("; ")}.` : ""}`);
  }

  function hints() {
    const { query, start, end } = session.request;
    const search = session.sea === "-" ? null : h("a", { href: link(session.sea, "search", { query, start, end }) }, "search with a part of the query");
    return h("div.hints", {},
      h("p", {}, "You can still play them together. What may help:"),
      h("ul", {},
        h("li", {}, "Trim both to one action", search ? [": ", search] : " (panel Trim)", "."),
        session.request.order !== "any" && h("li", {}, "Allow parts in any order (Align, below the pictures)."),
        h("li", {}, "If you know two frames that belong together, set an anchor.")));
  }

  /** Which part is on show. */
  function move() {
    const { query } = session.times;
    session.alignment.pieces.forEach(({ query: [from, to] }, n) => rows[n]?.classList.toggle("now", query >= from && query <= to));
  }

  session.addEventListener("alignment", draw);
  session.addEventListener("time", move);
  draw();
  return box;
}
