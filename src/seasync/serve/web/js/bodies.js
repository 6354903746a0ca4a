// Bodies: skeletons over the pictures, bodies aligned in the overlay, angles over synced time, drawings.

import { get, post } from "./api.js";
import { anglePlot } from "./angles.js";
import { h, loading } from "./dom.js";
import { done } from "./jobs.js";
import { COLORS, drawSkeleton, registration, Skeleton } from "./skeleton.js";

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
  const ask = h("div.ask", {}, h("p.faint", {}, "Skeletons and joint angles of the person who moves most in each video."), begin);
  const skeletons = tick("Skeletons", true, () => session.player.redraw());
  const aligned = tick("Align the bodies in the overlay", false, register);
  const options = h("div.fields", { hidden: true }, skeletons, aligned);
  const box = h("div.bodies", {}, ask, state, options, plot.box, drawings);

  session.overlays.unshift((ink, side, seconds, place) => {
    const joints = skeletons.input.checked && bodies[side]?.at(seconds);
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
    ask.hidden = true;
    state.replaceChildren();
    options.hidden = false;
    aligned.input.disabled = !registration(bodies.query, bodies.match, session.reels);
    session.player.redraw();
  }

  async function bodyOf(side, tell) {
    const [start, end] = SPANS[side].map((name) => session.request[name]);
    const at = `/seas/${session.sea}/footage/${session.request[side]}/body`;
    const span = new URLSearchParams(Object.entries({ start, end }).filter(([, value]) => value));
    await done(await post(span.size ? `${at}?${span}` : at), (job) => tell(side, job.progress));
    return get(at, { start, end }, signal);
  }

  function register() {
    shown.register(aligned.input.checked ? registration(bodies.query, bodies.match, session.reels) : null);
    session.player.redraw();
  }

  return box;
}

function tick(text, checked, change) {
  const input = h("input", { type: "checkbox", checked, onchange: change });
  return Object.assign(h("label.tick", {}, input, text), { input });
}
