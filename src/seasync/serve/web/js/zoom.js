// Zoom and pan of the pictures, the same for both: keys, wheel with Ctrl, pinch, and dragging. A finger that moves
// sideways over pictures that are not zoomed goes through time; a tap plays and pauses.

import { drag, isTyping } from "./dom.js";

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
  window.addEventListener("keydown", (event) => !isTyping(event) && keys[event.key]?.(), { signal });
}
