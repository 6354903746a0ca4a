// Choosing a span on a strip of frames.

import { address } from "./api.js";
import { clock, drag, h } from "./dom.js";

const TILES = 12;

/** A strip of the video {ref, length} with a handle at each end of the span; `change(span)` when one is let go,
 *  `scrub(seconds)` while it moves. */
export function trimmer(sea, { ref, length, step }, span, { change, scrub }) {
  const at = Array.from({ length: TILES }, (_, n) => (((n + 0.5) / TILES) * length).toFixed(3));
  const shortest = Math.min(length, 4 * step);
  const picture = h("img", { src: address(`/seas/${sea}/footage/${ref}/strip`, { at, height: 60 }), alt: "", draggable: "false" });
  const left = h("div.out");
  const right = h("div.out.after");
  const head = h("div.head", { hidden: true });
  const words = h("output.span");
  const handles = { start: handle("start", "Begin"), end: handle("end", "End") };
  const strip = h("div.strip", {}, picture, left, right, head, handles.start, handles.end);
  const box = h("div.trimmer", {}, strip, words);
  place();

  function handle(side, label) {
    return h("div.handle", {
      class: `handle ${side}`, role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 0, "aria-valuemax": length.toFixed(2),
      onpointerdown: (event) => {
        event.preventDefault();
        event.currentTarget.focus();
        drag(event, (move) => set(side, secondsAt(move)), () => change({ ...span }));
      },
      onkeydown: (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
        if (!move) return;
        event.preventDefault();
        event.stopPropagation();
        set(side, span[side] + move * step * (event.shiftKey ? 10 : 1));
        change({ ...span });
      },
    });
  }

  function secondsAt(event) {
    const { left, width } = strip.getBoundingClientRect();
    return (Math.min(Math.max(event.clientX - left, 0), width) / width) * length;
  }

  function set(side, seconds) {
    const limits = side === "start" ? [0, span.end - shortest] : [span.start + shortest, length];
    span[side] = Math.min(Math.max(seconds, limits[0]), limits[1]);
    place();
    scrub(side === "start" ? span.start : span.end);
  }

  function place() {
    const share = (seconds) => `${(100 * seconds) / length}%`;
    handles.start.style.left = share(span.start);
    handles.end.style.left = share(span.end);
    left.style.width = share(span.start);
    right.style.width = share(length - span.end);
    for (const side of ["start", "end"]) {
      handles[side].setAttribute("aria-valuenow", span[side].toFixed(2));
      handles[side].setAttribute("aria-valuetext", clock(span[side]));
    }
    words.textContent = `${clock(span.start)} – ${clock(span.end)} · ${(span.end - span.start).toFixed(2)} s`;
  }

  box.setTime = (seconds) => {
    head.hidden = false;
    head.style.left = `${(100 * seconds) / length}%`;
  };
  return box;
}
