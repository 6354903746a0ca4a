// Where the pictures are shown: side by side, stacked, or one through the other.

import { clock, h } from "./dom.js";

const WORDS = { query: "Query", match: "Match" };

export function stage(session) {
  const sides = Object.keys(session.reels);
  const panes = Object.fromEntries(sides.map((side) => [side, pane(side, session.reels[side])]));
  const box = h("div.panes", { class: `panes ${sides.length > 1 ? "side" : "single"}` }, sides.map((side) => panes[side].figure));
  session.draw = (lead, [partner], time) => {
    paint(session.keep, lead, time, true);
    if (partner) paint(session.other, partner.picture, partner.time, partner.covered);
  };

  function paint(side, picture, seconds, covered) {
    const { canvas, ink, words, figure, reel } = panes[side];
    ink.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const number = reel.number(reel.nearest(seconds));
    canvas.dataset.seconds = seconds;
    canvas.dataset.frame = number;
    figure.classList.toggle("left-out", !covered);
    words.textContent = covered ? `${clock(seconds, 3)} · frame ${number}` : "no counterpart";
  }

  box.setLayout = (layout) => (box.className = `panes ${layout}`);
  box.setOpacity = (opacity) => box.style.setProperty("--through", opacity);
  return box;
}

function pane(side, reel) {
  const canvas = h("canvas", { width: reel.width, height: reel.height, class: `picture ${side}`, "aria-label": `${WORDS[side]}: ${reel.footage.name}`, role: "img" });
  const words = h("span.time");
  const figure = h("figure", { class: `pane ${side}` },
    canvas,
    h("figcaption", {}, h("span", { class: `dot ${side}` }), h("span.name", { title: reel.footage.file }, reel.footage.name), words));
  figure.style.setProperty("--shape", reel.width / reel.height);
  return { canvas, ink: canvas.getContext("2d"), words, figure, reel };
}
