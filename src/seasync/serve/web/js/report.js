// The compare report: differences of timing in words and numbers. As a panel beside the videos, and as a page to print.

import { address, get } from "./api.js";
import { clock, h, icon, link, loading, s } from "./dom.js";

/** A panel for the sync view; a click on a row goes to that moment. */
export function reportPanel(session) {
  const box = h("div.report", {}, loading("Comparing…"));
  let turn = 0;

  async function draw() {
    if (session.alignment.detail === "coarse") return;
    const mine = (turn += 1);
    const report = await get(`/seas/${session.sea}/alignment/report`, session.asked).catch((error) => error);
    if (mine !== turn) return;
    if (report instanceof Error) {
      box.replaceChildren(h("p.bad", {}, report.message));
      return;
    }
    const go = (one) => session.seek("query", one.query);
    box.replaceChildren(...[summary(report), moments(report, go, session.nouns), phases(report), links(session)].filter(Boolean));
  }

  box.refresh = draw;
  session.addEventListener("alignment", draw);
  draw();
  return box;
}

function links(session) {
  const { anchor, ...asked } = session.asked;
  return h("p.actions", {},
    h("a.button.small", { href: address(`/seas/${session.sea}/alignment/report.csv`, session.asked), download: "" }, icon("download"), "CSV"),
    h("a.button.small", { href: address(`/seas/${session.sea}/alignment/picture.png`, session.asked), download: "" }, icon("download"), "PNG"),
    h("a.button.small", { href: link(session.sea, "report", { ...asked, anchor }) }, icon("print"), "Print"));
}

function summary(report) {
  return h("ul.summary", {}, report.summary.map((text) => h("li", {}, text)));
}

function moments(report, go, nouns = { query: "query", match: "match" }) {
  if (!report.moments.length) return null;
  return h("table.moments", {},
    h("caption", {}, "Moments, largest difference first"),
    h("thead", {}, h("tr", {}, headings("Moment", report))),
    h("tbody", {}, report.moments.map((one) => h("tr", { data: { name: one.name } },
      h("th", { scope: "row" }, go ? h("button.link", { type: "button", title: one.text, onclick: () => go(one) }, one.name) : one.name, one.source === "query" || one.source === "match" ? h("span.faint", { title: `Marked in the ${nouns[one.source]}, carried over` }, " (carried)") : null),
      h("td", {}, clock(one.query)), h("td", {}, clock(one.match)), h("td", { class: one.later > 0 ? "late" : "early" }, difference(one.later))))));
}

function headings(first, { names }) {
  const video = (side) => h("th", { scope: "col", title: names[side] }, h("span", { class: `dot ${side}` }), names[side]);
  return [h("th", { scope: "col" }, first), video("query"), video("match"), h("th", { scope: "col" }, "Difference")];
}

function phases(report) {
  if (!report.phases.length) return null;
  return h("table.phases", {},
    h("caption", {}, "How long each phase takes"),
    h("thead", {}, h("tr", {}, headings("Phase", report))),
    h("tbody", {}, report.phases.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name),
      h("td", {}, `${one.seconds.query.toFixed(2)} s`), h("td", {}, `${one.seconds.match.toFixed(2)} s`), h("td", {}, difference(one.difference))))));
}

const difference = (seconds) => `${seconds > 0 ? "+" : seconds < 0 ? "−" : ""}${Math.abs(seconds).toFixed(2)} s`;

/** The tempo of both along the query: how fast the movement goes on in the match, from half to double speed. */
function tempo(report) {
  const [from, to] = [report.start.query, report.start.query + report.seconds.query];
  const x = (seconds) => (1000 * (seconds - from)) / Math.max(to - from, 1e-6);
  const y = (speed) => 100 - 60 * Math.min(Math.max(Math.log2(Math.max(speed, 0.01)), -1.5), 1.5);
  const curve = report.tempo.map((one) => `${x(one.query).toFixed(1)},${y(one.speed).toFixed(1)}`).join(" ");
  return h("figure.tempo", {},
    h("figcaption", {}, "Tempo of both: ", h("span.dot.query"), `${report.names.query} (1×), `, h("span.dot.match"), `${report.names.match}, faster above the line and slower below (2×, 1×, ½×)`),
    s("svg", { viewBox: "0 0 1000 200", preserveAspectRatio: "none", role: "img", "aria-label": "Tempo curves of both videos" },
      [2, 0.5].map((speed) => s("path", { class: "level", d: `M0 ${y(speed)}H1000` })),
      s("path", { class: "line query", d: `M0 ${y(1)}H1000` }), s("polyline", { class: "line match", points: curve })));
}

/** The report as a page of its own, to print. */
export async function reportView({ sea, params, place, signal }) {
  const asked = Object.fromEntries([...params.keys()].map((key) => [key, key === "anchor" ? params.getAll(key) : params.get(key)]));
  const report = await get(`/seas/${sea}/alignment/report`, asked, signal);
  const at = (side) => report.moments.slice(0, 6).map((one) => (one[side] + 0.001).toFixed(3));
  const strip = (side) => h("img", { src: address(`/seas/${sea}/footage/${asked[side]}/strip`, { at: at(side), height: 120 }), alt: `Frames of ${report.names[side]} at these moments` });
  place.append(h("article.report.sheet", {},
    h("div.heading", {}, h("h1", {}, `${report.names.match} compared with ${report.names.query}`), h("span.space"),
      h("button.primary", { type: "button", onclick: () => print() }, icon("print"), "Print"),
      h("a.button", { href: link(sea, "sync", asked) }, "Back to the videos")),
    summary(report), moments(report),
    report.moments.length ? h("figure.frames", {}, h("figcaption", {}, "Frames at these moments, largest difference first"), strip("query"), strip("match")) : null,
    phases(report), tempo(report)));
}
