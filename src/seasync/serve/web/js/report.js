// The compare report: differences of timing in words and numbers. As a panel beside the videos, and as a page to print.

import { address, get } from "./api.js";
import { capital, clock, h, icon, link, loading, recall, remember, s } from "./dom.js";
import { frame } from "./strips.js";

const SIDES = ["query", "match"];
const PICTURED = 12; // moments that are shown with their frames

/** A panel for the sync view; a click on a row goes to that moment. */
export function reportPanel(session) {
  const box = h("div.report", {}, loading("Comparing…"));
  let turn = 0;
  let since = recall("since"); // second of the query from which times count

  async function draw() {
    if (session.alignment.detail === "coarse") return;
    const mine = (turn += 1);
    const report = await get(`/seas/${session.sea}/alignment/report`, { ...session.asked, since }).catch((error) => error);
    if (mine !== turn) return;
    if (report instanceof Error) {
      box.replaceChildren(h("p.bad", {}, report.message), ...(since ? [h("button.small", { type: "button", onclick: () => count(null) }, "Count from the first sure moment")] : []));
      return;
    }
    const pictures = Object.fromEntries(SIDES.map((side) => [side, { source: strip(session.sea, session.request[side], report, side, 60), shape: session.reels[side].width / session.reels[side].height }]));
    const nouns = Object.fromEntries(SIDES.map((side) => [side, capital(session.nouns[side]).replace(" video", "")]));
    const table = moments(report, { pictures, nouns, go: (one) => session.go("query", one.query) });
    box.replaceChildren(...[summary(report), table, phases(report, nouns), zeroButtons(report), links(session, since)].filter(Boolean));
  }

  /** From when times count: the first sure moment, or one that both videos must reach together. */
  function zeroButtons(report) {
    const fromStart = Math.abs(report.zero.query - report.start.query) < 0.001;
    return h("p.actions", {}, h("span.faint", {}, zeroWords(report, since, `the ${session.nouns.query}`)),
      h("button.small", { type: "button", title: "Both videos are in time at this moment; how far apart are they before and after it?", onclick: () => count(session.times.query.toFixed(3)) }, "Count from this moment"),
      since ? h("button.small", { type: "button", onclick: () => count(null) }, "Count from the first sure moment") : null,
      fromStart ? null : h("button.small", { type: "button", onclick: () => count(report.start.query.toFixed(3)) }, "Count from the start"));
  }

  function count(from) {
    since = from;
    remember({ since });
    return draw();
  }

  box.refresh = draw;
  session.addEventListener("alignment", draw);
  draw();
  return box;
}

/** From when times count, in words. */
function zeroWords({ zero, start }, since, name) {
  if (Math.abs(zero.query - start.query) < 0.001) return "Times count from the start of what both show.";
  return `Times count from ${clock(zero.query)} of ${name}${since ? "" : ", the first sure moment"}.`;
}

function links(session, since) {
  const { anchor, ...asked } = session.asked;
  return h("p.actions", {},
    h("a.button.small", { href: address(`/seas/${session.sea}/alignment/report.csv`, { ...session.asked, since }), download: "" }, icon("download"), "CSV"),
    h("a.button.small", { href: address(`/seas/${session.sea}/alignment/picture.png`, session.asked), download: "" }, icon("download"), "PNG"),
    h("a.button.small", { href: link(session.sea, "report", { ...asked, anchor, since }) }, icon("print"), "Print"));
}

const summary = (report) => h("ul.summary", {}, report.summary.map((text) => h("li", {}, text)));

/** The frames of a video at the moments, side by side in one picture. */
function strip(sea, ref, { moments }, side, height) {
  const at = moments.slice(0, PICTURED).map((one) => (one[side] + 0.001).toFixed(3));
  return at.length ? address(`/seas/${sea}/footage/${ref}/strip`, { at, height }) : "";
}

/** pictures: {source, shape} of the strips of both videos; nouns: what the two are called; go(moment) is called by a click. */
function moments(report, { pictures, nouns, go }) {
  if (!report.moments.length) return null;
  const count = Math.min(report.moments.length, PICTURED);
  const row = (one, n) => {
    const content = [n < count && h("span.pair", { "aria-hidden": "true" }, SIDES.map((side) => framed(pictures[side], n, count))), ...momentName(one, report.names)];
    return h("tr", { data: { name: one.name } },
      h("th", { scope: "row" }, go ? h("button.link", { type: "button", title: one.text, onclick: () => go(one) }, content) : content),
      SIDES.map((side) => h("td", {}, seconds(one[side] - report.zero[side]))),
      h("td", { class: one.later > 0 ? "late" : "early" }, difference(one.later, "later", "earlier"), one.sure ? null : h("span.faint", { title: "Several frames of the other video could belong to this one" }, " (unsure)")));
  };
  return h("table.moments", {},
    h("caption", {}, "Moments, largest difference first"),
    h("thead", {}, h("tr", {}, headings("Moment", nouns, report.names))),
    h("tbody", {}, report.moments.map(row)));
}

