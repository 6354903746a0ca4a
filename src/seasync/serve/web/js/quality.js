// How well two videos are in step: words first, the numbers behind them in the details.

import { h, percent } from "./dom.js";

const GRADES = ["fair", "good", "very good"];

/** One of GRADES from DRAQ and its limit, or "none". */
export function grade({ draq, threshold, alignable }) {
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
export function isLikely({ likelihood }) {
  return (likelihood ?? 1) >= 0.5;
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

export function spanWords([from, to]) {
  return `${Math.max(from, 0).toFixed(1)}–${to.toFixed(1)} s`;
}
