// Search: a query, trimmed if needed, and its matches, each of which plays in step with it.

import { acceptDrops, chooseFiles, sendFile } from "./add.js";
import { address, choicesOf, get, post } from "./api.js";
import { choice, clock, drag, h, icon, link, loading, menu, notice, prose, tick } from "./dom.js";
import { InStep } from "./instep.js";
import { matchCard } from "./match.js";
import { isLikely, movementWords } from "./quality.js";
import { openReel } from "./reel.js";
import { Warp } from "./warp.js";

export async function searchView({ sea, params, about, place, signal, ready }) {
  const ref = params.get("query");
  acceptDrops(place, "Drop a video to search with it", async ([file]) => searchWith(file), signal);

  async function searchWith(file) {
    if (!file) return;
    const sent = await sendFile(file);
    if (sent) location.hash = link(sea, "search", { query: sent.ref });
  }

  if (!ref) {
    place.append(h("section.drop-here", {},
      h("h1", {}, "What moves in step with…?"),
      h("p", {}, "Drop a video here, or choose a clip of the sea. Seasync finds the clips with the same movement, whatever they look like and however fast they are."),
      h("div.actions", {},
        h("button.primary", { type: "button", onclick: async () => searchWith((await chooseFiles(false))[0]) }, icon("add"), "Choose a video"),
        h("a.button", { href: link(sea, "sea") }, "Choose from the sea"))));
    return;
  }

  const number = (name) => (params.has(name) ? Number(params.get(name)) : null);
  const options = { recipe: params.get("recipe") ?? "motion", label: params.get("label") ?? "", k: number("k") ?? 12, consensus: params.get("consensus") !== "no" };
  const stage = h("canvas.picture");
  const note = h("div.stage-note", {}, loading("Opening the query…"));
  const name = h("h2.name");
  const trimPlace = h("div.trim-place");
  const results = h("section.results", { "aria-label": "Matches" });
  const labels = h("span");
  const consensus = tick("Let the matches correct each other", options.consensus, (yes) => again({ consensus: yes }),
    { title: "Each match is aligned with the query directly and by way of the other matches. The middle of these results counts." });
  const side = h("section.query", { "aria-label": "Query" },
    h("div.kicker", {}, h("span.dot.query"), "Query"), name, h("div.stage", {}, stage, note), trimPlace,
    h("div.options", {},
      labels,
      menu("How many", [[6, "6 matches"], [12, "12 matches"], [25, "25 matches"], [50, "50 matches"]], options.k, (k) => again({ k: Number(k) })),
      h("details", { open: options.recipe !== "motion" || !options.consensus }, h("summary", {}, "How videos are compared"),
        choice("Recipe", choicesOf("recipe"), options.recipe, (recipe) => again({ recipe })), consensus)));
  place.append(side, results);
  ready();

  const info = await get(`/seas/${sea}`, {}, signal);
  const names = Object.entries(info.labels);
  if (names.length) labels.append(menu("Only label", [["", "Any label"], ...names.map(([one, n]) => [one, `${one} (${n})`])], options.label, (label) => again({ label })));

  let span = { start: number("start"), end: number("end") };
  let viewable = true;
  let reel = null;
  let solo = null;
  let cards = [];
  let turn = 0;
  signal.addEventListener("abort", () => {
    for (const card of cards) card.rest();
    solo?.close();
    reel?.close();
  });
  const found = search();
  await openQuery().catch((error) => {
    if (error.name === "AbortError") throw error;
    viewable = false;
    note.replaceChildren(h("div.notice.bad", {}, h("h2", {}, "The query cannot be shown"), h("p", {}, prose(error.message))));
  });
  await found;

  async function openQuery() {
    const whole = await get(`/seas/${sea}/footage/${ref}`, {}, signal);
    name.textContent = whole.name;
    name.title = whole.file;
    reel = await openReel(sea, { ref, start: 0, end: whole.length }, { signal, note: (text, share) => note.replaceChildren(loading(`${text} ${Math.round(100 * share)} %`)) });
    note.replaceChildren();
    span = { start: span.start ?? whole.start, end: span.end ?? whole.end };
    Object.assign(stage, { width: reel.width, height: reel.height });
    const ink = stage.getContext("2d");
    solo = new InStep(reel, [], Warp.identity(0, whole.length), (picture) => ink.drawImage(picture, 0, 0, stage.width, stage.height));
    const trim = trimmer(sea, { ref, length: whole.length, step: reel.step }, { ...span }, {
      change: (changed) => {
        span = changed;
        solo.from = span.start;
        solo.to = span.end;
        search(true);
      },
      scrub: (seconds) => {
        solo.from = 0;
        solo.to = whole.length;
        solo.seek(seconds);
      },
    });
    solo.addEventListener("time", () => trim.setTime(solo.time));
    trimPlace.append(trim);
    stage.addEventListener("click", () => solo.toggle());
    stage.title = "Click to play";
    [solo.from, solo.to, solo.loop] = [span.start, span.end, true];
    await solo.seek(span.start);
  }

  /** How a match is aligned when it is opened: as the search did it. */
  function how() {
    return { recipe: options.recipe, consensus: options.consensus && options.recipe === "motion" ? "true" : undefined };
  }

  function again(change) {
    Object.assign(options, change);
    return search(true);
  }

  async function search(changed = false) {
    const mine = (turn += 1);
    for (const card of cards) card.rest();
    cards = [];
    if (changed) history.replaceState(null, "", link(sea, "search", { query: ref, start: span.start?.toFixed(3), end: span.end?.toFixed(3), ...options, consensus: options.consensus ? "" : "no" }));
    results.replaceChildren(loading(ref.startsWith("upload") || changed ? "Encoding the query and searching…" : "Searching…"));
    let answer;
    try {
      const query = { ref, start: span.start, end: span.end };
      answer = await post(`/seas/${sea}/search`, { query, k: options.k, recipe: options.recipe, label: options.label || null });
    } catch (error) {
      if (mine === turn) results.replaceChildren(notice("bad", "The search did not work", error.message, h("button.primary", { type: "button", onclick: () => search() }, "Try again")));
      return;
    }
    if (mine !== turn || signal.aborted) return;
    show(answer);
  }

  function show(answer) {
    const { matches } = answer;
    if (!matches.length) {
      results.replaceChildren(notice("empty", "Nothing to compare with", options.label ? `No other clip has the label ${options.label}.` : "The sea has no other clip yet. Add more videos.",
        options.label ? h("button", { type: "button", onclick: () => again({ label: "" }) }, "Any label") : h("a.button", { href: link(sea, "sea") }, "To the sea")));
      return;
    }
    const good = matches.filter((match) => match.alignable && isLikely(match)).length;
    const picked = [];
    const gridLink = h("a.button.small", { hidden: true }, icon("grid"), "Play in a grid");
    const chosen = (one, yes) => {
      if (yes) picked.push(one);
      else picked.splice(picked.indexOf(one), 1);
      gridLink.hidden = !picked.length;
      gridLink.lastChild.textContent = `Play ${picked.length + 1} in a grid`;
      gridLink.href = link(sea, "grid", { leader: ref, start: span.start?.toFixed(3), end: span.end?.toFixed(3), follower: picked.slice(0, 8), ...how() });
    };
    cards = matches.map((match) => matchCard(sea, match, { how: how(), chosen, span: () => ({ ref, viewable, ...span, length: reel?.footage.length }), playing: (card) => cards.forEach((one) => one !== card && one.rest()) }));
    results.replaceChildren(
      h("div.heading", {}, h("h1", {}, good ? `${good} of ${matches.length} move in step` : "Nothing here moves in step"), h("span.space"), gridLink),
      good ? h("p.faint", {}, `${answer.verdict} ${matchMedia("(hover: none)").matches ? "Tap" : "Point at"} one to play it in step with the query.`) : hints(answer),
      h("ol.matches", {}, cards.map((card) => card.item)));
  }

  function hints(answer) {
    return h("div.hints", {},
      h("p", { title: answer.verdict }, `${best(answer)} What may help:`),
      h("ul", {},
        h("li", {}, "Trim the query to one action, from its beginning to its end."),
        options.label && h("li", {}, "Search among all labels."),
        h("li", {}, "Add more footage: this sea may not have the movement yet.")));
  }
}

