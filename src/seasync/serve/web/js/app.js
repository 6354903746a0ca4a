// The frame of the page: which view is shown, light or dark, the keys, and what happens when a request fails.

import { NO_SEA } from "./comparisons.js";
import { connect, get, Problem, setChoices } from "./api.js";
import { capital, h, iconButton, isTyping, link, loading, menu, notice, prose, tellDialog, toast } from "./dom.js";
import { gridView } from "./grid.js";
import { labelView } from "./label.js";
import { markView } from "./marks.js";
import { reportView } from "./report.js";
import { newSeaDialog, seaView } from "./sea.js";
import { searchView } from "./search.js";
import { startView } from "./start.js";
import { syncView } from "./sync.js";
import { foldTray, showTray } from "./tray.js";

const VIEWS = { start: startView, sea: seaView, search: searchView, sync: syncView, grid: gridView, report: reportView, label: labelView, mark: markView };
const TITLES = { start: "Compare", search: "Search", sync: "In step", grid: "Many in step", report: "Report", label: "Label", mark: "Mark" };
const NEW_SEA = " new"; // no sea has such a name
const main = document.getElementById("main");
const bar = document.getElementById("bar");
let about = null;
let leave = () => {};

function route() {
  const [path, query] = location.hash.slice(1).split("?");
  const [, sea, view] = path.split("/").map(decodeURIComponent);
  return {
    sea: sea === NO_SEA || about.seas.includes(sea) ? sea : about.seas[0],
    view: sea ? (VIEWS[view] ? view : "sea") : "start",
    params: new URLSearchParams(query ?? ""),
  };
}

async function show() {
  leave();
  foldTray();
  const { sea, view, params } = route();
  const left = new AbortController();
  leave = () => left.abort();
  drawBar(sea === NO_SEA ? about.seas[0] : sea, view);
  main.className = `view-${view}`;
  main.replaceChildren(loading("Loading…"));
  document.title = `${TITLES[view] ?? sea} · Seasync`;
  try {
    const place = h("div.view");
    await VIEWS[view]({ sea, params, about, refreshSeas, place, signal: left.signal, ready: () => main.replaceChildren(place) });
    if (!left.signal.aborted && !place.isConnected) main.replaceChildren(place);
  } catch (error) {
    if (left.signal.aborted || error.name === "AbortError") return;
    main.replaceChildren(trouble(error));
  }
}

function trouble(error) {
  if (error.status === 401) return askForToken();
  const again = h("button.primary", { type: "button", onclick: error.status ? show : start }, "Try again");
  const home = h("a.button", { href: about?.seas.length ? link(about.seas[0], "sea") : "#/" }, "To the sea");
  const title = { 0: "No answer", 403: "Not allowed", 404: "Not found" }[error.status] ?? "That did not work";
  return notice("bad", title, error.message, again, home);
}

function askForToken() {
  const form = h("form.token", { method: "get", action: "./" },
    h("label", {}, "Token", h("input", { name: "token", type: "password", autocomplete: "current-password", required: true })),
    h("button.primary", {}, "Open"));
  return notice("note", "A token is needed", "The address that `seasync serve` prints opens the page once. Start the server again for another one, or enter the token: `seasync serve --print-token` prints it.", form);
}

function drawBar(sea, view) {
  const tab = (name, text, href = link(sea, name)) => h("a", { href, "aria-current": view === name ? "page" : undefined }, text);
  const seas = menu("Sea", [...about.seas.map((name) => [name, name]), [NEW_SEA, "New sea…"]], sea, (name) => (name === NEW_SEA ? makeSea(sea) : (location.hash = link(name, "sea"))));
  bar.replaceChildren(
    h("a.brand", { href: "#/", "aria-label": "Seasync: start" }, h("img", { src: "icon.svg", alt: "", width: 26, height: 26 }), h("span", {}, "Seasync")),
    h("nav", { "aria-label": "Views" }, tab("start", "Compare", "#/"), tab("sea", "Sea"), tab("search", "Search"), tab("label", "Label")),
    seas,
    h("span", { id: "offline", role: "status", hidden: true }, "no connection, trying again…"),
    h("span.space"),
    iconButton("phone", "On a phone", { class: "icon-button on-phone", onclick: showPhone }),
    iconButton("help", "Keys", { onclick: showHelp }),
    themeButton(),
  );
}

