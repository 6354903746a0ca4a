// Trimming both videos at the playhead: where each starts and ends.

import { capital, clock, h } from "./dom.js";

const NAMES = { query: ["start", "end"], match: ["match_start", "match_end"] };

/** `changed(request)` gets the request with the new span. */
export function trimButtons(session, { changed }) {
  const sides = ["query", "match"];
  return h("div.trim-buttons", {}, h("p.faint", {}, "Go to a moment, then cut what comes before or after it."), sides.map((side) => {
    const [start, end] = NAMES[side];
    const { footage } = session.reels[side];
    const set = (key, seconds) => changed({ ...session.request, [key]: seconds?.toFixed(3) });
    return h("div.line", { role: "group", "aria-label": `Trim the ${session.nouns[side]}` },
      h("span", { class: `dot ${side}` }), h("span", {}, capital(session.nouns[side])),
      h("span.faint", {}, `${clock(footage.start)}–${clock(footage.end)}`), h("span.space"),
      h("button.small", { type: "button", onclick: () => set(start, session.times[side]) }, "Start here"),
      h("button.small", { type: "button", onclick: () => set(end, session.times[side]) }, "End here"),
      h("button.small", { type: "button", disabled: footage.end - footage.start >= footage.length - 0.01, onclick: () => changed({ ...session.request, [start]: "0", [end]: footage.length.toFixed(3) }) }, "Whole"));
  }));
}
