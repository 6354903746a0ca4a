// Where the pictures are shown: side by side, stacked, or one through the other.

import { capital, clock, h } from "./dom.js";

export function stage(session) {
  const sides = Object.keys(session.reels);
  let registered = null;
  const panes = Object.fromEntries(sides.map((side) => [side, pane(side, session.reels[side], session.nouns[side])]));
  const box = h("div.panes", { class: `panes ${sides.length > 1 ? "side" : "single"}` }, sides.map((side) => panes[side].figure));
  session.draw = (lead, [partner], time) => {
    paint(session.keep, lead, time, true);
    if (partner) paint(session.other, partner.picture, partner.time, partner.covered);
  };

  function paint(side, picture, seconds, covered) {
    const { canvas, ink, words, figure, reel } = panes[side];
    const place = (side === "match" && placed()) || [0, 0, canvas.width, canvas.height];
    if (placed()) ink.clearRect(0, 0, canvas.width, canvas.height);
    ink.drawImage(picture, ...place);
    for (const draw of session.overlays) draw(ink, side, seconds, place);
    const number = reel.number(reel.nearest(seconds));
    canvas.dataset.seconds = seconds;
    canvas.dataset.frame = number;
    figure.classList.toggle("left-out", !covered);
    words.textContent = covered ? `${clock(seconds, 3)} · frame ${number}` : "no counterpart";
  }

  /** Where the match is drawn on a canvas of the query's size, if the bodies are aligned. */
  function placed() {
    return box.classList.contains("overlay") ? registered : null;
  }

  function resize() {
    if (!panes.match) return;
    const { canvas, figure, reel } = panes.match;
    const { width, height } = placed() ? panes.query.canvas : reel;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    figure.style.setProperty("--shape", width / height);
  }

  box.setLayout = (layout) => {
    for (const other of ["side", "stack", "overlay", "single"]) box.classList.toggle(other, other === layout);
    resize();
    session.player?.redraw();
  };
  /** place: [left, top, width, height] on the query's canvas, or null */
  box.register = (place) => {
    registered = place;
    resize();
  };
  box.setOpacity = (opacity) => box.style.setProperty("--through", opacity);
  return box;
}

function pane(side, reel, noun) {
  const canvas = h("canvas", { width: reel.width, height: reel.height, class: `picture ${side}`, "aria-label": `${capital(noun)}: ${reel.footage.name}`, role: "img" });
  const words = h("span.time");
  const figure = h("figure", { class: `pane ${side}` },
    canvas,
    h("figcaption", {}, h("span", { class: `dot ${side}` }), h("span.name", { title: reel.footage.file }, reel.footage.name), words));
  figure.style.setProperty("--shape", reel.width / reel.height);
  return { canvas, ink: canvas.getContext("2d"), words, figure, reel };
}