/** How near the first match is to the query's movement, in words. */
function best({ matches, candidates }) {
  const [first] = matches;
  const words = movementWords(first);
  return words ? `The first of ${candidates} candidates: ${words}.` : `None of ${candidates} candidates aligns with it.`;
}

const TILES = 12;

/** A strip of the video {ref, length} with a handle at each end of the span; `change(span)` when one is let go,
 *  `scrub(seconds)` while it moves. */
function trimmer(sea, { ref, length, step }, span, { change, scrub }) {
  const at = Array.from({ length: TILES }, (_, n) => (((n + 0.5) / TILES) * length).toFixed(3));
  const shortest = Math.min(length, 4 * step);
  const picture = h("img", { src: address(`/seas/${sea}/footage/${ref}/strip`, { at, height: 60 }), alt: "", draggable: "false" });
  const left = h("div.out");
  const right = h("div.out.after");
  const head = h("div.head", { hidden: true });
  const words = h("output.span");
  const handles = { start: handle("start", "Begin"), end: handle("end", "End") };
  const strip = h("div.strip", {}, picture, left, right, head, handles.start, handles.end);
  const box = h("div.trimmer", {}, strip, words);
  place();

  function handle(side, label) {
    return h("div.handle", {
      class: `handle ${side}`, role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 0, "aria-valuemax": length.toFixed(2),
      onpointerdown: (event) => {
        event.preventDefault();
        event.currentTarget.focus();
        drag(event, (move) => set(side, secondsAt(move)), () => change({ ...span }));
      },
      onkeydown: (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
        if (!move) return;
        event.preventDefault();
        event.stopPropagation();
        set(side, span[side] + move * step * (event.shiftKey ? 10 : 1));
        change({ ...span });
      },
    });
  }

  function secondsAt(event) {
    const { left, width } = strip.getBoundingClientRect();
    return (Math.min(Math.max(event.clientX - left, 0), width) / width) * length;
  }

  function set(side, seconds) {
    const limits = side === "start" ? [0, span.end - shortest] : [span.start + shortest, length];
    span[side] = Math.min(Math.max(seconds, limits[0]), limits[1]);
    place();
    scrub(side === "start" ? span.start : span.end);
  }

  function place() {
    const share = (seconds) => `${(100 * seconds) / length}%`;
    handles.start.style.left = share(span.start);
    handles.end.style.left = share(span.end);
    left.style.width = share(span.start);
    right.style.width = share(length - span.end);
    for (const side of ["start", "end"]) {
      handles[side].setAttribute("aria-valuenow", span[side].toFixed(2));
      handles[side].setAttribute("aria-valuetext", clock(span[side]));
    }
    words.textContent = `${clock(span.start)} – ${clock(span.end)} · ${(span.end - span.start).toFixed(2)} s`;
  }

  box.setTime = (seconds) => {
    head.hidden = false;
    head.style.left = `${(100 * seconds) / length}%`;
  };
  return box;
}
