// The film of two videos in step: made by the server, downloaded as soon as it is ready.

import { address, post } from "./api.js";
import { h, icon, toast } from "./dom.js";
import { done, tell } from "./jobs.js";

export const DEFAULTS = { layout: "side", keep: "query", audio: "query", gaps: "dim", smooth: "nearest", labels: true, marks: false, form: "mp4", size: "" };
const AHEAD_SECONDS = 20; // of video: the film of a longer one waits until somebody wants it
const early = new Set(); // what was asked for ahead, as text

/** What the server needs to make a film of what a session shows. */
function filmRequest(session, film) {
  const alignment = Object.fromEntries(Object.entries(session.asked).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return { ...film, alignment, keep: session.keep, size: film.size ? film.size.split("x").map(Number) : null };
}

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
