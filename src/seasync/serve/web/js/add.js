// Adding videos to a collection: dropped, chosen, or by their path on the server.

import { choicesOf, done, post, tell, upload } from "./api.js";
import { askDialog, bytes, h, menu, prose, toast } from "./dom.js";
import { addRow } from "./tray.js";

/** Let files be dropped on `place`; `drop(files)` gets them. */
export function acceptDrops(place, words, drop, signal) {
  const veil = h("div.veil", { hidden: true }, h("p", {}, words));
  place.append(veil);
  let depth = 0;
  const isFiles = (event) => event.dataTransfer?.types.includes("Files");
  const on = (name, handle) => window.addEventListener(name, handle, { signal });
  on("dragenter", (event) => {
    if (!isFiles(event)) return;
    depth += 1;
    veil.hidden = false;
  });
  on("dragleave", (event) => {
    if (isFiles(event)) veil.hidden = (depth -= 1) <= 0;
  });
  on("dragover", (event) => isFiles(event) && event.preventDefault());
  on("drop", async (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    const files = await filesOf(event.dataTransfer);
    if (files.length) drop(files);
    else toast("No files in what was dropped", "bad");
  });
}

/** All files of a drop, those in folders too. */
async function filesOf(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map(walk))).flat();
}

async function walk(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return (await Promise.all(found.map(walk))).flat();
    found.push(...some);
  }
}

/** The files that somebody chooses; none if they change their mind. */
export function chooseFiles(multiple = true, accept = "video/*,.mkv,.avi,.mts,.m2ts,.mxf") {
  return new Promise((resolve) => {
    const input = h("input", { type: "file", accept, multiple, onchange: () => resolve([...input.files]), oncancel: () => resolve([]) });
    input.click();
  });
}

/** Ask how, then upload and add; `added()` is called when the sea has something new. */
export function addDialog(sea, about, files, added) {
  const label = h("input", { name: "label", maxlength: 120, placeholder: "none", autocomplete: "off" });
  const path = h("input", { name: "path", placeholder: about.roots[0] ?? "", autocomplete: "off", required: true, autofocus: true });
  let split = "none";
  const tooLarge = files.filter((file) => file.size > about.upload_bytes);
  const good = files.filter((file) => file.size <= about.upload_bytes);
  const list = files.length
    ? h("ul.files", {}, good.slice(0, 8).map((file) => h("li", {}, h("span", {}, file.name), h("span.faint", {}, bytes(file.size)))),
        good.length > 8 && h("li.faint", {}, `and ${good.length - 8} more`),
        tooLarge.map((file) => h("li.bad", {}, `${file.name}: larger than ${bytes(about.upload_bytes)}`)))
    : h("label", {}, "File or folder on the server", path, h("small", {}, about.roots.length ? `Under ${about.roots.join(", ")}` : prose("This server was started without folders to add from (`--root`).")));
  const fields = h("div.fields", {},
    h("label", {}, "Label", label),
    h("label", {}, "Cut into clips", menu("Cut into clips", [...choicesOf("split"), ["5", "every 5 seconds"], ["10", "every 10 seconds"]], "none", (value) => (split = value))));
  const title = files.length ? `Add ${files.length === 1 ? "a video" : `${files.length} videos`} to ${sea}` : `Add to ${sea} by path`;
  askDialog(title, [list, fields], h("button.primary", { autofocus: files.length > 0, disabled: files.length > 0 && !good.length }, "Add"), () => {
    const options = { split: isNaN(split) ? split : Number(split), label: label.value.trim() || null };
    if (!files.length) return begin(sea, { paths: [path.value.trim()], labels: options.label ? null : "folder", ...options }, added);
    uploadAll(sea, good, options, added); // the tray shows the progress
  });
}

/** Upload files one by one, then add them. All files that are refused are listed in one place. */
async function uploadAll(sea, files, options, added) {
  const uploads = [];
  const failed = [];
  for (const file of files) {
    const sent = await sendFile(file, { refused: (reason) => failed.push({ file: file.name, reason }) });
    if (sent) uploads.push(sent.id);
  }
  if (failed.length) listRefused(failed, files.length);
  if (uploads.length) await begin(sea, { uploads, ...options }, added);
}

/** One panel for all files of a batch that were refused: [{file, reason}, …]. */
export function listRefused(failed, count) {
  const row = addRow(`${failed.length} of ${count} files not added`, () => row.remove());
  row.list(failed);
  row.set(0, "Check these files, or convert them to MP4, and add them again.", "failed");
}

/** Upload one file, shown in the tray; null if it was refused or cancelled. `refused(reason)` gets the reason; without it, the tray shows it. With `compare`, the server encodes it at once. */
export async function sendFile(file, { refused, compare } = {}) {
  const stopped = new AbortController();
  const row = addRow(`Upload ${file.name}`, () => (stopped.abort(), row.remove()));
  row.set(0, bytes(file.size), "running");
  try {
    const sent = await upload(file, (share) => row.set(share === 1 ? null : share, share === 1 ? "checking" : bytes(file.size), "running"), { signal: stopped.signal, compare });
    row.remove();
    return sent;
  } catch (error) {
    if (refused) row.remove();
    if (error.name !== "AbortError") (refused ?? ((reason) => row.set(0, reason, "failed")))(error.message);
    return null;
  }
}

/** Ask the server to add; the tray shows the progress. */
async function begin(sea, request, added) {
  const job = await post(`/seas/${encodeURIComponent(sea)}/add`, request);
  tell(job);
  done(job).then(({ result }) => result.added && added(), () => {});
}
