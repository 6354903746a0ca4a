// Uploads and jobs under way, and what became of them.

import { address, del } from "./api.js";
import { isOver, watchJobs } from "./jobs.js";
import { h, icon, iconButton } from "./dom.js";

const RECENT = 60; // seconds for which a job that ended before this page was opened is still told
const STAY = 8000; // ms for which good news stay
let tray = null;

export function showTray(place) {
  tray = place;
  const rows = new Map();
  const opened = Date.now() / 1000;
  watchJobs((job) => {
    let row = rows.get(job.id);
    if (!row) {
      if (isOver(job) && (isQuiet(job) || opened - job.ended > RECENT)) return;
      row = addRow(job.title, () => (isOver(row.job) ? row.remove() : del(`/jobs/${job.id}`)));
      rows.set(job.id, row);
    }
    row.job = job;
    row.set(share(job), words(job), job.state);
    if (isQuiet(job)) setTimeout(row.remove, job.kind === "proxy" ? 0 : STAY);
    if (job.kind === "film" && job.state === "done") row.link(address(`/jobs/${job.id}/result`));
  });
}

/** A line in the tray: set(share, text, state), link(address), remove(). `stop` is called by its cross. */
export function addRow(title, stop) {
  const bar = h("progress", { max: 1, "aria-label": title });
  const text = h("span.text");
  const name = h("span.title", { title }, title);
  const row = h("div.row", {}, h("div.line", {}, name, iconButton("close", "Stop or dismiss", { onclick: stop })), bar, text);
  tray.append(row);
  const handle = {
    set(part, words, state) {
      row.dataset.state = state;
      if (part === null) bar.removeAttribute("value");
      else bar.value = part;
      bar.hidden = ["done", "failed", "cancelled"].includes(state);
      text.textContent = words;
    },
    link(place) {
      if (!row.querySelector("a")) text.after(h("a.button.small", { href: place, download: "" }, icon("download"), "Download"));
    },
    remove: () => row.remove(),
  };
  return handle;
}

/** Whether there is nothing more to be said or done about it. */
function isQuiet(job) {
  return job.state === "done" && job.kind !== "film" && !job.result?.failed?.length;
}

function share(job) {
  return job.state === "running" && job.progress === 0 ? null : job.progress;
}

function words(job) {
  if (job.state === "failed") return job.error;
  if (job.state === "done") return job.kind === "add" ? outcome(job.result) : "done";
  return job.state === "running" ? job.message || "running" : job.state;
}

function outcome({ added, present, failed }) {
  const parts = [`${added} added`];
  if (present) parts.push(`${present} there already`);
  if (failed.length) parts.push(`${failed.length} not: ${failed[0].file}, ${failed[0].reason}`);
  return parts.join(", ");
}
