// How well two videos are in step: words first, which parts, what is left out, what may help; numbers in the details.

import { capital, h, link, percent } from "./dom.js";

const GRADES = ["fair", "good", "very good"];

/** One of GRADES from DRAQ and its limit, or "none". */
function grade({ draq, threshold, alignable }) {
  if (!alignable) return "none";
  const share = draq / threshold;
  return share < 0.4 ? "very good" : share < 0.7 ? "good" : "fair";
}

/** Whether the timing can be aligned, in a few words. */
export function timingWords(scores) {
  if (!scores.alignable) return "Timing does not align";
  return Math.min(scores.coverage.query, scores.coverage.match) < 1 ? "In step in part" : "In step";
}

/** Whether it is the same movement, in words; "" where nobody can say. */
export function movementWords({ likelihood, better_than }) {
  if (likelihood !== null && likelihood !== undefined) return `${likelihood > 0.99 ? "over 99 %" : percent(likelihood < 0.5 ? Math.min(likelihood, 0.494) : likelihood)} likely the same movement`;
  if (better_than !== null && better_than !== undefined) return `fits better than ${percent(better_than)} of random pairs`;
  return "";
}

/** Whether it is more likely than not the same movement; true where nobody can say. */
export const isLikely = ({ likelihood }) => (likelihood ?? 1) >= 0.5;

/** How well a match fits among those that were found, in words and as a bar: the list is sorted by it. */
export function fitBar({ grade, rating }) {
  const bar = h("span.full");
  bar.style.width = percent(rating).replace(" ", "");
  return h("div.fit", { class: `fit ${grade === "doubtful" ? "poor" : "good"}`, role: "img", "aria-label": `${capital(grade)}, ${percent(rating)}`, title: "Matches are sorted by this" },
    h("span.word", {}, capital(grade)), h("span.bar", {}, bar));
}

/** Sync quality as a word and three bars. */
export function gauge(scores) {
  const found = grade(scores);
  const words = scores.alignable ? `${found} sync` : "no sync";
  return h("div.gauge", { class: `gauge ${scores.alignable ? "good" : "poor"}`, role: "img", "aria-label": `Sync quality: ${words}`, title: scores.reason },
    h("span.steps", {}, GRADES.map((_, n) => h("span", { class: n <= GRADES.indexOf(found) ? "on" : undefined }))), h("span.word", {}, words));
}

/** The numbers, for those who want them. */
export function numbers(scores) {
  const rows = [
    ["DRAQ", h("span.value", {}, scores.draq.toFixed(3)), `Cost of the path over that of random paths: 0 is perfect, 1 is chance.`],
    ["Decision", scores.reason, "The number that decides, and its limit"],
    scores.alignable && scores.expected_error && ["Usually off by", `${scores.expected_error[0].toFixed(2)} s`, `In nine of ten alignments by less than ${scores.expected_error[1].toFixed(2)} s`],
    scores.similarity !== undefined && ["Similarity", scores.similarity.toFixed(2), "How alike the clips are as a whole: the cosine of their clip vectors"],
  ];
  return h("details.numbers", {}, h("summary", {}, "Details"), h("dl", {}, rows.filter(Boolean).map(([name, value, hint]) => [h("dt", { title: hint }, name), h("dd", { title: hint }, value)])));
}

/** Which parts of both videos are in step, as two bars. ranges: {query: [from, to], match: [from, to]} in seconds;
 *  nouns: what the two are called. */
export function partsBar(pieces, ranges, nouns = { query: "query", match: "match" }) {
  const row = (side) => {
    const [from, to] = ranges[side];
    return h("span.track", { class: `track ${side}` }, pieces.map((piece) => {
      const part = h("span.part");
      const share = (seconds) => (100 * Math.min(Math.max(seconds - from, 0), to - from)) / (to - from);
      part.style.left = `${share(piece[side][0])}%`;
      part.style.width = `${share(piece[side][1]) - share(piece[side][0])}%`;
      return part;
    }));
  };
  const words = pieces.map(({ query, match }) => `${spanWords(query)} of the ${nouns.query} with ${spanWords(match)} of the ${nouns.match}`).join(", ");
  return h("div.parts-bar", { role: "img", "aria-label": `In step: ${words}`, title: `In step: ${words}` }, row("query"), row("match"));
}

const spanWords = ([from, to]) => `${Math.max(from, 0).toFixed(1)}–${to.toFixed(1)} s`;

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
