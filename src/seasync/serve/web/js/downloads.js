// What can be taken away: films, timelines, tables, the picture, the command that makes them.

import { address, post } from "./api.js";
import { tell } from "./jobs.js";
import { h, icon, menu, toast } from "./dom.js";

const TIMELINES = [
  ["otio", "OpenTimelineIO"], ["fcpxml", "Final Cut Pro, Resolve"], ["edl", "EDL (CMX3600)"], ["xml", "Premiere (xmeml)"],
  ["mlt", "Kdenlive, Shotcut"], ["csv", "Frame map, CSV"], ["json", "Alignment, JSON"],
];

export function downloads(session) {
  const film = { layout: "side", audio: "query", gaps: "dim", labels: true, marks: false };
  const set = (key) => (value) => (film[key] = value);
  const tick = (key, text) => h("label.tick", {}, h("input", { type: "checkbox", checked: film[key], onchange: (event) => (film[key] = event.target.checked) }), text);
  const links = h("ul.links");
  const command = h("code.command");
  const box = h("div.downloads", {},
    h("h3", {}, "Film"),
    h("div.fields", {},
      h("label", {}, "Pictures", menu("Pictures", [["side", "side by side"], ["stack", "stacked"], ["overlay", "overlaid"], ["retime", "the other one alone, retimed"]], "side", set("layout"))),
      h("label", {}, "Sound", menu("Sound", [["query", "query"], ["match", "match"], ["mix", "both"], ["none", "none"]], "query", set("audio"))),
      h("label", {}, "Without counterpart", menu("Without counterpart", [["dim", "dimmed"], ["skip", "skipped"], ["alone", "alone"]], "dim", set("gaps")))),
    h("div.fields", {}, tick("labels", "names and time codes"), tick("marks", "marks"), h("span.space"),
      h("button.primary", { type: "button", onclick: make }, icon("film"), "Make the film")),
    h("h3", {}, "Timeline and data"), links,
    h("h3", {}, "On the command line"),
    h("div.line", {}, command, h("button.small", { type: "button", onclick: copy }, "Copy")));

  async function make() {
    const { anchor, ...rest } = session.asked;
    const alignment = Object.fromEntries(Object.entries({ ...rest, anchor }).filter(([, value]) => value !== null && value !== undefined && value !== ""));
    tell(await post(`/seas/${session.sea}/alignment/film`, { alignment, keep: session.keep, ...film }));
    toast("The film is being made; it will be at the bottom of the page.");
  }

  function draw() {
    const place = `/seas/${session.sea}/alignment`;
    const to = (path, params) => address(`${place}/${path}`, { ...session.asked, ...params });
    links.replaceChildren(
      ...TIMELINES.map(([form, text]) => h("li", {}, h("a", { href: to(`timeline.${form}`, { keep: session.keep }), download: "" }, h("b", {}, `.${form}`), text))),
      h("li", {}, h("a", { href: to("picture.png"), download: "" }, h("b", {}, ".png"), "The alignment as a picture")),
      h("li", {}, h("a", { href: to("cost.npy"), download: "cost.npy" }, h("b", {}, ".npy"), "Cost matrix")));
    command.textContent = words();
  }

  function words() {
    const { query, match } = session.reels;
    const spans = [["start", "--start"], ["end", "--end"], ["match_start", "--match-start"], ["match_end", "--match-end"]]
      .filter(([key]) => session.request[key]).map(([key, flag]) => `${flag} ${session.request[key]}`);
    const anchors = session.anchors.map((one) => `--anchor ${one.query.toFixed(3)}=${one.match.toFixed(3)}`);
    return ["seasync align", quoted(query.footage.file), quoted(match.footage.file), ...spans, ...anchors].join(" ");
  }

  async function copy() {
    await navigator.clipboard.writeText(command.textContent);
    toast("Copied");
  }

  for (const name of ["alignment", "keep"]) session.addEventListener(name, draw);
  draw();
  return box;
}

function quoted(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
