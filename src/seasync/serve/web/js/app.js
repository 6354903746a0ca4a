// The frame of the page: which view is shown, light or dark, and what happens when a request fails.

import { get, Problem } from "./api.js";
import { setChoices } from "./choices.js";
import { connect } from "./jobs.js";
import { h, icon, iconButton, isTyping, link, loading, menu, notice, toast } from "./dom.js";
import { startView } from "./start.js";
import { seaView } from "./sea.js";
import { searchView } from "./search.js";
import { syncView } from "./sync.js";
import { gridView } from "./grid.js";
import { reportView } from "./report.js";
import { labelView } from "./label.js";
import { markView } from "./mark.js";
import { foldTray, showTray } from "./tray.js";
import { showHelp } from "./help.js";
import { newSeaDialog, showPhone } from "./edit.js";

const VIEWS = { start: startView, sea: seaView, search: searchView, sync: syncView, grid: gridView, report: reportView, label: labelView, mark: markView };
const TITLES = { start: "Compare", search: "Search", sync: "In step", grid: "Many in step", report: "Report", label: "Label", mark: "Mark" };
const NEW_SEA = " new"; // no sea has such a name
const NO_SEA = "-"; // uploads are compared there without any sea
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
  return notice("note", "A token is needed", "Other machines can reach this server, so it asks for the token that `seasync serve` printed.", form);
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
    iconButton(isDark() ? "sun" : "moon", isDark() ? "Light" : "Dark", { id: "theme", onclick: switchTheme }),
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
async function refreshSeas() {
  Object.assign(about, await get(""));
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  const button = document.getElementById("theme");
  const label = theme === "dark" ? "Light" : "Dark";
  button.title = label;
  button.setAttribute("aria-label", label);
  button.replaceChildren(icon(theme === "dark" ? "sun" : "moon"));
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

start();
