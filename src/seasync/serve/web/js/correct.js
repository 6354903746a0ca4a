// Changing what is compared: anchors set frame by frame, both videos trimmed at the playhead, or swapped.

import { get, put } from "./api.js";
import { capital, clock, h, isTyping, toast } from "./dom.js";

export function corrector(session, { signal }) {
  let index = null; // the other video's frame, while an anchor is being set
  const hint = h("div.hint", { role: "status", hidden: true });
  const begin = h("button", { type: "button", onclick: () => (index === null ? start() : leave()) });
  draw();

  function start() {
    session.player.pause();
    index = session.follow.nearest(session.warp.at(session.player.time));
    draw();
  }

  function shift(by) {
    index = Math.min(Math.max(index + by, 0), session.follow.seconds.length - 1);
    session.player.beside(index);
  }

  async function pin() {
    const anchor = { [session.keep]: session.player.time, [session.other]: session.follow.seconds[index] };
    leave(false);
    await session.addAnchor(anchor).catch((error) => toast(error.message, "bad"));
  }

  function leave(back = true) {
    index = null;
    draw();
    if (back) session.player.seek(session.player.time);
  }

  function draw() {
    hint.hidden = index === null;
    begin.replaceChildren(index === null ? "Set an anchor " : "Leave ", h("kbd", {}, index === null ? "A" : "Esc"));
    hint.replaceChildren(
      h("p", {}, `The ${session.nouns[session.keep]} stands still. Move the ${session.nouns[session.other]} to the frame that belongs to it.`),
      h("div.actions", {},
        h("button", { type: "button", onclick: () => shift(-1) }, "◀ ", h("kbd", {}, "←")),
        h("button", { type: "button", onclick: () => shift(1) }, h("kbd", {}, "→"), " ▶"),
        h("button.primary", { type: "button", onclick: pin }, "Pin together ", h("kbd", {}, "Enter"))));
  }

  window.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    const keys = index === null
      ? { a: start }
      : { a: leave, Escape: leave, Enter: pin, ArrowLeft: () => shift(event.shiftKey ? -10 : -1), ArrowRight: () => shift(event.shiftKey ? 10 : 1) };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys[event.key]();
  }, { signal, capture: true });
  session.addEventListener("keep", () => index !== null && leave());
  session.addEventListener("state", () => session.player.playing && index !== null && leave(false));
  return h("div.correct", {}, begin, hint);
}

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

/** The request with query and match exchanged. */
export function swapped({ query, match, start, end, match_start, match_end, ...rest }) {
  return { ...rest, query: match, match: query, start: match_start, end: match_end, match_start: start, match_end: end };
}

/** Move anchors and drawings to the swapped pair. If there are none here, those that it has stay. */
export async function moveNotes(session) {
  const { sea, anchors, reels } = session;
  const { query, match } = session.request;
  const { drawings } = await get(`/seas/${sea}/drawings/${query}/${match}`);
  const partner = (seconds) => reels.match.seconds[reels.match.nearest(session.warpFrom("query").at(seconds))];
  const moved = {
    anchors: anchors.map((one) => ({ query: one.match, match: one.query })),
    drawings: drawings.map((one) => ({ ...one, seconds: partner(one.seconds) })),
  };
  for (const [kind, notes] of Object.entries(moved)) {
    if (!notes.length) continue;
    await put(`/seas/${sea}/${kind}/${match}/${query}`, notes);
    if (query !== match) await put(`/seas/${sea}/${kind}/${query}/${match}`, []);
  }
}
