// Uploads and jobs: what is running, what has ended, what has failed. The tray is part of the page's flow, so it never
// covers anything; what has ended folds into one line when the view changes.

import { address, del, isOver, watchJobs } from "./api.js";
import { h, icon, iconButton } from "./dom.js";

const RECENT = 60; // seconds: jobs that ended longer before this page was opened are not shown
const STAY = 8000; // ms that good news stay
let tray = null;
let rows = null;
let fold = null;

export function showTray(place) {
  tray = place;
  rows = h("div.rows");
  fold = h("button.small.fold", { type: "button", "aria-expanded": "true", hidden: true, onclick: () => setFolded(!tray.classList.contains("folded")) });
  tray.replaceChildren(fold, rows);
  const known = new Map();
  const opened = Date.now() / 1000;
  watchJobs((job) => {
    if (job.kind === "ahead") return; // nobody has asked for it
    if (["body", "carry"].includes(job.kind) && job.state !== "failed") return; // the panel and the page for labeling show them
    let row = known.get(job.id);
    if (!row) {
      if (isOver(job) && (isQuiet(job) || opened - job.ended > RECENT)) return;
      row = addRow(job.title, () => (isOver(row.job) ? row.remove() : del(`/jobs/${job.id}`)));
      known.set(job.id, row);
    }
    row.job = job;
    row.set(share(job), words(job), job.state);
    row.list(job.result?.failed ?? []);
    if (isQuiet(job)) setTimeout(row.remove, job.kind === "proxy" ? 0 : STAY);
    if (isFilm(job) && job.state === "done") row.link(address(`/jobs/${job.id}/result`));
  });
}

/** Fold what has ended into one line: another view is shown now. */
export function foldTray() {
  if (tray) setFolded(true);
}

function setFolded(folded) {
  tray.classList.toggle("folded", folded);
  countEnded();
}

function countEnded() {
  const ended = [...rows.children].filter((row) => ["done", "failed", "cancelled"].includes(row.dataset.state));
  const failed = ended.filter((row) => row.dataset.state === "failed").length;
  const folded = tray.classList.contains("folded");
  fold.hidden = !ended.length || (!folded && !rows.children.length);
  fold.setAttribute("aria-expanded", String(!folded));
  fold.textContent = `${folded ? "Show" : "Hide"} ${ended.length} finished${failed ? `, ${failed} with problems` : ""}`;
}

/** A line of the tray: set(share, text, state), list(failed), link(address), remove(). `stop` is called by its cross. */
export function addRow(title, stop) {
  const bar = h("progress", { max: 1, "aria-label": title });
  const text = h("span.text");
  const problems = h("ul.problems");
  const name = h("span.title", { title }, title);
  const row = h("div.row", {}, h("div.line", {}, name, iconButton("close", `Stop or dismiss: ${title}`, { onclick: stop })), bar, text, problems);
  rows.append(row);
  return {
    set(part, words, state) {
      if (row.dataset.state !== state) tray.classList.remove("folded"); // news are shown
      row.dataset.state = state;
      if (part === null) bar.removeAttribute("value");
      else bar.value = part;
      bar.hidden = ["done", "failed", "cancelled"].includes(state);
      text.textContent = words;
      countEnded();
    },
    list(failed) {
      problems.replaceChildren(...failed.map(({ file, reason }) => h("li", {}, h("b", {}, file), ` ${reason.replace(`${file}: `, "")}`)));
    },
    link(place) {
      if (!row.querySelector("a")) text.after(h("a.button.small", { href: place, download: "" }, icon("download"), "Download"));
    },
    remove() {
      row.remove();
      countEnded();
    },
  };
}

const isFilm = (job) => job.kind === "film" || job.kind === "grid";

/** Whether there is nothing more to say or to do about a job. */
const isQuiet = (job) => job.state === "done" && !isFilm(job) && !job.result?.failed?.length;

const share = (job) => job.state === "running" && job.progress === 0 ? null : job.progress;

function words(job) {
  if (job.state === "failed") return job.error;
  if (job.state === "done") return job.kind === "add" ? outcome(job.result) : "done";
  return job.state === "running" ? job.message || "running" : job.state;
}

function outcome({ added, present, failed }) {
  return [`${added} added`, present && `${present} already present`, failed.length && `${failed.length} not added:`].filter(Boolean).join(", ");
}
