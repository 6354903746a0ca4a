// Setting an anchor frame by frame: the kept video stands still, the other one moves, Enter pins them together.

import { h, isTyping, toast } from "./dom.js";

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
