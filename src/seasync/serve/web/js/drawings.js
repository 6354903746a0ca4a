// Drawing on the pictures: lines, angles and circles that stay on a synced frame of both videos.

import { get, put } from "./api.js";
import { choice, clock, h, iconButton, onKeys, tick, toast } from "./dom.js";

const COLOR = "#ffe14d";
const TOOLS = [["none", "Off"], ["line", "Line"], ["angle", "Angle"], ["circle", "Circle"]];
const SAMPLES = { line: [[0.35, 0.5], [0.65, 0.5]], angle: [[0.35, 0.35], [0.5, 0.5], [0.65, 0.35]], circle: [[0.5, 0.5], [0.6, 0.5]] };
const COUNT = { line: 2, angle: 3, circle: 2 };
const STEPS = { ArrowLeft: [-0.01, 0], ArrowRight: [0.01, 0], ArrowUp: [0, -0.01], ArrowDown: [0, 0.01] };

/** shown: the stage. {tools, list}: the tools belong below the pictures, the list of drawings anywhere. */
export function drawingTools(session, shown, { signal }) {
  let tool = "none";
  let drawings = [];
  let begun = null; // {kind, points} while it is being drawn
  const place = `/seas/${session.sea}/drawings/${session.request.query}/${session.request.match}`;
  const tools = choice("Draw", TOOLS, tool, setTool);
  const add = h("button.small", { type: "button", hidden: true, onclick: () => keep(SAMPLES[tool]) }, "Add in the center");
  const hint = h("p.faint", { hidden: true });
  const list = h("ul.drawings", { "aria-label": "Drawings" });
  const nothing = h("p.faint", {}, "Choose Line, Angle or Circle below the pictures. A drawing stays on the synced frame of both videos.");
  const box = h("div.draw", {}, h("h3", {}, "Drawings"), nothing, list);

  function setTool(next) {
    tool = next;
    begun = null;
    session.player.pause();
    shown.classList.toggle("drawing", tool !== "none");
    add.hidden = hint.hidden = tool === "none";
    hint.textContent = { line: "Drag from one end to the other.", angle: "Drag from the end of one leg to the corner, then click the end of the other leg.", circle: "Drag from the center to the rim." }[tool] ?? "";
  }

  /** Where a pointer is on a canvas, in shares of its picture. */
  function spot(canvas, event) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const scale = Math.min(width / canvas.width, height / canvas.height);
    const x = (event.clientX - left - (width - canvas.width * scale) / 2) / (canvas.width * scale);
    const y = (event.clientY - top - (height - canvas.height * scale) / 2) / (canvas.height * scale);
    const turned = shown.classList.contains("mirrored") && canvas.classList.contains("match");
    return [turned ? 1 - x : x, y].map((one) => Math.min(Math.max(one, 0), 1));
  }

  shown.addEventListener("pointerdown", (event) => {
    const canvas = event.target.closest("canvas");
    if (tool === "none" || !canvas || event.button) return;
    event.preventDefault();
    event.stopPropagation();
    const here = spot(canvas, event);
    if (begun) begun.points[2] = here; // the last leg of an angle
    else begun = { kind: tool, points: [here, here] };
    canvas.setPointerCapture(event.pointerId);
    session.player.redraw();
  }, { capture: true, signal });
  shown.addEventListener("pointermove", (event) => {
    const canvas = event.target.closest("canvas");
    if (!begun || !canvas) return;
    const last = begun.fixed ? 2 : 1;
    begun.points[last] = spot(canvas, event);
    session.player.redraw();
  }, { signal });
  shown.addEventListener("pointerup", () => {
    if (!begun) return;
    const [[x, y], [u, v]] = begun.points;
    if (Math.hypot(u - x, v - y) < 0.01) begun = null; // a mere click
    else if (begun.points.length < COUNT[begun.kind]) begun.fixed = true;
    else keep(begun.points);
    session.player.redraw();
  }, { signal });

  function keep(points) {
    const kind = begun?.kind ?? tool;
    begun = null;
    change([...drawings, { kind, points: points.map((point) => point.map((one) => Number(one.toFixed(4)))), seconds: session.times.query, always: false }]);
  }

  async function change(next, { remember = true } = {}) {
    const before = drawings;
    drawings = next;
    drawList();
    session.player.redraw();
    await put(place, drawings).catch((error) => toast(error.message, "bad"));
    if (remember) session.undo.push({ name: "drawing", undo: () => change(before, { remember: false }), redo: () => change(next, { remember: false }) });
  }

  function drawList() {
    nothing.hidden = drawings.length > 0;
    list.replaceChildren(...drawings.map((one, n) => {
      const name = `${one.kind} at ${clock(one.seconds)}`;
      const replace = (changed) => change(drawings.map((other, m) => (m === n ? changed : other)));
      const shift = (event) => {
        const step = STEPS[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        replace({ ...one, points: one.points.map(([x, y]) => [x + step[0], y + step[1]]) }).then(() => list.children[n]?.querySelector("button").focus());
      };
      return h("li", {},
        h("button.link", { type: "button", title: "Go there; move it with the arrow keys", onclick: () => session.go("query", one.seconds), onkeydown: shift }, name),
        one.kind === "angle" && h("span.faint", {}, `${Math.round(degrees(one.points, session.reels.query))}°`),
        h("span.space"),
        tick("Always", one.always, (always) => replace({ ...one, always })),
        iconButton("trash", `Delete the ${name}`, { onclick: () => change(drawings.filter((other) => other !== one)) }));
    }));
  }

  session.overlays.push((ink, side) => {
    const now = session.times.query ?? session.player.time;
    const near = session.reels.query.step * 0.6;
    const flip = side === "match" && shown.classList.contains("mirrored");
    for (const one of [...drawings, begun].filter(Boolean)) {
      if (one === begun || one.always || Math.abs(one.seconds - now) < near) shape(ink, one, flip);
    }
  });
  get(place, {}, signal).then((found) => ((drawings = found.drawings), drawList(), session.player.redraw()), () => {});
  const leave = () => {
    setTool("none");
    tools.set("none");
    session.player.redraw();
  };
  onKeys({ Escape: leave }, signal, () => tool === "none");
  return { tools: h("div.field", {}, h("span.faint", {}, "Draw"), tools, add, hint), list: box };
}

