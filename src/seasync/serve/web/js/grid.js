// Many in step: one leader and up to eight followers in a grid, with one playhead.

import { get, post } from "./api.js";
import { alignmentOf, changeComparison, comparisonBar, keepButton, NO_SEA } from "./comparisons.js";
import { clock, drag, fullScreen, h, icon, iconButton, link, loading, menu, notice, onKeys, recall, remember, tick } from "./dom.js";
import { downloadButton } from "./downloads.js";
import { InStep } from "./instep.js";
import { openReel } from "./reel.js";
import { UndoStack } from "./session.js";
import { zoomable } from "./stage.js";
import { rememberMoment, transport } from "./transport.js";
import { Warp } from "./warp.js";

const MOST = 8; // followers
const FEWEST = 3; // followers that can correct each other

export async function gridView({ sea, params, place, signal, ready }) {
  const leader = params.get("leader");
  const request = { start: params.get("start"), end: params.get("end"), recipe: params.get("recipe"), consensus: params.get("consensus") };
  let order = params.getAll("follower").slice(0, MOST);
  if (!leader || !order.length) {
    place.append(notice("empty", "Many in step", "Drop several takes on the start page, or choose several matches of a search.", h("a.button.primary", { href: "#/" }, "To the start page")));
    return;
  }
  const areTakes = sea === NO_SEA; // then they correct each other; clips of a sea are corrected by its other matches
  const takesFor = (ref) => (areTakes && request.consensus ? order.filter((one) => one !== ref) : []);
  const wait = h("div.opening", {}, h("h1", {}, "Many in step"), loading("Aligning all of them…"));
  place.append(wait);
  ready();

  const lead = await openReel(sea, { ref: leader, ...request }, { signal });
  signal.addEventListener("abort", () => lead.close());
  const opened = [];
  for (const ref of order) opened.push(open(ref).catch((error) => ({ ref, error })));
  const found = await Promise.all(opened);
  const tiles = found.filter((one) => !one.error);
  const failed = found.filter((one) => one.error);
  signal.addEventListener("abort", () => tiles.forEach(({ reel }) => reel.close()));
  if (signal.aborted) return [lead, ...tiles.map(({ reel }) => reel)].forEach((reel) => reel.close());
  if (!tiles.length) throw failed[0].error;

  async function open(ref) {
    const [alignment, reel] = await Promise.all([
      get(`/seas/${sea}/alignment`, { query: leader, match: ref, ...request, takes: takesFor(ref) }, signal),
      openReel(sea, { ref }, { signal }),
    ]);
    return { ref, alignment, reel, warp: new Warp(alignment.warps.query), hidden: false };
  }

  /** What a comparison keeps of this grid: the leader, and its followers in their order. */
  function asked(change = {}) {
    const [match, ...takes] = order;
    return { ...request, query: leader, match, takes, ...change };
  }

  /** The comparison on show keeps a change. */
  async function keepChange(change) {
    session.request = asked(change);
    const comparison = recall("comparison");
    if (comparison) await changeComparison(comparison, { alignment: alignmentOf(session.request) });
  }

  const undo = new UndoStack();
  undo.listen(signal);
  const grid = h("div.many", { role: "list" });
  const own = tile("leader", lead, leader, -1);
  const followers = tiles.map((one, n) => Object.assign(one, tile("follower", one.reel, one.ref, n, one)));
  const player = new InStep(lead, tiles.map(({ reel, warp }) => [reel, warp]), tiles[0].warp, draw);
  signal.addEventListener("abort", () => player.close());
  // What the transport needs of a session: all followers have a counterpart or not, each for itself.
  const session = Object.assign(new EventTarget(), { sea, request: asked(), isGrid: true, player, lead, keep: "query", alignment: null, warp: Warp.identity(lead.start, lead.end), leftOut: () => [] });
  for (const name of ["time", "state"]) player.addEventListener(name, () => session.dispatchEvent(new Event(name)));
  window.seasync = session; // for tests and the curious
  const control = transport(session, { signal });
  const sound = menu("Sound", [["none", "no sound"], ["lead", `${lead.footage.name}'s sound`], ...tiles.map(({ ref, reel }) => [ref, `${reel.footage.name}'s sound`])], "none", setSound);
  const watch = h("section.watch-many", { "aria-label": "Videos" }, grid,
    h("div.settings", {}, h("p.tempo-key.faint", {}, "Bars: played slower", h("span", { "aria-hidden": "true" }), "faster, to stay in step"), h("span.space"),
      h("div.field", {}, h("span.faint", {}, "Sound"), sound), document.fullscreenEnabled && iconButton("full", "Full screen (F)", { onclick: () => fullScreen(watch) })),
    control);
  place.replaceChildren(
    h("div.heading", {}, h("h1", {}, `${tiles.length + 1} videos in step`), h("span.space"), consensusTick(), undo.buttons(),
      params.has("comparison") ? comparisonBar(session, params.get("comparison")) : keepButton(session),
      downloadButton("button.small.primary", "Download film", "The grid as one film", makeFilm),
      sea === "-" ? null : h("a.button.small", { href: link(sea, "search", { query: leader, start: request.start, end: request.end }) }, icon("search"), "Matches")),
    ...failed.map(({ error }) => h("p.bad", {}, error.message)),
    watch);
  for (const one of tiles) if (params.getAll("hidden").includes(one.ref)) setHidden(one, true);
  layout();
  if (params.has("sound")) setSound((sound.value = params.get("sound")));
  zoomable(grid, { signal, step: (frames) => player.step(frames), tap: () => player.toggle() });
  onKeys({ f: () => fullScreen(watch) }, signal);
  await player.seek(Number(params.get("t")) || lead.start);
  rememberMoment(session, signal);

  function tile(kind, reel, ref, number, one) {
    const canvas = h("canvas", { width: reel.width, height: reel.height, role: "img", "aria-label": `${kind === "leader" ? "Leader" : "Follower"}: ${reel.footage.name}`, class: "picture" });
    const words = h("span.time");
    const bar = one ? tempoBar(one) : null;
    const does = one ? h("span.do", {},
      iconButton("back", `Move ${reel.footage.name} to the left`, { onclick: () => move(one, -1) }),
      iconButton("forward", `Move ${reel.footage.name} to the right`, { onclick: () => move(one, 1) }),
      h("button.small", { type: "button", "aria-pressed": "false", onclick: () => solo(one) }, "Solo"),
      h("button.small", { type: "button", title: "The others follow this one", onclick: () => leadWith(ref) }, "Lead"),
      h("a.button.small", { href: link(sea, "sync", { query: leader, match: ref, ...request, takes: takesFor(ref) }) }, "Open")) : h("span.label", {}, "Leader");
    const hide = one ? tick("Show", true, (yes) => show(yes ? [...shownTiles(), one] : shownTiles().filter((other) => other !== one))) : null;
    const figure = h("figure.tile-many", { role: "listitem", class: `tile-many ${kind}`, data: { ref } },
      h("div.screen", one ? { title: "Drag it to another place", onpointerdown: (event) => lift(event, one) } : {}, canvas), h("figcaption", {}, h("span.name", { title: reel.footage.file }, reel.footage.name), words, one && !one.alignment.alignable ? h("span.poor", {}, "does not align") : null, h("span.space"), hide, does), bar);
    return { figure, canvas, ink: canvas.getContext("2d"), words, number };
  }

  /** A switch: do the others correct each alignment? A take needs two others for that. */
  function consensusTick() {
    if (areTakes && tiles.length < FEWEST) return null;
    const title = areTakes ? "The takes correct each other's alignments" : "Other clips of the sea that move alike correct the alignments";
    return tick(areTakes ? "Takes correct each other" : "Corrected by other matches", request.consensus === "true", setConsensus, { title });
  }

  async function setConsensus(yes) {
    await keepChange({ consensus: yes });
    const known = new URLSearchParams(location.hash.split("?")[1]);
    const values = Object.fromEntries([...known.keys()].map((key) => [key, known.getAll(key)]));
    location.replace(link(sea, "grid", { ...values, consensus: yes ? "true" : "" }));
  }

  function setSound(whose) {
    remember({ sound: whose === "none" ? "" : whose });
    const follower = tiles.findIndex(({ ref }) => ref === whose);
    player.setSound(follower < 0 ? whose : follower);
  }

  /** How fast a follower is played to stay in step with the leader. */
  function tempoBar({ warp }) {
    const [from, to] = [lead.start, lead.end];
    const cells = Array.from({ length: 40 }, (_, n) => {
      const time = from + ((n + 0.5) / 40) * (to - from);
      const cell = h("span");
      const speed = warp.covers(time) ? warp.slope(time, 0.2) : null;
      if (speed === null) cell.className = "none";
      else cell.style.setProperty("--speed", Math.min(Math.max(Math.log2(Math.max(speed, 0.01)) / 2 + 0.5, 0), 1).toFixed(2));
      return cell;
    });
    return h("div.tempo-bar", { role: "img", "aria-label": "Playback speed along the leader", title: "Playback speed to stay in step: blue is slow, orange is fast" }, cells);
  }

  function draw(picture, partners, time) {
    paint(own, lead, picture, time, true);
    partners.forEach((one, n) => !tiles[n].hidden && paint(followers[n], tiles[n].reel, one.picture, one.time, one.covered));
  }

  function paint({ canvas, ink, words, figure }, reel, picture, seconds, covered) {
    ink.drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.dataset.frame = reel.number(reel.nearest(seconds));
    canvas.dataset.seconds = seconds;
    figure.classList.toggle("left-out", !covered);
    words.textContent = covered ? clock(seconds) : "no counterpart";
  }

  function layout() {
    const shown = order.map((ref) => tiles.find((one) => one.ref === ref)).filter((one) => one);
    grid.replaceChildren(own.figure, ...shown.map((one) => one.figure));
    const count = 1 + shown.filter((one) => !one.hidden).length;
    const columns = Math.ceil(Math.sqrt(count));
    grid.style.setProperty("--columns", columns);
    grid.style.setProperty("--rows", Math.ceil(count / columns));
    const solo = tiles.length > 1 && count === 2;
    for (const one of tiles) one.figure.querySelector("button.small").setAttribute("aria-pressed", String(solo && !one.hidden));
  }

  function move(one, by) {
    const at = order.indexOf(one.ref);
    const to = Math.min(Math.max(at + by, 0), order.length - 1);
    const before = order;
    const after = order.toSpliced(at, 1).toSpliced(to, 0, one.ref);
    undo.push({ name: "order", undo: () => setOrder(before), redo: () => setOrder(after) });
    setOrder(after);
  }

  async function setOrder(next) {
    order = next;
    remember({ follower: order });
    layout();
    await keepChange();
  }

  function shownTiles() {
    return tiles.filter((one) => !one.hidden);
  }

  /** Show these followers only. */
  function show(after) {
    const before = shownTiles();
    undo.push({ name: "hidden videos", undo: () => setShown(before), redo: () => setShown(after) });
    setShown(after);
  }

  async function setShown(list) {
    for (const one of tiles) setHidden(one, !list.includes(one));
    remember({ hidden: tiles.filter((one) => one.hidden).map((one) => one.ref) });
    layout();
    player.redraw();
  }

  /** Make another video the reference; the one before becomes a follower. */
  async function leadWith(ref) {
    const follower = [leader, ...order.filter((one) => one !== ref)].slice(0, MOST);
    await keepChange({ query: ref, match: follower[0], takes: follower.slice(1), start: null, end: null });
    location.hash = link(sea, "grid", { recipe: request.recipe, consensus: request.consensus, leader: ref, follower, comparison: recall("comparison") });
  }

  /** Drag a tile by its picture onto another one: it takes that place. */
  function lift(event, one) {
    if (event.button || event.pointerType === "touch" || grid.classList.contains("zoomed")) return;
    const { figure } = one;
    const from = [event.clientX, event.clientY];
    let target = null;
    drag(event, (now) => {
      const [x, y] = [now.clientX - from[0], now.clientY - from[1]];
      figure.classList.toggle("lifted", Math.hypot(x, y) > 8);
      figure.style.translate = `${x}px ${y}px`;
      target = tiles.find((other) => other !== one && contains(other.figure, now)) ?? null;
      for (const other of tiles) other.figure.classList.toggle("target", other === target);
    }, (_, cancelled) => {
      figure.style.translate = "";
      for (const other of tiles) other.figure.classList.remove("lifted", "target");
      if (target && !cancelled) move(one, order.indexOf(target.ref) - order.indexOf(one.ref));
    });
  }

  function setHidden(one, hidden) {
    one.hidden = hidden;
    one.figure.classList.toggle("hidden", hidden);
    player.followers[tiles.indexOf(one)].resting = hidden; // it costs nothing then
    if (hidden) player.followers[tiles.indexOf(one)].stop();
    one.figure.querySelector("input").checked = !hidden;
  }

  /** One follower beside the leader; once more, all of them. */
  function solo(one) {
    const alone = tiles.every((other) => other === one || other.hidden) && tiles.length > 1;
    show(alone ? tiles : [one]);
  }

  /** The job that makes a film of what is shown. */
  function makeFilm() {
    const shown = order.filter((ref) => !tiles.find((one) => one.ref === ref)?.hidden);
    const asked = Object.fromEntries(Object.entries({ start: request.start && Number(request.start), end: request.end && Number(request.end), recipe: request.recipe, consensus: request.consensus === "true", takes: areTakes && request.consensus === "true" }).filter(([, value]) => value));
    return post(`/seas/${sea}/alignment/grid`, { leader, followers: shown, ...asked });
  }
}

function contains(element, { clientX, clientY }) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return clientX > left && clientX < right && clientY > top && clientY < bottom;
}
