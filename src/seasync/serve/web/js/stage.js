// Where the pictures are shown: side by side, stacked, or one through the other; zoomed and panned together.

import { capital, clock, drag, h, onKeys } from "./dom.js";

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

const LARGEST = 8;
const SWIPE = 12; // pixels per frame

export function zoomable(box, { signal, step = () => {}, tap = () => {} }) {
  let [zoom, left, top] = [1, 0, 0];

  function set(next, x = left, y = top) {
    zoom = Math.min(Math.max(next, 1), LARGEST);
    const reach = ((zoom - 1) / 2) * box.clientWidth;
    [left, top] = zoom === 1 ? [0, 0] : [Math.min(Math.max(x, -reach), reach), Math.min(Math.max(y, -reach), reach)];
    for (const [name, value] of [["--zoom", zoom], ["--pan-x", `${left}px`], ["--pan-y", `${top}px`]]) box.style.setProperty(name, value);
    box.classList.toggle("zoomed", zoom > 1);
  }

  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    set(zoom * Math.exp(-event.deltaY / 300));
  }, { passive: false });
  box.addEventListener("pointerdown", (event) => {
    if (event.button || box.classList.contains("drawing") || event.target.closest("button, a, label")) return;
    if (zoom === 1) return event.pointerType === "touch" ? swipe(event) : undefined;
    const from = [event.clientX - left, event.clientY - top];
    drag(event, (move) => set(zoom, move.clientX - from[0], move.clientY - from[1]));
  });
  function swipe(event) {
    let last = event.clientX;
    let moved = false;
    drag(event, (move) => {
      const frames = Math.trunc((move.clientX - last) / SWIPE);
      if (!frames || pinch) return;
      moved = true;
      last += frames * SWIPE;
      step(frames);
    }, (_, cancelled) => !moved && !cancelled && !pinch && tap());
  }
  let pinch = null; // {distance, zoom} when two fingers were put down
  const distance = (touches) => Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
  box.addEventListener("touchstart", (event) => event.touches.length === 2 && (pinch = { distance: distance(event.touches), zoom }), { passive: true });
  box.addEventListener("touchmove", (event) => {
    if (!pinch || event.touches.length !== 2) return;
    event.preventDefault();
    set((pinch.zoom * distance(event.touches)) / pinch.distance);
  }, { passive: false });
  box.addEventListener("touchend", () => (pinch = null), { passive: true });
  const keys = { "+": () => set(zoom * 1.25), "=": () => set(zoom * 1.25), "-": () => set(zoom / 1.25), 0: () => set(1) };
  onKeys(keys, signal);
}
