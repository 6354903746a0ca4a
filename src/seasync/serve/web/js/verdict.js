// What the alignment says in words: whether, how well, which parts, what is left out, and what may help.

import { h, link, percent } from "./dom.js";
import { gauge } from "./gauge.js";

const SIDES = ["query", "match"];

export function verdict(session) {
  const box = h("div.verdict");
  let rows = [];

  function draw() {
    const { alignment } = session;
    const [words] = alignment.verdict.split(":");
    const inPart = alignment.pieces.length > 1 || SIDES.some((side) => alignment.coverage[side] < 1);
    rows = alignment.alignable && inPart ? alignment.pieces.map(piece) : [];
    box.replaceChildren(
      h("p", { class: `words ${alignment.alignable ? "good" : "poor"}` }, words),
      gauge(alignment, alignment.threshold),
      ...(rows.length ? [h("ol.pieces", { "aria-label": "Parts in step" }, rows), coverage()] : []),
      ...(alignment.alignable ? [] : [hints()]));
    move();
  }

  function piece({ query, match, draq }) {
    return h("li", {}, h("button.link", { type: "button", title: `Go there. DRAQ of this part: ${draq.toFixed(2)}`, onclick: () => session.seek("query", query[0]) },
      h("span.dot.query"), span(query), h("span.faint", {}, "with"), h("span.dot.match"), span(match)));
  }

  function coverage() {
    const shares = SIDES.map((side) => `${percent(session.alignment.coverage[side])} of what moves in the ${side}`);
    const out = SIDES.filter((side) => session.leftOut(side).length).map((side) => `${session.leftOut(side).map(span).join(", ")} of the ${side}`);
    return h("p.faint.coverage", {}, `Covers ${shares.join(", ")}.${out.length ? ` Left out: ${out.join("; ")}.` : ""}`);
  }

  function hints() {
    const { query, start, end } = session.request;
    return h("div.hints", {},
      h("p", {}, "They can be played together all the same. What may help:"),
      h("ul", {},
        h("li", {}, "Trim both to one action: ", h("a", { href: link(session.sea, "search", { query, start, end }) }, "search with a part of the query"), "."),
        session.request.order !== "any" && h("li", {}, "Let parts align in any order (Align, below the pictures)."),
        h("li", {}, "If you know two frames that belong together, make them an anchor.")));
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

function span([from, to]) {
  return `${Math.max(from, 0).toFixed(1)}–${to.toFixed(1)} s`;
}
