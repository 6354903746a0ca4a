// The server's API. Answers are plain values; what goes wrong is an Error whose message a person can act on. Jobs
// are received over one connection for the whole page.

// Relative to the page: a proxy may have it anywhere on its host.
const ROOT = new URL("api/v1", document.baseURI).pathname;

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export const isSet = (value) => value !== null && value !== undefined && value !== "";

/** What of an object is set. */
export const dropUnset = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => isSet(value)));

/** The address of something; params may hold lists, and nothing for what is not set. */
export const address = (path, params = {}) => ROOT + withParams(path, params);

export function withParams(path, params) {
  const query = new URLSearchParams(Object.entries(params).flatMap(([key, value]) => [value].flat().filter(isSet).map((one) => [key, one])));
  return query.size ? `${path}?${query}` : path;
}

export async function ask(method, path, { params, body, signal } = {}) {
  const content = body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(address(path, params), { method, signal, ...content }).catch((error) => {
    throw error.name === "AbortError" ? error : new Problem("The server does not answer. Is it still running?", 0);
  });
  if (!answer.ok) throw new Problem(await reason(answer), answer.status);
  return answer.status === 204 ? null : answer.json();
}

const reason = (answer) => answer.json().then(({ detail }) => detail, () => `${answer.status} ${answer.statusText}`);

export const get = (path, params, signal) => ask("GET", path, { params, signal });
export const post = (path, body) => ask("POST", path, { body });
export const put = (path, body) => ask("PUT", path, { body });
export const del = (path) => ask("DELETE", path);

/** Upload a file; progress(share) is called as it goes. With `compare`, the server encodes it at once. */
export function upload(file, progress, { signal, compare } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address("/uploads", { name: file.name, compare }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (event) => progress(event.loaded / Math.max(event.total, 1));
    request.onload = () => {
      if (request.status === 201) resolve(request.response);
      else reject(new Problem(request.response?.detail ?? `${request.status}`, request.status));
    };
    request.onerror = () => reject(new Problem(`${file.name}: the connection broke off`, 0));
    request.onabort = () => reject(new DOMException("called off", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

const jobs = new Map();
const watchers = new Set();
let source = null;

/** Call `watcher(job)` for every job, now and whenever one changes; returns a function that stops it. */
export function watchJobs(watcher) {
  watchers.add(watcher);
  for (const job of jobs.values()) watcher(job);
  return () => watchers.delete(watcher);
}

/** Open the connection; `connected(yes)` is called when it opens or breaks. */
export function connect(connected) {
  source?.close();
  source = new EventSource(address("/jobs/events"));
  source.onopen = () => connected(true);
  source.onerror = () => connected(false);
  source.onmessage = (event) => tell(JSON.parse(event.data));
}

/** Take note of a job that was just requested. */
export function tell(job) {
  jobs.set(job.id, job);
  for (const watcher of watchers) watcher(job);
}

export const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);

/** The job when it is done; rejects with the reason if it failed. progress(job) is called as it goes. */
export function done(job, progress = () => {}) {
  return new Promise((resolve, reject) => {
    tell(jobs.get(job.id) ?? job);
    const stop = watchJobs((news) => {
      if (news.id !== job.id) return;
      progress(news);
      if (!isOver(news)) return;
      queueMicrotask(() => stop());
      if (news.state === "done") resolve(news);
      else reject(new Error(news.error ?? `${news.title}: ${news.state}`));
    });
  });
}

let offered = {};

const WORDS = {
  recipe: { motion: "Motion", paper: "Paper" },
  partial: { auto: "whole or in part", never: "whole", always: "in part" },
  split: { none: "no, keep whole", shots: "at every cut", reps: "a clip per repetition" },
  layout: { side: "side by side", stack: "stacked", overlay: "overlaid", retime: "the other video alone, retimed" },
  audio: { query: "query", match: "match", mix: "both", none: "none" },
  smooth: { nearest: "true to the alignment", blend: "blended frames", pieces: "even speeds" },
  gaps: { dim: "play dimmed", skip: "skip", alone: "play alone" },
  film: { mp4: "MP4 (H.264)", mov: "QuickTime", mkv: "Matroska", webm: "WebM (VP9)", webp: "WebP animation", gif: "GIF animation" },
  timeline: {
    otio: "OpenTimelineIO", fcpxml: "Final Cut Pro, Resolve", edl: "EDL (CMX3600)", xml: "Premiere (xmeml)", mlt: "Kdenlive, Shotcut",
    csv: "Frame map, CSV", json: "Alignment, JSON",
  },
};
const HINTS = {
  recipe: { motion: "Compares how things move (recommended)", paper: "The method as published" },
};

/** Called once with what the server offers. */
export function setChoices(choices) {
  offered = choices;
}

/** The values of a field. */
export const valuesOf = (field) => offered[field] ?? [];

/** [[value, words, hint], …] of a field; a value without words shows itself. */
export const choicesOf = (field) => valuesOf(field).map((value) => [value, WORDS[field]?.[value] ?? value, HINTS[field]?.[value]]);
