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
  await ask(session, request);
}

/** The job that makes a film; one that was made ahead is not made again. */
async function ask(session, request) {
  const job = await post(`/seas/${session.sea}/alignment/film`, { ...request, ahead: early.has(JSON.stringify(request)) });
  tell(job);
  return job;
}

/** Make a film and download it. progress(share) is called as it goes. */
async function downloadFilm(session, film, progress) {
  const job = await ask(session, filmRequest(session, film));
  const made = await done(job, (news) => progress(news.progress));
  h("a", { href: address(`/jobs/${made.id}/result`), download: "" }).click();
}

/** A button that downloads a film; `film()` gives its settings. While it is made, the button shows how far it is. */
export function filmButton(session, kind, text, film = () => DEFAULTS) {
  const words = h("span", {}, text);
  const button = h(kind, { type: "button", title: "Both videos in step, as one film", onclick: start }, icon("film"), words);
  return button;

  async function start() {
    if (button.ariaBusy === "true") return;
    button.ariaBusy = "true";
    words.textContent = "Making the film…";
    try {
      await downloadFilm(session, film(), (share) => share && (words.textContent = `Making the film… ${Math.round(100 * share)} %`));
    } catch (error) {
      toast(error.message, "bad");
    }
    words.textContent = text;
    button.ariaBusy = "false";
  }
}
