// DRAQ as a bar: 0 is in step, 1 is no better than chance, the tick is where "in step" ends.

import { h } from "./dom.js";

/** Of a match or an alignment: {draq, alignable, coverage}. */
export function gauge({ draq, alignable, coverage }, threshold) {
  const word = !alignable ? "does not align" : Math.min(coverage.query, coverage.match) < 1 ? "in part" : "in step";
  const bar = h("span.bar");
  const tick = h("span.tick");
  bar.style.width = `${Math.min(Math.max(draq, 0.02), 1) * 100}%`;
  tick.style.left = `${threshold * 100}%`;
  return h("div.gauge", {
    class: `gauge ${alignable ? "good" : "poor"}`,
    role: "img",
    "aria-label": `DRAQ ${draq.toFixed(2)}: ${word}`,
    title: `DRAQ ${draq.toFixed(3)}: cost of the best path over that of random ones. Below ${threshold} it moves in step.`,
  }, h("span.faint", {}, "DRAQ"), h("span.value", {}, draq.toFixed(2)), h("span.track", {}, bar, tick), h("span.word", {}, word));
}