/** A frame of a strip in its own shape, which is known at the latest when the strip is loaded. */
function framed({ source, shape }, n, count) {
  const picture = frame(source, n, count);
  if (shape) picture.style.setProperty("--shape", shape);
  else {
    const whole = new Image();
    whole.onload = () => picture.style.setProperty("--shape", whole.naturalWidth / count / whole.naturalHeight);
    whole.src = source;
  }
  return picture;
}

/** What a moment is called. One without a mark is known by its frames and its time. */
function momentName({ name, source }, names) {
  if (source === "difference") return [h("span.sr", {}, name)];
  const carried = source !== "both" && h("span.faint", { title: `Marked in ${names[source]}, carried over` }, " (carried)");
  return [h("span.name", {}, name, carried)];
}

function headings(first, nouns, names) {
  const video = (side) => h("th", { scope: "col", title: names[side] }, h("span", { class: `dot ${side}` }), nouns[side]);
  return [h("th", { scope: "col" }, first), video("query"), video("match"), h("th", { scope: "col" }, "Difference")];
}

function phases(report, nouns) {
  if (!report.phases.length) return null;
  return h("table.phases", {},
    h("caption", {}, "How long each phase takes"),
    h("thead", {}, h("tr", {}, headings("Phase", nouns, report.names))),
    h("tbody", {}, report.phases.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name),
      h("td", {}, `${one.seconds.query.toFixed(2)} s`), h("td", {}, `${one.seconds.match.toFixed(2)} s`), h("td", {}, difference(one.difference, "longer", "shorter"))))));
}

const seconds = (value) => `${value < -0.005 ? "−" : ""}${Math.abs(value).toFixed(2)} s`;
const difference = (seconds, more, less) => (Math.abs(seconds) < 0.005 ? "none" : `${Math.abs(seconds).toFixed(2)} s ${seconds > 0 ? more : less}`);

/** The tempo of both along the query: how fast the movement goes on in the match, from half to double speed. */
function tempo(report) {
  const [from, to] = [report.start.query, report.start.query + report.seconds.query];
  const x = (seconds) => (1000 * (seconds - from)) / Math.max(to - from, 1e-6);
  const y = (speed) => 100 - 60 * Math.min(Math.max(Math.log2(Math.max(speed, 0.01)), -1.5), 1.5);
  const curve = report.tempo.map((one) => `${x(one.query).toFixed(1)},${y(one.speed).toFixed(1)}`).join(" ");
  return h("figure.tempo", {},
    h("figcaption", {}, "Tempo of both: ", h("span.dot.query"), `${report.names.query} (1×), `, h("span.dot.match"), `${report.names.match}, faster above the line, slower below`),
    h("div.plot", {},
      s("svg", { viewBox: "0 0 1000 200", preserveAspectRatio: "none", role: "img", "aria-label": "Tempo curves of both videos" },
        [2, 0.5].map((speed) => s("path", { class: "level", d: `M0 ${y(speed)}H1000` })),
        s("path", { class: "line query", d: `M0 ${y(1)}H1000` }), s("polyline", { class: "line match", points: curve })),
      ["2×", "1×", "½×"].map((text) => h("span.level", {}, text))));
}

/** The report as a page of its own, to print. */
export async function reportView({ sea, params, place, signal }) {
  const asked = Object.fromEntries([...params.keys()].map((key) => [key, ["anchor", "takes"].includes(key) ? params.getAll(key) : params.get(key)]));
  const report = await get(`/seas/${sea}/alignment/report`, asked, signal);
  const pictures = Object.fromEntries(SIDES.map((side) => [side, { source: strip(sea, asked[side], report, side, 160) }]));
  place.append(h("article.report.sheet", {},
    h("div.heading", {}, h("h1", {}, `${report.names.match} compared with ${report.names.query}`), h("span.space"),
      h("button.primary", { type: "button", onclick: () => print() }, icon("print"), "Print"),
      h("a.button", { href: link(sea, "sync", asked) }, "Back to the videos")),
    summary(report), moments(report, { pictures, nouns: report.names }), h("p.faint", {}, zeroWords(report, asked.since, report.names.query)), phases(report, report.names), tempo(report)));
}
