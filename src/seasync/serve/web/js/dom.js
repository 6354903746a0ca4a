// Building blocks of the page.

import { isSet, withParams } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("button.primary", {onclick, title}, "Play"). Classes may follow the tag's name. */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return fill(element, props, children);
}

/** The same for SVG. */
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key === "value" || key === "checked" || key === "muted") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const PATHS = {
  add: "M12 5v14M5 12h14",
  anchor: "M12 8v12M12 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM5 13a7 7 0 0 0 14 0M8 11h8",
  back: "M14 6l-6 6 6 6",
  close: "M6 6l12 12M18 6L6 18",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  film: "M4 5h16v14H4zM8 5v14M16 5v14M4 12h16",
  forward: "M10 6l6 6-6 6",
  help: "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17.5v.01",
  loop: "M17 3l3 3-3 3M20 6H8a4 4 0 0 0-4 4v1M7 21l-3-3 3-3M4 18h12a4 4 0 0 0 4-4v-1",
  mark: "M6 21V4h11l-3 4 3 4H6",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z",
  pause: "M8 5v14M16 5v14",
  play: "M7 4.5v15l12-7.5z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
  full: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  grid: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  mirror: "M12 3v18M9 7L3 17h6zM15 7l6 10h-6z",
  link: "M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.700l1-1",
  phone: "M8 3h8v18H8zM11 18h2",
  print: "M7 9V4h10v5M7 18H4v-7h16v7h-3M7 14h10v6H7z",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  rename: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  undo: "M8 4L4 8l4 4M4 8h10a6 6 0 0 1 0 12H8",
  redo: "M16 4l4 4-4 4M20 8H10a6 6 0 0 0 0 12h6",
  swap: "M7 4L3 8l4 4M3 8h14M17 12l4 4-4 4M21 16H7",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
};

