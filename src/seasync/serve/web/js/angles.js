// The angles of both bodies over synced time: two curves on one axis, the values at the playhead, the difference.

import { address, get } from "./api.js";
import { capital, h, icon, menu, s } from "./dom.js";

const [LEFT, RIGHT] = [0, 1000];

/** `mirrored()` says whether left is compared with right. */
export function anglePlot(session, { mirrored }) {
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
    return LEFT + ((RIGHT - LEFT) * (seconds - times[0])) / Math.max(times.at(-1) - times[0], 1e-6);
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

  function path(list, y) {
    let pen = "M";
    return list.map((value, n) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const part = `${pen}${x(known.seconds.query[n]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      return part;
    }).join("");
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
