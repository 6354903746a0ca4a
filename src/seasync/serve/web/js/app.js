// The page's frame: which sea and which view, light or dark, and what to do when the server says no.

import { get, Problem } from "./api.js";
import { connect } from "./jobs.js";
import { h, icon, iconButton, isTyping, link, loading, menu, notice, toast } from "./dom.js";
import { seaView } from "./sea.js";
import { searchView } from "./search.js";
import { syncView } from "./sync.js";
import { markView } from "./mark.js";
import { showTray } from "./tray.js";
import { showHelp } from "./help.js";

const VIEWS = { sea: seaView, search: searchView, sync: syncView, mark: markView };
const main = document.getElementById("main");
const bar = document.getElementById("bar");
let about = null;
let leave = () => {};

function route() {
  const [path, query] = location.hash.slice(1).split("?");
  const [, sea, view] = path.split("/").map(decodeURIComponent);
  return {
    sea: about.seas.includes(sea) ? sea : about.seas[0],
    view: VIEWS[view] ? view : "sea",
    params: new URLSearchParams(query ?? ""),
  };
}

async function show() {
  leave();
  const { sea, view, params } = route();
  const left = new AbortController();
  leave = () => left.abort();
  drawBar(sea, view);
  main.className = `view-${view}`;
  main.replaceChildren(loading("Loading…"));
  document.title = `${{ sea: sea, search: "Search", sync: "In step", mark: "Mark" }[view]} · Seasync`;
  try {
    const place = h("div.view");
    await VIEWS[view]({ sea, params, about, place, signal: left.signal, ready: () => main.replaceChildren(place) });
    if (!left.signal.aborted && !place.isConnected) main.replaceChildren(place);
  } catch (error) {
    if (left.signal.aborted || error.name === "AbortError") return;
    main.replaceChildren(trouble(error));
  }
}

function trouble(error) {
  if (error.status === 401) return askForToken();
  const again = h("button.primary", { type: "button", onclick: error.status ? show : start }, "Try again");
  const home = h("a.button", { href: "#/" }, "To the sea");
  const title = { 0: "No answer", 403: "Not allowed", 404: "Not here" }[error.status] ?? "That did not work";
  return notice("bad", title, error.message, again, home);
}

function askForToken() {
  const form = h("form.token", { method: "get", action: "./" },
    h("label", {}, "Token", h("input", { name: "token", type: "password", autocomplete: "current-password", required: true })),
    h("button.primary", {}, "Open"));
  return notice("note", "A token is needed", "This server is open to other machines, so it asks for the token that `seasync serve` printed when it was started.", form);
}

function drawBar(sea, view) {
  const tab = (name, text) => h("a", { href: link(sea, name), "aria-current": view === name ? "page" : undefined }, text);
  const seas = about.seas.length > 1 && menu("Sea", about.seas.map((name) => [name, name]), sea, (name) => (location.hash = link(name, "sea")));
  bar.replaceChildren(
    h("a.brand", { href: link(sea, "sea") }, h("img", { src: "icon.svg", alt: "", width: 26, height: 26 }), h("span", {}, "Seasync")),
    h("nav", { "aria-label": "Views" }, tab("sea", "Sea"), tab("search", "Search"), tab("mark", "Mark")),
    seas || h("span.sea-name", {}, sea),
    h("span", { id: "offline", role: "status", hidden: true }, "no connection, trying again…"),
    h("span.space"),
    iconButton("help", "Keys", { onclick: showHelp }),
    iconButton(isDark() ? "sun" : "moon", isDark() ? "Light" : "Dark", { id: "theme", onclick: turnTheme }),
  );
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function turnTheme() {
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
  if (event.reason?.name === "AbortError") return;
  if (event.reason instanceof Problem) event.preventDefault(); // told in words, that is all there is to it
  toast(event.reason?.message ?? String(event.reason), "bad");
});

start();
