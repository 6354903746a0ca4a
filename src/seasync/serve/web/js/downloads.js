// Downloads: films, timelines, tables, pictures, and the commands that make the same.

import { address, choicesOf, done, post, dropUnset, tell, valuesOf } from "./api.js";
import { copyText, h, icon, menu, tick, toast } from "./dom.js";

const SIZES = [["", "full"], ["1920x1080", "1080 lines"], ["1280x720", "720 lines"], ["640x360", "360 lines"]];
const FIELDS = [["layout", "Pictures"], ["audio", "Sound"], ["gaps", "Frames without a counterpart"], ["smooth", "Motion"], ["size", "Size"], ["form", "File"]];

/** `encoder` of the sea, for the commands. */
export function downloads(session, { encoder }) {
  const film = { ...DEFAULTS };
  const sounds = () => choicesOf("audio").map(([side, text]) => [side, session.nouns[side] ?? text]);
  const choices = (key) => ({ size: SIZES, form: choicesOf("film"), audio: sounds() })[key] ?? choicesOf(key);
  const change = (key) => (value) => ((film[key] = value), draw());
  const fields = FIELDS.map(([key, text]) => h("label", {}, text, menu(text, choices(key), film[key], change(key))));
  const button = filmButton(session, "button.primary", "Make the film", () => film);
  const no = h("p.faint", { hidden: true }, "An animation shows both videos.");
  const links = h("ul.links");
  const commands = h("div.commands");
  const box = h("div.downloads", {},
    h("h3", {}, "Film"),
    h("div.fields", {}, fields),
    h("div.fields", {}, tick("names and time codes", film.labels, change("labels")), tick("marks", film.marks, change("marks")), h("span.space"), no, button),
    h("h3", {}, "Timeline and data"), links,
    h("p.faint.gap-note", {}, "Frames without a counterpart become gaps in the timeline."),
    h("h3", {}, "On the command line"), commands,
    h("p.faint.alone-note", {}, "The commands align these two videos alone, without the other matches."));

  function draw() {
    const to = (path, params) => address(`/seas/${session.sea}/alignment/${path}`, { ...session.asked, ...params });
    const link = (href, form, text) => h("li", {}, h("a", { href, download: "" }, h("b", {}, form), text));
    links.replaceChildren(
      ...choicesOf("timeline").map(([form, text]) => link(to(`timeline.${form}`, { keep: session.keep }), `.${form}`, text)),
      link(to("picture.png"), ".png", "The alignment as a picture"),
      ...(session.alignment.has_cost ? [link(to("cost.npy"), ".npy", "Cost matrix")] : []));
    box.querySelector(".gap-note").hidden = !session.leftOut(session.keep).length;
    box.querySelector(".alone-note").hidden = session.request.consensus !== "true" || session.anchors.length > 0;
    no.hidden = film.layout !== "retime" || !valuesOf("animation").includes(film.form);
    button.disabled = !no.hidden;
    commands.replaceChildren(...["align", "render", "export"].map((name) => command(words(name))));
  }

  function command(text) {
    return h("div.line", {}, h("code.command", { tabindex: 0 }, text), h("button.small", { type: "button", onclick: () => copyText(text).then(() => toast("Copied")) }, "Copy"));
  }

  /** The command that does the same. */
  function words(name) {
    const { query, match } = session.reels;
    const { request } = session;
    const flags = [["start", "start"], ["end", "end"], ["match_start", "match-start"], ["match_end", "match-end"]]
      .filter(([key]) => request[key]).map(([key, flag]) => `--${flag} ${request[key]}`);
    for (const [key, usual] of [["recipe", "motion"], ["partial", "auto"], ["order", "same"]]) {
      if (request[key] && request[key] !== usual) flags.push(`--${key} ${request[key]}`);
    }
    for (const one of session.anchors) flags.push(`--anchor ${one.query.toFixed(3)}=${one.match.toFixed(3)}`);
    if (encoder && encoder !== "dinov2-small") flags.push(`--encoder ${quoted(encoder)}`);
    if (name !== "align" && session.keep === "match") flags.push("--keep match");
    if (name === "render") flags.push(...filmFlags(), `--to film.${film.form}`);
    if (name === "export") flags.push("--to timeline.otio");
    return [`seasync ${name}`, quoted(query.footage.file), quoted(match.footage.file), ...flags].join(" ");
  }

  function filmFlags() {
    const usual = { ...DEFAULTS, audio: film.layout === "retime" ? "match" : "query" };
    const flags = ["layout", "audio", "gaps", "smooth"].filter((key) => film[key] !== usual[key]).map((key) => `--${key} ${film[key]}`);
    if (film.size) flags.push(`--size ${film.size}`);
    if (!film.labels) flags.push("--no-labels");
    return flags;
  }

  for (const name of ["alignment", "keep"]) session.addEventListener(name, draw);
  draw();
  return box;
}

const quoted = (text) => /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const DEFAULTS = { layout: "side", keep: "query", audio: "query", gaps: "dim", smooth: "nearest", labels: true, marks: false, form: "mp4", size: "" };
const AHEAD_SECONDS = 20; // of video: the film of a longer one waits until somebody wants it
const early = new Set(); // what was asked for ahead, as text

/** What the server needs to make a film of what a session shows. */
const filmRequest = (session, film) => ({ ...film, alignment: dropUnset(session.asked), keep: session.keep, size: film.size ? film.size.split("x").map(Number) : null });

/** Make the usual film while people still look at the videos, if it is short. */
export async function filmAhead(session) {
  const { start, end } = session.lead;
  if (end - start > AHEAD_SECONDS) return;
  const request = filmRequest(session, DEFAULTS);
  early.add(JSON.stringify(request));
  tell(await ask(session, request));
}

/** The job that makes a film; one that was made ahead is not made again. */
async function ask(session, request) {
  return post(`/seas/${session.sea}/alignment/film`, { ...request, ahead: early.has(JSON.stringify(request)) });
}

/** A button that downloads the film of a session; `film()` gives its settings. */
export function filmButton(session, kind, text, film = () => DEFAULTS) {
  return downloadButton(kind, text, "Both videos in step, as one film", () => ask(session, filmRequest(session, film())));
}

/** A button that downloads what a job makes, which `begin()` starts. It shows how far the job is. */
export function downloadButton(kind, text, title, begin) {
  const words = h("span", {}, text);
  const button = h(kind, { type: "button", title, onclick: start }, icon("film"), words);
  return button;

  async function start() {
    if (button.ariaBusy === "true") return;
    button.ariaBusy = "true";
    words.textContent = "Making the film…";
    try {
      const made = await done(await begin(), ({ progress }) => progress && (words.textContent = `Making the film… ${Math.round(100 * progress)} %`));
      h("a", { href: address(`/jobs/${made.id}/result`), download: "" }).click();
    } catch (error) {
      toast(error.message, "bad");
    }
    words.textContent = text;
    button.ariaBusy = "false";
  }
}
