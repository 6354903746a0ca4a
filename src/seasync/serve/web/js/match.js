// A match: how well it fits, and a small stage on which it plays in step with the query.

import { get } from "./api.js";
import { preview } from "./clips.js";
import { h, icon, link, percent } from "./dom.js";
import { gauge } from "./gauge.js";
import { InStep } from "./instep.js";
import { openReel } from "./reel.js";
import { Warp } from "./warp.js";

/** {item, rest(), close()}. `span()` is the query's, and whether it is viewable; `playing(card)` is told when this one starts. */
export function matchCard(sea, match, { answer, span, playing }) {
  const { clip } = match;
  const stretch = { match_start: match.match_start ?? undefined, match_end: match.match_end ?? undefined };
  const { box } = preview(sea, clip);
  const plays = () => clip.viewable && span().viewable;
  const canvas = h("canvas.pair", { hidden: true });
  const place = () => link(sea, "sync", { query: span().ref, start: span().start?.toFixed(3), end: span().end?.toFixed(3), match: clip.ref, ...stretch, recipe: answer.recipe });
  box.append(canvas);
  const open = h("a.open", { href: place(), "aria-label": `Open ${clip.name} in step with the query`, onclick: go }, box);
  const item = h("li.found", { class: `found ${match.alignable ? "good" : "poor"}`, data: { ref: clip.ref }, onpointerenter: start, onpointerleave: rest, onfocusin: start, onfocusout: rest },
    open,
    h("div.about", {},
      h("div.line", {}, h("span.rank", {}, match.rank), h("span.name", { title: clip.file }, clip.name), clip.label && h("span.label", {}, clip.label)),
      gauge(match, answer.threshold),
      h("p.faint", { title: match.verdict }, verdict(match)),
      h("div.line", {},
        h("a.button.small", { href: place(), onclick: (event) => (event.currentTarget.href = place()) }, icon("film"), "Open in step"),
        h("span.space"),
        h("span.faint", { title: "How alike the clips are as a whole: the cosine of their clip vectors" }, `similarity ${match.similarity.toFixed(2)}`))));
  let touched = false;
  open.addEventListener("pointerdown", (event) => (touched = event.pointerType === "touch"));
  let opened = null; // {stop} once it plays, or is about to
  const card = { item, rest, close: rest };
  return card;

  /** With a finger, the first tap plays it, the second one opens it. */
  function go(event) {
    open.href = place();
    if (!touched || !plays() || item.classList.contains("playing")) return;
    event.preventDefault();
    start();
  }

  async function start() {
    if (opened || !plays()) return;
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
        get(`/seas/${sea}/alignment`, { query: query.ref, start: query.start, end: query.end, match: clip.ref, ...stretch, recipe: answer.recipe }, mine.signal),
        openReel(sea, query, { signal: mine.signal }),
        openReel(sea, { ref: clip.ref, start: stretch.match_start, end: stretch.match_end }, { signal: mine.signal }),
      ]);
      reels = opening;
      if (mine.signal.aborted) return reels.forEach((reel) => reel.close());
      pair = new InStep(...reels, new Warp(alignment.warps.query), drawer(canvas, reels));
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
  return (lead, follow, { covered }) => {
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

function verdict(match) {
  if (match.verdict.includes(":")) return match.verdict; // in part, and which part
  if (!match.alignable) return "does not move in step";
  if (match.alignability !== null) return `${match.alignability > 0.99 ? "over 99 %" : percent(match.alignability)} likely the same movement`;
  if (match.better_than !== null) return `better than ${percent(match.better_than)} of random pairs`;
  return "moves in step";
}
