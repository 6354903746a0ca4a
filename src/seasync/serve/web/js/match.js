// A match: how well it fits, and a small stage on which it plays in step with the query.

import { get, post } from "./api.js";
import { preview } from "./clips.js";
import { h, icon, isStill, link, spoken, toast } from "./dom.js";
import { InStep } from "./instep.js";
import { fitBar, gauge, isLikely, movementWords, numbers, partsBar, timingWords } from "./quality.js";
import { openReel } from "./reel.js";
import { Warp } from "./warp.js";

/** {item, rest()}. `how`: recipe and consensus; `span()` is the query's, and whether it is viewable;
 *  `playing(card)` is called when this one starts, `chosen(ref, yes)` when it is chosen for the grid. */
export function matchCard(sea, match, { how, span, playing, chosen }) {
  const { clip } = match;
  const stretch = { match_start: match.match_start ?? undefined, match_end: match.match_end ?? undefined };
  const { box } = preview(sea, clip);
  const plays = () => clip.viewable && span().viewable;
  const canvas = h("canvas.pair", { hidden: true });
  const place = () => link(sea, "sync", { query: span().ref, start: span().start?.toFixed(3), end: span().end?.toFixed(3), match: clip.ref, ...stretch, ...how });
  box.append(canvas);
  const open = h("a.open", { href: place(), onclick: go }, spoken(`Open ${clip.name} in step with the query, `), box);
  const pick = h("input", { type: "checkbox", "aria-label": `Choose ${clip.name} for the grid`, onchange: () => chosen(clip.ref, pick.checked) });
  const says = { same: say("same", true, "Same", "It shows the same movement"), other: say("other", false, "Other", "It shows another movement") };
  const fit = h("div", {}, fitBar(match));
  const details = h("div", {}, numbers(match));
  const meaning = h("p.words", {}, words(match));
  const item = h("li.found", { class: `found ${match.alignable && isLikely(match) ? "good" : "poor"}`, data: { ref: clip.ref }, onpointerenter: start, onpointerleave: rest, onfocusin: start, onfocusout: rest },
    open,
    h("div.about", {},
      h("div.line", {}, h("span.rank", {}, match.rank), h("span.name", { title: clip.file }, clip.name), clip.label && h("span.label", {}, clip.label)),
      fit,
      meaning,
      gauge(match),
      isPartial(match) ? partsBar(match.pieces, ranges()) : null,
      details,
      h("div.line.says", {}, h("span.faint", {}, "Movement"), says.same, says.other),
      h("div.line", {},
        h("a.button.small", { href: place(), onclick: (event) => (event.currentTarget.href = place()) }, icon("film"), match.alignable ? "Open in step" : "Open both", spoken(` with ${clip.name}`)),
        h("span.space"),
        h("label.tick", { title: "Play several matches together in a grid" }, pick, "Grid"))));
  let said = null;
  let touched = false;
  open.addEventListener("pointerdown", (event) => (touched = event.pointerType === "touch"));
  let opened = null; // {stop} once it plays, or is about to
  const card = { item, rest };
  return card;

  /** A button that says whether it is the same movement; pressed again, it takes that back. */
  function say(name, same, text, title) {
    const button = h("button.small.say", { type: "button", "aria-pressed": "false", title: `${title}. The sea learns from it; press again to take it back.`, onclick: answer }, text, spoken(` movement: ${clip.name}`));
    return button;

    async function answer() {
      const now = said === same ? null : same;
      const query = span();
      try {
        const { after } = await post(`/seas/${sea}/answers`, { query: { ref: query.ref, start: query.start, end: query.end }, match: clip.ref, same: now, recipe: how.recipe });
        said = now;
        for (const [key, one] of Object.entries(says)) one.setAttribute("aria-pressed", String(said === (key === "same")));
        meaning.replaceChildren(...words({ ...match, likelihood: after }));
      } catch (error) {
        toast(error.message, "bad");
      }
    }
  }

  /** Seconds that the bars of a partial match show. */
  function ranges() {
    const last = (side) => Math.max(...match.pieces.map((piece) => piece[side][1]));
    const query = span();
    return {
      query: [query.start ?? 0, query.end ?? Math.max(query.length ?? 0, last("query"))],
      match: [match.match_start ?? clip.start, match.match_end ?? clip.end],
    };
  }

  /** With a finger, the first tap plays it, the second one opens it. */
  function go(event) {
    open.href = place();
    if (!touched || !plays() || item.classList.contains("playing")) return;
    event.preventDefault();
    start(); // wanted, unlike what a pointer passes over
  }

  async function start(event) {
    if (opened || !plays() || (event && isStill())) return;
    const mine = (opened = new AbortController());
    playing(card);
    item.classList.add("busy");
    let reels = [];
    let pair = null;
    mine.signal.addEventListener("abort", () => {
      pair?.close();
      for (const reel of reels) reel.close();
      canvas.hidden = true;
      item.classList.remove("busy", "playing");
    });
    try {
      const query = span();
      const [alignment, ...opening] = await Promise.all([
        get(`/seas/${sea}/alignment`, { query: query.ref, start: query.start, end: query.end, match: clip.ref, ...stretch, ...how }, mine.signal),
        openReel(sea, query, { signal: mine.signal }),
        openReel(sea, { ref: clip.ref, start: stretch.match_start, end: stretch.match_end }, { signal: mine.signal }),
      ]);
      reels = opening;
      details.replaceChildren(numbers({ ...match, expected_error: alignment.expected_error }));
      if (mine.signal.aborted) return reels.forEach((reel) => reel.close());
      const warp = new Warp(alignment.warps.query);
      pair = new InStep(reels[0], [[reels[1], warp]], warp, drawer(canvas, reels));
      pair.loop = pair.skip = true;
      await pair.seek(pair.covered(reels[0].start) ?? reels[0].start);
      canvas.hidden = false;
      item.classList.replace("busy", "playing");
      item.pair = pair;
      pair.play();
    } catch (error) {
      if (error.name !== "AbortError") item.classList.add("missing");
      mine.abort();
    }
  }

  function rest() {
    opened?.abort();
    opened = null;
  }
}

