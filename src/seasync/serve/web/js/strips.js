// Strips of frames in step: the kept video's above, its partners below. A frame dragged onto one of the other
// row says that these two belong together.

import { address } from "./api.js";
import { clock, drag, h, toast } from "./dom.js";

const HEIGHT = 92; // pixels of a tile, about
const WIDTHS = [52, 104]; // of a portrait tile, and of a wide one
const COUNTS = [4, 16]; // fewest and most tiles

export function strips(session) {
  const rows = { lead: h("div.row"), follow: h("div.row") };
  const head = h("div.head");
  const box = h("div.strips", { "aria-label": "Frames in step" }, rows.lead, rows.follow, head);
  let columns = 0;
  let drawn = ""; // what the strips show, so that nothing is fetched twice

  function draw() {
    const { lead, follow, warp, keep, other, sea } = session;
    const shape = Math.max(lead.width / lead.height, follow.width / follow.height);
    const count = between(Math.round(box.clientWidth / between(HEIGHT * shape, ...WIDTHS)), ...COUNTS);
    const [from, to] = lead.range;
    const times = Array.from({ length: count }, (_, n) => lead.seconds[lead.indexAt(from + ((n + 0.5) / count) * (to - from))]);
    const partners = times.map((time) => (warp.covers(time) ? follow.seconds[follow.nearest(warp.at(time))] : null));
    const key = JSON.stringify([keep, times, partners]);
    if (key === drawn || !box.clientWidth) return;
    drawn = key;
    columns = count;
    fill(rows.lead, keep, times, sea, lead, (n) => partners[n] === null);
    fill(rows.follow, other, partners, sea, follow);
    move();
  }

  /** `alone(n)`: whether the nth frame has no counterpart. */
  function fill(row, side, times, sea, reel, alone = () => false) {
    const known = times.filter((time) => time !== null);
    const source = known.length ? address(`/seas/${sea}/footage/${reel.footage.ref}/strip`, { at: known.map((time) => (time + reel.step / 4).toFixed(4)), height: 96 }) : "";
    let place = 0;
    row.className = `row ${side}`;
    row.replaceChildren(...times.map((time, n) => {
      const tile = h("button.tile", { type: "button", data: time === null ? {} : { side, seconds: time }, "aria-label": time === null ? "left out" : `${session.nouns[side]} at ${clock(time)}${alone(n) ? ", without counterpart" : ""}`, onpointerdown: (event) => time !== null && press(event, side, time) },
        time === null ? h("span.none", {}, "left out") : [frame(source, place++, known.length), h("span.time", {}, clock(time))]);
      tile.classList.toggle("alone", alone(n));
      tile.style.setProperty("--shape", reel.width / reel.height);
      tile.disabled = time === null;
      tile.addEventListener("click", (event) => event.detail === 0 && session.seek(side, time)); // by the keyboard
      return tile;
    }));
  }

  function press(event, side, seconds) {
    if (event.button) return;
    event.preventDefault();
    const tile = event.currentTarget;
    tile.focus();
    let ghost = null;
    let target = null;
    const from = [event.clientX, event.clientY];
    drag(event, (move) => {
      if (!ghost && Math.hypot(move.clientX - from[0], move.clientY - from[1]) < 6) return;
      ghost ??= lift(tile);
      ghost.style.left = `${move.clientX}px`;
      ghost.style.top = `${move.clientY}px`;
      target?.classList.remove("target");
      const below = document.elementFromPoint(move.clientX, move.clientY)?.closest(".tile");
      target = below && below.dataset.side && below.dataset.side !== side ? below : null;
      target?.classList.add("target");
    }, (last, cancelled) => {
      ghost?.remove();
      target?.classList.remove("target");
      if (cancelled) return;
      if (!ghost) session.seek(side, seconds);
      else if (target) {
        const anchor = { [side]: seconds, [target.dataset.side]: Number(target.dataset.seconds) };
        session.addAnchor(anchor).then(() => session.seek("query", anchor.query)).catch((error) => toast(error.message, "bad"));
      }
    });
  }

  function lift(tile) {
    const ghost = tile.cloneNode(true);
    ghost.classList.add("lifted");
    ghost.style.width = `${tile.clientWidth}px`;
    ghost.style.height = `${tile.clientHeight}px`;
    document.body.append(ghost);
    return ghost;
  }

  function move() {
    const { lead, player } = session;
    const [from, to] = lead.range;
    head.style.left = `${(100 * (player.time - from)) / (to - from)}%`;
    const at = Math.min(columns - 1, Math.max(0, Math.floor(((player.time - from) / (to - from)) * columns)));
    for (const row of Object.values(rows)) [...row.children].forEach((tile, n) => tile.classList.toggle("now", n === at));
  }

  for (const name of ["alignment", "keep"]) session.addEventListener(name, draw);
  session.addEventListener("time", move);
  new ResizeObserver(draw).observe(box);
  return box;
}

/** The nth of `count` frames in one picture, undistorted. */
export function frame(source, n, count) {
  const picture = h("span.frame");
  picture.style.backgroundImage = `url("${source}")`;
  picture.style.backgroundSize = `${count * 100}% 100%`;
  picture.style.backgroundPositionX = count > 1 ? `${(100 * n) / (count - 1)}%` : "0";
  return picture;
}

const between = (value, low, high) => Math.min(Math.max(value, low), high);
