// The cost matrix with the path through it. A click jumps there; the path can be dragged, which sets an anchor.

import { address } from "./api.js";
import { runs } from "./curve.js";
import { clock, drag, h, iconButton, s, toast } from "./dom.js";

const GRAB = 14; // pixels from the path

export function matrix(session) {
  const picture = h("img.heat", { alt: "", draggable: "false" });
  const lines = s("g", {});
  const veils = s("g", { class: "veils" });
  const bands = s("g", { class: "bands" });
  const cross = s("path", { class: "cross" });
  const ghost = s("path", { class: "ghost" });
  const drawing = s("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none" }, veils, bands, lines, ghost, cross);
  const head = h("span.point");
  const pins = h("div.pins");
  const axes = { query: h("div.axis.query"), match: h("div.axis.match") };
  const plot = h("div.plot", { tabindex: 0, role: "application", "aria-label": `Cost matrix: ${session.nouns.query} to the right, ${session.nouns.match} upwards. Arrow keys step through the path.`, onpointerdown: press, onpointermove: hover }, picture, drawing, pins, head);
  const box = h("div.matrix", {}, axes.match, plot, axes.query);

  const sizeOf = (side) => session.alignment.axes[side];
  const x = (seconds) => (1000 * (seconds - sizeOf("query").start)) / (sizeOf("query").end - sizeOf("query").start);
  const y = (seconds) => 1000 - (1000 * (seconds - sizeOf("match").start)) / (sizeOf("match").end - sizeOf("match").start);

  function draw() {
    const { alignment } = session;
    picture.hidden = !alignment.has_cost;
    if (alignment.has_cost) picture.src = address(`/seas/${session.sea}/alignment/cost.png`, { ...session.asked });
    const ways = alignment.warps.query.map(({ times, values, end }) => {
      const points = times.map((time, n) => [x(time), y(values[n])]);
      points.push([x(end), y(values.at(-1) + end - times.at(-1))]);
      return points.map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`).join(" ");
    });
    lines.replaceChildren(...["halo", "path"].flatMap((kind) => ways.map((points) => s("polyline", { class: kind, points }))));
    bands.replaceChildren(...runs(alignment).map((run) => {
      const lower = run.map(([query, earliest]) => `${x(query).toFixed(1)},${y(earliest).toFixed(1)}`);
      const upper = run.map(([query, , latest]) => `${x(query).toFixed(1)},${y(latest).toFixed(1)}`);
      return s("polygon", { points: [...lower, ...upper.reverse()].join(" ") });
    }));
    veils.replaceChildren(
      ...session.leftOut("query").map(([from, to]) => s("rect", { x: x(from), y: 0, width: x(to) - x(from), height: 1000 })),
      ...session.leftOut("match").map(([from, to]) => s("rect", { x: 0, y: y(to), width: 1000, height: y(from) - y(to) })));
    pins.replaceChildren(...session.anchors.map(pin));
    for (const side of ["query", "match"]) axes[side].replaceChildren(...ticks(side));
    move();
  }

  function pin(anchor) {
    const here = h("button.pin", {
      type: "button",
      title: `Anchor: ${clock(anchor.query, 3)} of the ${session.nouns.query} with ${clock(anchor.match, 3)} of the ${session.nouns.match}. Press Delete to remove it.`,
      "aria-label": `Anchor ${clock(anchor.query, 2)} to ${clock(anchor.match, 2)}`,
      onpointerdown: (event) => {
        event.stopPropagation();
        drag(event, (moved) => put(here, at(moved)), (last, cancelled) => {
          const to = at(last);
          if (!cancelled && Math.hypot(to.query - anchor.query, to.match - anchor.match) > 0.03) change(session.anchors.map((one) => (one === anchor ? to : one)));
        });
      },
      onkeydown: (event) => {
        if (event.key !== "Delete" && event.key !== "Backspace") return;
        event.preventDefault();
        event.stopPropagation();
        change(session.anchors.filter((one) => one !== anchor));
      },
    });
    put(here, anchor);
    return here;
  }

  function put(pinned, { query, match }) {
    pinned.style.left = `${x(query) / 10}%`;
    pinned.style.top = `${y(match) / 10}%`;
  }

  function change(anchors) {
    session.setAnchors(anchors).catch((error) => (toast(error.message, "bad"), draw()));
  }

  /** The moments under a pointer. */
  function at(event) {
    const { left, top, width, height } = plot.getBoundingClientRect();
    const across = Math.min(Math.max((event.clientX - left) / width, 0), 1);
    const down = Math.min(Math.max((event.clientY - top) / height, 0), 1);
    const { query, match } = session.alignment.axes;
    const clamp = (value, reel) => Math.min(Math.max(value, reel.seconds[0]), reel.seconds.at(-1));
    return {
      query: clamp(query.start + across * (query.end - query.start), session.reels.query),
      match: clamp(match.start + (1 - down) * (match.end - match.start), session.reels.match),
    };
  }

  /** The distance of a pointer from the path, in pixels. */
  function distance(event) {
    const { left, top, width, height } = plot.getBoundingClientRect();
    const [px, py] = [event.clientX - left, event.clientY - top];
    const warp = session.warpFrom("query");
    let least = Infinity;
    for (let dx = -GRAB; dx <= GRAB; dx += 2) {
      const time = sizeOf("query").start + ((px + dx) / width) * (sizeOf("query").end - sizeOf("query").start);
      if (warp.covers(time)) least = Math.min(least, Math.hypot(dx, (y(warp.at(time)) / 1000) * height - py));
    }
    return least;
  }

  function hover(event) {
    plot.classList.toggle("grabs", event.buttons === 0 && distance(event) < GRAB);
  }

  function press(event) {
    if (event.button) return;
    if (distance(event) >= GRAB) {
      const to = (move) => session.seek("query", at(move).query);
      to(event);
      drag(event, to);
      return;
    }
    const from = [event.clientX, event.clientY];
    drag(event, (moved) => {
      const { query, match } = at(moved);
      ghost.setAttribute("d", `M${x(query)} 0V1000M0 ${y(match)}H1000`);
    }, (last, cancelled) => {
      ghost.removeAttribute("d");
      if (cancelled) return;
      if (Math.hypot(last.clientX - from[0], last.clientY - from[1]) < 5) session.seek("query", at(last).query);
      else session.addAnchor(at(last)).catch((error) => toast(error.message, "bad"));
    });
  }

  function move() {
    const { query, match } = session.times;
    if (query === undefined || match === undefined || match === null) return;
    cross.setAttribute("d", `M${x(query)} 0V1000M0 ${y(match)}H1000`);
    head.style.left = `${x(query) / 10}%`;
    head.style.top = `${y(match) / 10}%`;
  }

  function ticks(side) {
    const { start, end } = sizeOf(side);
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60].find((one) => (end - start) / one <= 6) ?? 120;
    const marks = [];
    for (let second = Math.ceil(start / step) * step; second <= end; second += step) {
      const share = `${(100 * (second - start)) / (end - start)}%`;
      if (side === "match" && (second - start) / (end - start) < 0.04) continue; // it would hang over the edge
      const mark = h("span", {}, clock(second, step < 1 ? 1 : 0));
      if (side === "query") mark.style.left = share;
      else mark.style.bottom = share;
      marks.push(mark);
    }
    return marks;
  }

  session.addEventListener("alignment", draw);
  session.addEventListener("time", move);
  draw();
  return box;
}

/** The list of anchors. */
export function anchorList(session) {
  const list = h("ul.anchors");
  const draw = () => {
    list.replaceChildren(...(session.anchors.length
      ? session.anchors.map((anchor) => h("li", {},
          h("button.link", { type: "button", onclick: () => session.seek("query", anchor.query) }, h("span.dot.query"), clock(anchor.query), " ", h("span.dot.match"), clock(anchor.match)),
          iconButton("close", `Remove the anchor at ${clock(anchor.query)}`, { onclick: () => session.setAnchors(session.anchors.filter((one) => one !== anchor)) })))
          .concat(h("li.faint", {}, h("a", { href: address(session.anchorPlace), download: "anchors.json" }, "anchors.json"), "for --anchor: see Download"))
      : [h("li.faint", {}, "None. If two frames do not belong together: drag one below onto its partner, drag the path in the matrix, or press A.")]));
  };
  session.addEventListener("alignment", draw);
  draw();
  return list;
}
