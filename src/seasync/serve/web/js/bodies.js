// Bodies: skeletons over the pictures, bodies aligned in the overlay, angles over synced time, drawings.

import { address, ask, done, get } from "./api.js";
import { capital, h, icon, loading, menu, s, tick } from "./dom.js";

const SIDES = ["query", "match"];
const SPANS = { query: ["start", "end"], match: ["match_start", "match_end"] };

/** A panel for the sync view. shown: the stage; drawings: the list of drawings. */
export function bodiesPanel(session, shown, { drawings, signal }) {
  const bodies = {}; // by side, once they are known
  const { query, match } = session.request;
  const remembered = `bodies ${session.sea} ${query} ${match}`;
  const plot = anglePlot(session, { mirrored: () => shown.classList.contains("mirrored") });
  const state = h("div.busy", { role: "status" });
  const begin = h("button.primary", { type: "button", onclick: find }, "Find the bodies");
  const offer = h("div.ask", {}, h("p.faint", {}, "Skeletons and joint angles of the person who moves most in each video."), begin);
  const skeletons = tick("Skeletons", true, () => session.player.redraw());
  const aligned = tick("Align the bodies in the overlay", false, register);
  const options = h("div.fields", { hidden: true }, skeletons, aligned);
  const box = h("div.bodies", {}, offer, state, options, plot.box, drawings);

  session.overlays.unshift((ink, side, seconds, place) => {
    const joints = skeletons.control.checked && bodies[side]?.at(seconds);
    if (joints) drawSkeleton(ink, joints, COLORS[side], place);
  });
  if (localStorage.getItem(remembered)) find();

  async function find() {
    begin.disabled = true;
    const shares = { query: 0, match: 0 };
    const tell = (side, share) => {
      shares[side] = share;
      state.replaceChildren(loading(`Looking for the bodies… ${Math.round(50 * (shares.query + shares.match))} %`));
    };
    tell("query", 0);
    try {
      await Promise.all(SIDES.map(async (side) => (bodies[side] = new Skeleton(await bodyOf(side, tell)))));
      await plot.load();
    } catch (error) {
      begin.disabled = false;
      if (!signal.aborted) state.replaceChildren(h("p.bad", {}, error.message));
      return;
    }
    localStorage.setItem(remembered, "found");
    offer.hidden = true;
    state.replaceChildren();
    options.hidden = false;
    aligned.control.disabled = !registration(bodies.query, bodies.match, session.reels);
    session.player.redraw();
  }

  async function bodyOf(side, tell) {
    const [start, end] = SPANS[side].map((name) => session.request[name]);
    const at = `/seas/${session.sea}/footage/${session.request[side]}/body`;
    await done(await ask("POST", at, { params: { start, end } }), (job) => tell(side, job.progress));
    return get(at, { start, end }, signal);
  }

  function register() {
    shown.register(aligned.control.checked ? registration(bodies.query, bodies.match, session.reels) : null);
    session.player.redraw();
  }

  return box;
}

/** `mirrored()` says whether left is compared with right. */
function anglePlot(session, { mirrored }) {
  const lines = { query: s("path", { class: "line query" }), match: s("path", { class: "line match" }) };
  const grid = s("g");
  const head = s("path", { class: "cross" });
  const drawing = s("svg", { viewBox: "0 0 1000 200", preserveAspectRatio: "none", role: "img", "aria-label": "Angles of both bodies" }, grid, lines.match, lines.query, head);
  const scale = h("div.scale", { "aria-hidden": "true" });
  const values = h("p.values", { role: "status" });
  const notes = h("ul.notes");
  const names = h("span");
  const table = h("a.button.small", { download: "" }, icon("download"), "CSV");
  const box = h("div.angles", { hidden: true }, notes, h("div.line", {}, names, h("span.space"), table), h("div.plot", { onclick: jump }, scale, drawing), values);
  let known = null;
  let name = null; // of the angle on show
  let turn = 0;

  const asked = () => ({ ...session.asked, mirror: mirrored() || undefined });
  const shown = () => known.angles.find((one) => one.name === name);
  const x = (seconds) => {
    const times = known.seconds.query;
    return (1000 * (seconds - times[0])) / Math.max(times.at(-1) - times[0], 1e-6);
  };

  async function load() {
    const mine = (turn += 1);
    const found = await get(`/seas/${session.sea}/alignment/angles`, asked());
    if (mine !== turn) return;
    known = found;
    name ??= mostSeen(known.angles);
    table.href = address(`/seas/${session.sea}/alignment/angles.csv`, asked());
    names.replaceChildren(menu("Angle", known.angles.map((one) => [one.name, capital(one.name)]), name, (chosen) => ((name = chosen), draw())));
    notes.replaceChildren(...known.notes.map((note) => h("li", {}, note)));
    box.hidden = false;
    draw();
  }

  function draw() {
    const { query, match } = shown();
    const all = [...query, ...match].filter((value) => value !== null);
    const low = all.length ? Math.floor(Math.min(...all) / 10) * 10 : 0;
    const high = Math.max(all.length ? Math.ceil(Math.max(...all) / 10) * 10 : 180, low + 20);
    const y = (degrees) => 190 - (180 * (degrees - low)) / (high - low);
    for (const [side, list] of [["query", query], ["match", match]]) lines[side].setAttribute("d", path(list, y));
    const levels = [low, (low + high) / 2, high];
    grid.replaceChildren(...levels.map((level) => s("path", { class: "level", d: `M0 ${y(level)}H1000` })));
    scale.replaceChildren(...levels.map((level) => {
      const word = h("span", {}, `${Math.round(level)}°`);
      word.style.top = `${y(level) / 2}%`;
      return word;
    }));
    move();
  }

  /** A line through what is known; it begins anew after a gap. */
  function path(list, y) {
    const point = (value, n) => `${(list[n - 1] ?? null) === null ? "M" : "L"}${x(known.seconds.query[n]).toFixed(1)} ${y(value).toFixed(1)}`;
    return list.map((value, n) => (value === null ? "" : point(value, n))).join("");
  }

  function move() {
    if (!known) return;
    const { query: time } = session.times;
    const times = known.seconds.query;
    const at = times.reduce((best, one, n) => (Math.abs(one - time) < Math.abs(times[best] - time) ? n : best), 0);
    head.setAttribute("d", `M${x(times[at]).toFixed(1)} 0V200`);
    const { query, match, difference } = shown();
    const degrees = (value) => (value === null ? "not in sight" : `${Math.round(value)}°`);
    const apart = difference[at];
    values.replaceChildren(
      h("span.dot.query"), `${capital(session.nouns.query)} ${degrees(query[at])}`, h("span.dot.match"), `${capital(session.nouns.match)} ${degrees(match[at])}`,
      h("b", {}, apart === null ? "" : `Difference ${apart > 0 ? "+" : apart < 0 ? "−" : ""}${Math.abs(Math.round(apart))}°`));
  }

  function jump(event) {
    const { left, width } = drawing.getBoundingClientRect();
    const times = known.seconds.query;
    session.seek("query", times[0] + ((event.clientX - left) / width) * (times.at(-1) - times[0]));
  }

  session.addEventListener("time", move);
  session.addEventListener("alignment", () => known && session.alignment.detail === "full" && load());
  session.addEventListener("mirror", () => known && load());
  return { box, load };
}

