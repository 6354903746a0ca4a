// Jobs of the server, received over one connection for the whole page.

import { address } from "./api.js";

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
