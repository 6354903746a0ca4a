// Play, step, scrub, speed, loop: one control for all that is shown. The address keeps the moment on show.

import { clock, drag, h, icon, iconButton, isPressing, isTyping, menu, onKeys, recall, remember } from "./dom.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 1.5, 2];

/** `ticks()` gives the marks to show on the bar: [{seconds, name, kind}]. */
export function transport(session, { ticks = () => [], signal }) {
  const toggle = iconButton("play", "Play (space)", { class: "icon-button play", onclick: () => session.player.toggle() });
  const time = h("output.time");
  const speed = menu("Speed", SPEEDS.map((one) => [one, `${one}×`]), 1, (value) => setSpeed(Number(value)));
  const loop = iconButton("loop", "Loop (L)", { "aria-pressed": "false", onclick: turnLoop });
  const skip = h("button.small.skip-gaps", { type: "button", title: "Skip frames without a counterpart (S)", "aria-pressed": "false", onclick: turnSkip }, "Skip", h("span", {}, "left out"));
  const ends = h("button.small.loop-span", { type: "button", title: "Loop a span: press at its start, at its end, and once more to end it (B)", "aria-pressed": "false", onclick: loopSpan }, "A–B");
  let span = []; // what is looped, in seconds
  const rail = h("div.rail");
  const head = h("div.head");
  const slider = h("div.scrub", { role: "slider", tabindex: 0, "aria-label": "Moment", onpointerdown: scrub }, rail, head);
  const box = h("div.transport", {}, slider,
    h("div.buttons", {},
      iconButton("back", "One frame back (←)", { onclick: () => session.player.step(-1) }), toggle,
      iconButton("forward", "One frame on (→)", { onclick: () => session.player.step(1) }),
      time, h("span.space"), skip, speed, ends, loop));

  const share = (seconds) => {
    const [from, to] = session.lead.range;
    return `${(100 * (seconds - from)) / (to - from)}%`;
  };

  function drawRail() {
    const spans = session.warp.spans.map(([from, to]) => {
      const span = h("span.covered");
      const [first, last] = session.lead.range;
      span.style.left = share(Math.max(from, first));
      span.style.width = `calc(${share(Math.min(to, last))} - ${share(Math.max(from, first))})`;
      return span;
    });
    const marks = ticks().map(({ seconds, name, kind }) => {
      const mark = h(`span.tick.${kind}`, { title: `${name} · ${clock(seconds, 3)}` });
      mark.style.left = share(seconds);
      return mark;
    });
    const looped = h("span.looped", { hidden: !span.length });
    looped.style.left = share(span[0] ?? 0);
    looped.style.width = span.length === 2 ? `calc(${share(span[1])} - ${share(span[0])})` : "3px";
    rail.replaceChildren(...spans, looped, ...marks);
    skip.hidden = !session.alignment || !session.leftOut(session.keep).length;
  }

  function drawTime() {
    const { time: now } = session.player;
    head.style.left = share(now);
    time.replaceChildren(clock(now, 3), h("span.total", {}, ` / ${clock(session.lead.range[1], 2)}`));
    slider.setAttribute("aria-valuemin", session.lead.range[0].toFixed(3));
    slider.setAttribute("aria-valuemax", session.lead.range[1].toFixed(3));
    slider.setAttribute("aria-valuenow", now.toFixed(3));
    slider.setAttribute("aria-valuetext", clock(now, 3));
  }

  function drawState() {
    const { playing } = session.player;
    toggle.replaceChildren(icon(playing ? "pause" : "play"));
    toggle.setAttribute("aria-label", playing ? "Pause (space)" : "Play (space)");
  }

  function scrub(event) {
    const playing = session.player.playing;
    const to = (move) => {
      const { left, width } = slider.getBoundingClientRect();
      const [from, until] = session.lead.range;
      session.player.seek(from + ((move.clientX - left) / width) * (until - from));
    };
    session.player.pause();
    to(event);
    drag(event, to, () => playing && session.player.play());
  }

  function turnLoop() {
    session.player.loop = !session.player.loop;
    loop.setAttribute("aria-pressed", String(session.player.loop));
    rememberLoop();
  }

  function rememberLoop() {
    const what = span.length === 2 ? span.map((one) => one.toFixed(3)).join("-") : "all";
    remember({ loop: session.player.loop ? what : "" });
  }

  /** Loop a span: its start, its end, then none again. */
  function loopSpan() {
    setSpan(span.length === 2 ? [] : [...span, session.player.time].sort((one, other) => one - other));
    if (span.length === 2 && !session.player.loop) turnLoop();
    else rememberLoop();
  }

  function setSpan(next) {
    span = next;
    const { player, lead } = session;
    const whole = [lead.seconds[0], lead.seconds.at(-1) + lead.step / 2];
    [player.from, player.to] = span.length === 2 ? [span[0], Math.max(span[1], span[0] + 3 * lead.step)] : whole;
    ends.setAttribute("aria-pressed", String(span.length > 0));
    drawRail();
  }

  function turnSkip() {
    session.player.skip = !session.player.skip;
    skip.setAttribute("aria-pressed", String(session.player.skip));
  }

  function changeSpeed(by) {
    const at = Math.min(Math.max(SPEEDS.indexOf(session.player.speed) + by, 0), SPEEDS.length - 1);
    setSpeed(SPEEDS[at]);
  }

  function setSpeed(value) {
    session.player.setSpeed(value);
    speed.value = value;
    remember({ speed: value === 1 ? "" : value });
  }

  /** Speed and loop as the address has them. */
  function restore() {
    const looped = recall("loop");
    if (SPEEDS.includes(Number(recall("speed")))) setSpeed(Number(recall("speed")));
    if (!looped) return;
    const found = looped.split("-").map(Number);
    if (found.length === 2 && found.every((one) => one >= 0)) setSpan(found);
    turnLoop();
  }

  const keys = {
    " ": () => session.player.toggle(),
    ArrowLeft: (event) => session.player.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => session.player.step(event.shiftKey ? 10 : 1),
    Home: () => session.player.seek(session.lead.start),
    End: () => session.player.seek(session.lead.end),
    l: turnLoop,
    b: loopSpan,
    s: turnSkip,
    "[": () => changeSpeed(-1),
    "]": () => changeSpeed(1),
  };
  onKeys(keys, signal, isPressing);
  window.addEventListener("keyup", (event) => {
    if (event.key === " " && !isTyping(event) && !isPressing(event)) event.preventDefault(); // Firefox presses buttons now
  }, { signal });

  session.addEventListener("time", drawTime);
  session.addEventListener("state", drawState);
  session.addEventListener("keep", () => setSpan([]));
  for (const name of ["keep", "alignment"]) session.addEventListener(name, () => (drawRail(), drawTime()));
  drawRail();
  drawTime();
  restore();
  box.drawMarks = drawRail;
  return box;
}

const REST = 300; // ms without a new picture: browsers limit how often a page may change its address

export function rememberMoment(session, signal) {
  let timer = 0;
  const write = () => !signal.aborted && !session.player.playing && remember({ t: session.player.time.toFixed(4) });
  session.addEventListener("time", () => {
    clearTimeout(timer);
    timer = setTimeout(write, REST);
  });
}