/** The name of the angle that is in sight of both videos for longest. */
function mostSeen(angles) {
  const seen = ({ difference }) => difference.filter((value) => value !== null).length;
  return angles.reduce((best, one) => (seen(one) > seen(best) ? one : best)).name;
}

const BONES = [[1, 2], [1, 3], [3, 5], [2, 4], [4, 6], [1, 7], [2, 8], [7, 8], [7, 9], [9, 11], [8, 10], [10, 12]];
const IN_SIGHT = 0.5;
const REACH = 0.12; // seconds from a frame in which the person was found
const COLORS = { query: "#56d4f5", match: "#ffb14d" };

class Skeleton {
  /** body: as the API gives it */
  constructor(body) {
    Object.assign(this, body);
  }

  /** Joints [[x, y, visibility], …] in shares of the picture at a moment, or null where nobody is. */
  at(seconds) {
    const last = this.seconds.length - 1;
    let after = this.seconds.findIndex((one) => one >= seconds);
    if (after < 0) after = last;
    const before = Math.max(after - 1, 0);
    const [one, other] = [this.joints[before], this.joints[after]];
    if (!one || !other) {
      const near = one ? before : other ? after : -1;
      return near >= 0 && Math.abs(this.seconds[near] - seconds) < REACH ? this.joints[near] : null;
    }
    const width = this.seconds[after] - this.seconds[before];
    const share = width > 0 ? Math.min(Math.max((seconds - this.seconds[before]) / width, 0), 1) : 1;
    return one.map((joint, n) => joint.map((value, axis) => value + share * (other[n][axis] - value)));
  }

  /** Usual place of the hips and length of the trunk in pixels of a picture of this size; null without a body. */
  stature({ width, height }) {
    const found = this.joints.filter(Boolean);
    if (!found.length) return null;
    const middle = (joints, a, b, axis) => ((joints[a][axis] + joints[b][axis]) / 2) * (axis ? height : width);
    const hips = found.map((joints) => [middle(joints, 7, 8, 0), middle(joints, 7, 8, 1)]);
    const trunks = found.map((joints, n) => Math.hypot(middle(joints, 1, 2, 0) - hips[n][0], middle(joints, 1, 2, 1) - hips[n][1]));
    return { x: median(hips.map(([x]) => x)), y: median(hips.map(([, y]) => y)), trunk: Math.max(median(trunks), 1) };
  }
}

/** Where the match has to be drawn so that both bodies have their hips in one place and one size. */
function registration(query, match, sizes) {
  const [one, other] = [query?.stature(sizes.query), match?.stature(sizes.match)];
  if (!one || !other) return null;
  const scale = one.trunk / other.trunk;
  return [one.x - scale * other.x, one.y - scale * other.y, scale * sizes.match.width, scale * sizes.match.height];
}

/** place: [left, top, width, height] of the picture on the canvas */
function drawSkeleton(ink, joints, color, [left, top, width, height]) {
  const point = ([x, y]) => [left + x * width, top + y * height];
  const seen = (n) => joints[n][2] > IN_SIGHT;
  const thick = Math.max(2, ink.canvas.height / 160);
  ink.lineCap = "round";
  for (const [style, extra] of [["#06121acc", 2], [color, 0]]) {
    ink.strokeStyle = style;
    ink.lineWidth = thick + extra;
    ink.beginPath();
    for (const [a, b] of BONES) {
      if (!seen(a) || !seen(b)) continue;
      ink.moveTo(...point(joints[a]));
      ink.lineTo(...point(joints[b]));
    }
    ink.stroke();
  }
  ink.fillStyle = color;
  joints.forEach((joint, n) => {
    if (!seen(n)) return;
    ink.beginPath();
    ink.arc(...point(joint), n ? thick * 1.3 : thick * 2.2, 0, 7);
    ink.fill();
  });
}

const median = (values) => [...values].sort((one, other) => one - other)[values.length >> 1];