/** The angle at the middle point, in degrees, on a picture of this size. */
function degrees([[ax, ay], [x, y], [bx, by]], { width, height }) {
  const turn = Math.atan2((ay - y) * height, (ax - x) * width) - Math.atan2((by - y) * height, (bx - x) * width);
  const whole = Math.abs((180 * turn) / Math.PI) % 360;
  return whole > 180 ? 360 - whole : whole;
}

function shape(ink, { kind, points }, flip) {
  const { width, height } = ink.canvas;
  const at = points.map(([x, y]) => [x * width, y * height]);
  for (const [style, extra] of [["#06121acc", 2], [COLOR, 0]]) {
    ink.strokeStyle = style;
    ink.lineWidth = Math.max(2, height / 200) + extra;
    ink.beginPath();
    if (kind === "circle") ink.arc(...at[0], Math.hypot(at[1][0] - at[0][0], at[1][1] - at[0][1]), 0, 7);
    else at.forEach((point, n) => (n ? ink.lineTo(...point) : ink.moveTo(...point)));
    ink.stroke();
  }
  if (kind !== "angle" || at.length < 3) return;
  ink.save();
  ink.translate(at[1][0], at[1][1]);
  if (flip) ink.scale(-1, 1);
  ink.font = `600 ${Math.max(12, height / 24)}px system-ui, sans-serif`;
  ink.fillStyle = COLOR;
  ink.strokeStyle = "#06121acc";
  ink.lineWidth = 3;
  const text = `${Math.round(degrees(points, ink.canvas))}°`;
  ink.strokeText(text, 8, -8);
  ink.fillText(text, 8, -8);
  ink.restore();
}