function makeSea(sea) {
  bar.querySelector("select").value = sea;
  newSeaDialog(async (name) => {
    await refreshSeas();
    location.hash = link(name, "sea");
  });
}

/** After a sea was made or deleted. */
const refreshSeas = async () => Object.assign(about, await get(""));

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function themeButton() {
  const [picture, name] = isDark() ? ["sun", "Light"] : ["moon", "Dark"];
  return iconButton(picture, name, { id: "theme", onclick: switchTheme });
}

function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  const button = themeButton();
  document.getElementById("theme").replaceWith(button);
  button.focus();
}

async function start() {
  main.replaceChildren(loading("Loading…"));
  try {
    about = await get("");
  } catch (error) {
    main.replaceChildren(trouble(error));
    return;
  }
  setChoices(about.choices);
  connect((yes) => {
    const sign = document.getElementById("offline");
    if (sign) sign.hidden = yes;
  });
  showTray(document.getElementById("tray"));
  window.onhashchange = show;
  await show();
}

document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
window.addEventListener("keydown", (event) => event.key === "?" && !isTyping(event) && showHelp());
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError") return event.preventDefault(); // the view it was for is left
  if (event.reason instanceof Problem) event.preventDefault(); // shown in words, that is enough
  toast(event.reason?.message ?? String(event.reason), "bad");
});

const KEYS = {
  "Everywhere": [["?", "these keys"], ["Ctrl Z", "undo: anchors, marks, drawings, edits of clips, the order of a grid; with Shift, redo"]],
  "Sea": [["/", "filter"], ["Arrows", "from clip to clip"], ["Enter", "search with it"], ["M", "mark it"], ["E", "edit its name, label and tags"], ["Delete", "remove it from the sea"]],
  "In step": [
    ["Space", "play, pause"], ["← →", "one frame"], ["Shift ← →", "ten frames"], ["Home End", "first, last frame"],
    ["[ ]", "slower, faster"], ["L", "loop"], ["B", "loop a span: press at its start, at its end, and once more to end it"], ["S", "skip frames without a counterpart"], ["O", "side by side, stacked, overlaid"], ["X", "swap the two videos"], ["Q", "sound: none, of the first video, of the second"], ["K", "keep the clock of the first video, or of the second"], ["I", "mirror the second video"], ["F", "full screen"], ["+ − 0", "zoom in, out, reset; drag to move the picture"],
    ["A", "set an anchor: ← → move the other video, Enter pins, Esc leaves"],
  ],
  "Check carried marks": [["Enter", "confirm, then the next doubtful clip"], ["N", "next without confirming"], ["← →", "move the mark by a frame; with Shift, ten"], ["↑ ↓", "choose another mark"]],
  "Marks": [["M", "key moment"], ["P", "start of a phase"], ["1 – 9", "the key moment of that number"], ["Backspace", "remove the mark here"]],
};

function showHelp() {
  const dialog = tellDialog("dialog.help", "Keys", h("div.columns", {}, Object.entries(KEYS).map(([title, keys]) =>
    h("section", {}, h("h3", {}, title), h("dl", {}, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]))))));
  dialog.onclick = (event) => event.target === dialog && dialog.close();
}

/** The address of the page for a phone, as a QR code. */
async function showPhone() {
  let content;
  try {
    const { address, qr } = await get("/phone");
    const picture = h("img.qr", { src: `data:image/svg+xml;utf8,${encodeURIComponent(qr)}`, alt: "QR code with the address of this page", width: 260, height: 260 });
    content = [h("p", {}, "Scan this with a phone in the same network. Show it only to people who may open the page."), picture, h("code.command", {}, address),
      h("p.faint", {}, "In the phone's browser menu, “Add to home screen” installs it as an app.")];
  } catch (error) {
    content = [h("p", {}, prose(`${capital(error.message)}.`))];
  }
  tellDialog("dialog.phone", "On a phone", content);
}

start();
