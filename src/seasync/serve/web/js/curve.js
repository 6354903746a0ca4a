// How fast the other video plays along the kept one's clock, and how sure the alignment is.

import { h, s } from "./dom.js";

const HATCH = 8; // thousandths of the width from stroke to stroke
const OCTAVES = 2; // from a quarter of the speed to four times

export function curve(session) {
  const line = s("path", { class: "line" });
  const area = s("path", { class: "area" });
  const head = s("path", { class: "cross" });
  const hatches = s("path", { class: "hatches" });
  const levels = [-1, 0, 1].map((octave) => s("path", { class: octave ? "level" : "level one", d: `M0 ${y(2 ** octave)}H1000` }));
  const drawing = s("svg", { viewBox: "0 0 1000 200", preserveAspectRatio: "none" }, levels, area, hatches, line, head);
  const title = h("span");
  const now = h("output");
  const box = h("div.curve", {}, h("div.line", {}, title, h("span.space"), now), h("div.plot", {}, drawing, ["2×", "1×", "½×"].map((text) => h("span.level", {}, text))));

  const x = (seconds) => (1000 * (seconds - session.lead.range[0])) / (session.lead.range[1] - session.lead.range[0]);

  function draw() {
    title.textContent = `Playback speed of the ${session.nouns[session.other]}`;
    const unsure = unsureSpans(session, session.keep);
    title.title = `How fast it plays to stay in step.${unsure.length ? " Hatched: it could be a quarter of a second off, or more." : ""}`;
    hatches.setAttribute("d", unsure.map(([from, to]) => hatched(x(from), x(to))).join(""));
    const { warp } = session;
    const parts = warp.spans.map(([from, to]) => {
      const points = [];
      for (let n = 0; n <= 160; n += 1) {
        const time = from + (n / 160) * (to - from);
        points.push(`${x(time).toFixed(1)} ${y(smooth(warp, time, from, to)).toFixed(1)}`);
      }
      return points;
    });
    line.setAttribute("d", parts.map((points) => `M${points.join("L")}`).join(""));
    area.setAttribute("d", parts.map((points) => `M${points[0].split(" ")[0]} 100L${points.join("L")}L${points.at(-1).split(" ")[0]} 100Z`).join(""));
    move();
  }

  function smooth(warp, time, from, to) {
    const reach = Math.min(0.2, (to - from) / 4);
    const inside = Math.min(Math.max(time, from + reach), to - reach);
    return warp.slope(inside, reach);
  }

  function move() {
    const { time } = session.player;
    head.setAttribute("d", `M${x(time)} 0V200`);
    const { warp } = session;
    const span = warp.spans.find(([from, to]) => time >= from && time <= to);
    now.textContent = span ? `${smooth(warp, time, ...span).toFixed(2)}×` : "left out";
  }

  for (const name of ["alignment", "keep"]) session.addEventListener(name, draw);
  session.addEventListener("time", move);
  draw();
  return box;
}

/** Upright strokes from `from` to `to`. */
function hatched(from, to) {
  let strokes = "";
  for (let at = Math.ceil(from / HATCH) * HATCH; at < to; at += HATCH) strokes += `M${at} 200V0`;
  return strokes;
}

function y(speed) {
  const octave = Math.log2(Math.max(speed, 2 ** -OCTAVES));
  return 100 - (100 * Math.min(octave, OCTAVES)) / OCTAVES;
}

const FAR = 0.5; // seconds between the earliest and the latest partner

/** Runs of rows (query seconds, earliest, latest) without a gap. */
export function runs(alignment) {
  const rows = alignment.uncertainty ?? [];
  const steps = rows.slice(1).map((row, n) => row[0] - rows[n][0]).sort((a, b) => a - b);
  const usual = steps[steps.length >> 1] ?? 0;
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last && row[0] - last.at(-1)[0] < 1.5 * usual) last.push(row);
    else found.push([row]);
  }
  return found.filter((run) => run.length > 1);
}

/** Spans of a video, in its own seconds, whose moments have partners that lie far apart. */
export function unsureSpans(session, side) {
  const warp = session.warpFrom("query");
  const own = (seconds) => (side === "query" ? seconds : warp.at(seconds));
  const spans = [];
  for (const run of runs(session.alignment)) {
    run.slice(0, -1).forEach(([query, earliest, latest], n) => {
      const [from, to] = [own(query), own(run[n + 1][0])];
      if (latest - earliest <= FAR || to <= from) return;
      if (spans.at(-1)?.[1] === from) spans.at(-1)[1] = to;
      else spans.push([from, to]);
    });
  }
  return spans;
}
