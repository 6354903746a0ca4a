// Changing clips and seas: names, labels, tags; seas made and deleted; the page on a phone.

import { ask, del, get, post } from "./api.js";
import { askDialog, capital, h, prose, showDialog, toast } from "./dom.js";

/** Set name, label and tags of a clip; the answer is the clip as it is then. */
export function changeClip(sea, { id }, { name, label, tags }) {
  return ask("PATCH", `/seas/${sea}/clips/${id}`, { body: { name, label: label ?? "", tags } });
}

/** Name, label and tags of a clip; `changed(clip)` gets it as it is then. */
export function editDialog(sea, clip, labels, changed) {
  const field = (text, value, more = {}) => {
    const input = h("input", { value, maxlength: 120, autocomplete: "off", ...more });
    return Object.assign(h("label", {}, text, input), { input });
  };
  const name = field("Name", clip.name, { autofocus: true });
  const label = field("Label", clip.label ?? "", { list: "labels", placeholder: "none" });
  const tags = field("Tags, separated by commas", clip.tags.join(", "), { maxlength: 2000, placeholder: "none" });
  const known = h("datalist", { id: "labels" }, labels.map((one) => h("option", { value: one })));
  const file = h("p.faint", { title: clip.file }, `The file keeps its name, ${clip.file.split("/").at(-1)}.`);
  askDialog(`Edit ${clip.name}`, [h("div.fields.column", {}, name, label, tags), known, file], h("button.primary", {}, "Save"), async () => {
    const wanted = { name: name.input.value.trim(), label: label.input.value.trim(), tags: tags.input.value.split(",").map((one) => one.trim()).filter(Boolean) };
    changed(await changeClip(sea, clip, wanted));
  });
}

/** `made(name)` is called when the new sea is there. */
export function newSeaDialog(made) {
  const name = h("input", { maxlength: 60, required: true, autofocus: true, autocomplete: "off", pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", title: "Letters, digits, dots, hyphens and underscores", placeholder: "my-takes" });
  askDialog("New sea", [h("label", {}, "Name", name), h("p.faint", {}, "It is kept in the server's own folder. Add videos to it afterwards.")], h("button.primary", {}, "Make"), async () => {
    await post("/seas", { name: name.value.trim() });
    made(name.value.trim());
  });
}

/** `gone()` is called when the sea is deleted. */
export function deleteSeaDialog(sea, clips, gone) {
  const name = h("input", { required: true, autofocus: true, autocomplete: "off" });
  const words = h("p", {}, `All ${clips} clips of ${sea}, with their marks and anchors, are deleted. Videos that were uploaded here are deleted too.`);
  askDialog(`Delete ${sea}?`, [words, h("label", {}, `Type ${sea} to confirm`, name)], h("button.danger", {}, "Delete the sea"), async () => {
    if (name.value.trim() !== sea) throw new Error(`Type ${sea} to delete it.`);
    await del(`/seas/${encodeURIComponent(sea)}`);
    toast(`${sea} was deleted`);
    gone();
  });
}

/** The address of the page for a phone, as a QR code. */
export async function showPhone() {
  let content;
  try {
    const { address, qr } = await get("/phone");
    const picture = h("img.qr", { src: `data:image/svg+xml;utf8,${encodeURIComponent(qr)}`, alt: "QR code with the address of this page", width: 260, height: 260 });
    content = [h("p", {}, "Scan this with a phone in the same network. Show it only to people who may open the page."), picture, h("code.command", {}, address),
      h("p.faint", {}, "In the phone's browser menu, “Add to home screen” installs it as an app.")];
  } catch (error) {
    content = [h("p", {}, prose(`${capital(error.message)}.`))];
  }
  showDialog(h("dialog.phone", { "aria-label": "On a phone" }, h("h2", { tabindex: -1, autofocus: true }, "On a phone"), content, h("form", { method: "dialog" }, h("button.primary", {}, "Close"))));
}