export const icon = (name) => s("svg", { class: `icon icon-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));

/** A button with a picture, and words for people who do not see it. */
export const iconButton = (name, label, props = {}) => h("button.icon-button", { type: "button", title: label, "aria-label": label, ...props }, icon(name));

/** One of several values, side by side; `change` gets the new one. */
export function choice(label, options, value, change) {
  const buttons = options.map(([key, text, hint]) =>
    h("button", { type: "button", role: "radio", title: hint, "aria-checked": String(key === value), data: { value: key }, onclick: () => pick(key) }, text));
  const group = h("div.choice", { role: "radiogroup", "aria-label": label, onkeydown: step }, buttons);
  group.set = (key) => {
    for (const button of buttons) button.setAttribute("aria-checked", String(button.dataset.value === key));
  };
  return group;

  function pick(key) {
    group.set(key);
    change(key);
  }

  function step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || !isReached(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    const at = buttons.findIndex((button) => button.getAttribute("aria-checked") === "true");
    const next = buttons[(at + by + buttons.length) % buttons.length];
    next.focus();
    pick(next.dataset.value);
  }
}

export function menu(label, options, value, change) {
  const select = h("select", { "aria-label": label, title: label }, options.map(([key, text]) => h("option", { value: key }, text)));
  select.value = value;
  select.onchange = () => {
    change(select.value);
    if (!select.matches(":focus-visible")) select.blur(); // chosen with the mouse: the next key is meant for the page
  };
  return select;
}

/** A box to tick, with its words; `change` gets whether it is ticked. */
export const tick = (text, checked, change, props = {}) =>
  h("label.tick", props, h("input", { type: "checkbox", checked, onchange: (event) => change(event.target.checked) }), text);

/** 0:03.217 */
export function clock(seconds, places = 2) {
  const minutes = Math.floor(Math.max(seconds, 0) / 60);
  const rest = Math.max(seconds, 0) - 60 * minutes;
  return `${minutes}:${rest.toFixed(places).padStart(places ? places + 3 : 2, "0")}`;
}

/** Whether this person asked for as little motion as possible: nothing plays by itself then. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Show an element alone on the screen, or the page again. */
export const fullScreen = (element) => (document.fullscreenElement ? document.exitFullscreen() : element.requestFullscreen());

export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

export const percent = (share) => `${Math.round(100 * share)} %`;

export function bytes(count) {
  return count < 1e6 ? `${Math.max(1, Math.round(count / 1e3))} kB` : count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}

export function toast(text, kind = "note") {
  const note = h(`div.toast.${kind}`, {}, prose(text));
  const place = document.getElementById("toasts");
  [...place.children].find((one) => one.textContent === note.textContent)?.remove(); // never twice at a time
  place.append(note);
  setTimeout(() => note.remove(), kind === "bad" ? 9000 : 5000);
}

/** Words that only screen readers get. */
export const spoken = (text) => h("span.sr", {}, text);

export function showDialog(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Tell something until it is closed. The heading has the focus: on a phone the button is far down. */
export function tellDialog(kind, title, content, close = h("button.primary", {}, "Close")) {
  const dialog = h(kind, { "aria-label": title }, h("h2", { tabindex: -1, autofocus: true }, title), content, h("div.close", {}, close));
  close.addEventListener("click", (event) => event.target.closest("button") && dialog.close());
  showDialog(dialog);
  return dialog;
}

/** Ask before `act()` is called. If that fails, the dialog stays, with its fields and the reason. */
export function askDialog(title, content, button, act) {
  const trouble = h("p.bad", { role: "alert" });
  const actions = h("div.actions", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), button);
  const dialog = h("dialog", { "aria-label": title }, h("h2", {}, title), h("form", { onsubmit: submit }, content, actions));
  let busy = false;
  showDialog(dialog);

  async function submit(event) {
    event.preventDefault();
    if (busy) return;
    busy = true;
    try {
      await act();
      dialog.close();
    } catch (error) {
      trouble.replaceChildren(...prose(error.message));
      actions.before(trouble);
    }
    busy = false;
  }
}

/** What a view shows while it has nothing else: a heading, words that help, and perhaps actions. */
export function notice(kind, title, text, ...actions) {
  return h(`section.notice.${kind}`, { role: kind === "bad" ? "alert" : undefined },
    h("h1", {}, title), text && h("p", {}, prose(text)), actions.length ? h("div.actions", {}, actions) : null);
}

/** Text whose `parts in backticks` are code. */
export const prose = (text) => text.split("`").map((part, n) => (n % 2 ? h("code", {}, part) : part));

export const loading = (text) => h("div.loading", { role: "status" }, h("span.spinner", { "aria-hidden": "true" }), text);

/** Follow a pointer from its press on: move(event) until it is let go, then end(event, cancelled). */
export function drag(event, move, end = () => {}) {
  const target = event.currentTarget;
  const over = new AbortController();
  const stop = (last) => {
    over.abort();
    end(last, last.type === "pointercancel");
  };
  target.setPointerCapture(event.pointerId);
  for (const [name, act] of [["pointermove", move], ["pointerup", stop], ["pointercancel", stop]]) target.addEventListener(name, act, over);
}

/** The address of a view: link("footage", "search", {query: "clip:…"}) */
export const link = (sea, view, params = {}) => withParams(`#/${encodeURIComponent(sea)}/${view}`, params);

/** A value in the address of the view on show, or null. */
export const recall = (name) => new URLSearchParams(location.hash.split("?")[1]).get(name);

/** Keep values in the address of the view on show, so that a reload or a copied link shows the same. */
export function remember(values) {
  const [path, query] = location.hash.split("?");
  const params = new URLSearchParams(query);
  for (const [key, value] of Object.entries(values)) {
    params.delete(key);
    for (const one of [value].flat().filter(isSet)) params.append(key, one);
  }
  history.replaceState(null, "", params.size ? `${path}?${params}` : path);
}

/** Copy text. Browsers have a clipboard only for pages of this machine or with TLS; elsewhere the selection is copied. */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea.sr", { value: text, readonly: true });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** Whether a key is meant for a field rather than for the page. A tick takes the space bar only. */
export function isTyping(event) {
  const { target } = event;
  const field = target.type === "checkbox" ? event.key === " " : ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
  return event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable || field || document.querySelector("dialog[open]") !== null;
}

const BUTTONS = "button, a, summary";
let clicked = null; // what the mouse or a finger has pressed last
addEventListener("pointerdown", (event) => (clicked = event.target.closest?.(BUTTONS) ?? null), { capture: true });
addEventListener("keydown", (event) => event.key === "Tab" && (clicked = null), { capture: true });

/** Whether a button or link has the focus because somebody went there with the keyboard. After a click, keys are meant
 *  for the page: the space bar plays, the arrows step. */
function isReached(target) {
  const button = target.closest?.(BUTTONS);
  return Boolean(button) && button !== clicked;
}

/** Whether the space bar presses a button or a link. */
export const isPressing = (event) => event.key === " " && isReached(event.target);

/** Until `signal`: keys[key](event) for each key that is meant for the page, unless `passes(event)`. */
export function onKeys(keys, signal, passes = () => false) {
  window.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.defaultPrevented || isTyping(event) || passes(event)) return;
    event.preventDefault();
    act(event);
  }, { signal });
}