/** Draws the match over the whole canvas, and the query small in its corner. */
function drawer(canvas, [query, match]) {
  Object.assign(canvas, { width: 640, height: 400 });
  const ink = canvas.getContext("2d");
  const width = 230;
  const height = Math.min(200, width * (query.height / query.width));
  const frame = getComputedStyle(document.documentElement).getPropertyValue("--inset").trim();
  return (lead, [{ picture: follow, covered }]) => {
    ink.fillStyle = "#000";
    ink.fillRect(0, 0, canvas.width, canvas.height);
    ink.globalAlpha = covered ? 1 : 0.35;
    cover(ink, follow, match, 0, 0, canvas.width, canvas.height);
    ink.globalAlpha = 1;
    ink.fillStyle = frame;
    ink.fillRect(12, canvas.height - height - 16, width + 4, height + 4);
    cover(ink, lead, query, 14, canvas.height - height - 14, width, height);
  };
}

/** Draw a picture so that it fills a box, cut evenly where it is too long. */
function cover(ink, picture, size, left, top, width, height) {
  const scale = Math.max(width / size.width, height / size.height);
  const [w, h] = [size.width * scale, size.height * scale];
  ink.save();
  ink.beginPath();
  ink.rect(left, top, width, height);
  ink.clip();
  ink.drawImage(picture, left + (width - w) / 2, top + (height - h) / 2, w, h);
  ink.restore();
}

const isPartial = (match) => match.alignable && Math.min(match.coverage.query, match.coverage.match) < 1;

/** Both answers in one sentence: is it the same movement, and can the timing be aligned? */
function words(match) {
  const movement = movementWords(match);
  return [h("b", {}, timingWords(match)), movement && `, ${movement}`];
}
