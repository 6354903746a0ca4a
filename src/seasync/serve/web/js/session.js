// Two videos, their alignment, and the player that shows them; or one video alone. What people set by hand is undone here.

import { get, put } from "./api.js";
import { h, iconButton, loading, toast } from "./dom.js";
import { InStep } from "./instep.js";
import { openReel } from "./reel.js";
import { leftOut, Warp } from "./warp.js";

/** Events: "time" (another picture), "state" (started, stopped), "keep", "alignment" (solved again). */
export class Session extends EventTarget {
  constructor(sea, request, reels) {
    super();
    Object.assign(this, { sea, request, reels });
    this.keep = "query";
    this.anchors = [];
    this.alignment = null;
    this.undo = new UndoStack();
    this.draw = () => {};
    this.nouns = { query: "query", match: "match" }; // what people call the two
    this.overlays = []; // functions (ink, side, seconds, place) that draw on the pictures
  }

  /** Open {query, match, start, …} as the API takes them; without a match, the query alone. The last thing in `wait`
   *  shows the progress; `signal` ends the session. */
  static async open(sea, request, { signal, wait, nouns }) {
    const note = (text, share) => wait.lastChild.replaceWith(loading(`${text} ${Math.round(100 * share)} %`));
    const ends = { query: { ref: request.query, start: request.start, end: request.end } };
    if (request.match) ends.match = { ref: request.match, start: request.match_start, end: request.match_end };
    const sides = Object.keys(ends);
    const opening = Promise.allSettled(sides.map((side) => openReel(sea, ends[side], { signal, note })));
    const session = new Session(sea, request, {});
    if (nouns) session.nouns = nouns;
    try {
      if (request.match) {
        session.anchors = (await get(session.anchorPlace, {}, signal)).anchors;
        await session.solve(signal, "coarse");
      }
    } finally {
      const opened = await opening;
      opened.forEach(({ value }, n) => value && (session.reels[sides[n]] = value));
      const failed = opened.find(({ status }) => status === "rejected");
      if (failed || signal.aborted) {
        session.close();
        throw failed?.reason ?? new DOMException("left", "AbortError");
      }
    }
    session.setKeep("query");
    session.undo.listen(signal);
    signal.addEventListener("abort", () => session.close());
    window.seasync = session; // for tests and the curious
    return session;
  }

  get anchorPlace() {
    return `/seas/${this.sea}/anchors/${this.request.query}/${this.request.match}`;
  }

  /** What the server needs to compute this alignment. */
  get asked() {
    return { ...this.request, anchor: this.anchors.map(({ query, match }) => `${query.toFixed(6)}=${match.toFixed(6)}`) };
  }

  get other() {
    return this.keep === "query" ? "match" : "query";
  }

  get lead() {
    return this.reels[this.keep];
  }

  get follow() {
    return this.alignment ? this.reels[this.other] : null;
  }

  get warp() {
    return this.alignment ? new Warp(this.alignment.warps[this.keep]) : Warp.identity(this.lead.start, this.lead.end);
  }

  /** From seconds of one video to those of the other. */
  warpFrom(side) {
    return new Warp(this.alignment.warps[side]);
  }

  /** The spans of a video, in its own seconds, that have no counterpart. */
  leftOut(side) {
    const { start, end, count } = this.alignment.axes[side];
    return leftOut(this.warpFrom(side).spans, [start, end], (end - start) / count);
  }

  async solve(signal, detail = "full") {
    this.alignment = await get(`/seas/${this.sea}/alignment`, { ...this.asked, detail }, signal);
    this.player?.setWarp(this.warp);
    this.dispatchEvent(new Event("alignment"));
  }

  /** After a coarse first result: the full one. */
  async refine(signal) {
    if (this.alignment?.detail === "coarse") await this.solve(signal);
  }

  /** Solve again through these anchors, and keep them. If that fails, everything stays as it was. */
  async setAnchors(anchors, { remember = true } = {}) {
    const before = this.anchors;
    this.anchors = [...anchors].sort((one, other) => one.query - other.query);
    try {
      await this.solve();
    } catch (error) {
      this.anchors = before;
      throw error;
    }
    const after = this.anchors;
    const step = (list) => () => this.setAnchors(list, { remember: false });
    if (remember) this.undo.push({ name: "anchors", undo: step(before), redo: step(after) }); // as soon as it shows
    await put(this.anchorPlace, after);
  }

  /** Add an anchor. It replaces anchors that are too close to it or contradict its order. */
  addAnchor(anchor) {
    const near = 0.05;
    const inOrder = (one) => this.request.order === "any" || (one.query - anchor.query) * (one.match - anchor.match) > 0;
    const fits = (one) => inOrder(one) && Math.abs(one.query - anchor.query) > near && Math.abs(one.match - anchor.match) > near;
    return this.setAnchors([...this.anchors.filter(fits), anchor]);
  }

  /** Whose clock runs evenly. */
  setKeep(keep) {
    const old = this.player;
    const time = old && this.times[keep];
    old?.close();
    this.keep = keep;
    const pairs = this.follow ? [[this.follow, this.warp]] : [];
    const player = new InStep(this.lead, pairs, this.warp, (...shown) => this.draw(...shown));
    for (const name of ["time", "state"]) player.addEventListener(name, () => this.dispatchEvent(new Event(name)));
    if (old) {
      player.loop = old.loop;
      player.skip = old.skip;
      player.setSpeed(old.speed);
    }
    this.player = player;
    this.dispatchEvent(new Event("keep"));
    player.seek(time ?? this.warp.next(this.lead.start) ?? this.lead.start);
  }

  /** The moments on show, by side. */
  get times() {
    const { time, partner } = this.player;
    return { [this.keep]: time, [this.other]: partner };
  }

  seek(side, seconds) {
    return this.player.seek(side === this.keep ? seconds : this.warpFrom(side).at(seconds));
  }

  /** Seek from a list: "go" asks for the pictures to be in sight. */
  go(side, seconds) {
    this.dispatchEvent(new Event("go"));
    return this.seek(side, seconds);
  }

  close() {
    this.player?.close();
    for (const reel of Object.values(this.reels)) reel.close();
  }
}

const MOST = 100; // steps

/** Events: "change" when there is more or less to undo. */
export class UndoStack extends EventTarget {
  constructor() {
    super();
    this.done = []; // {name, undo, redo}
    this.undone = [];
  }

  push(step) {
    this.done = [...this.done, step].slice(-MOST);
    this.undone = [];
    this.dispatchEvent(new Event("change"));
  }

  async undo() {
    const step = this.done.pop();
    if (!step) return toast("Nothing to undo");
    this.undone.push(step);
    this.dispatchEvent(new Event("change"));
    await step.undo();
    toast(`Undone: ${step.name}`);
  }

  async redo() {
    const step = this.undone.pop();
    if (!step) return toast("Nothing to redo");
    this.done.push(step);
    this.dispatchEvent(new Event("change"));
    await step.redo();
    toast(`Redone: ${step.name}`);
  }

  /** Listen to the keys until `signal`. */
  listen(signal) {
    window.addEventListener("keydown", (event) => {
      const field = event.target.closest?.("input:not([type=checkbox], [type=range]), textarea, dialog");
      if (!(event.ctrlKey || event.metaKey) || field || !["z", "Z", "y"].includes(event.key)) return;
      event.preventDefault();
      this.act(event.key === "y" || event.shiftKey ? "redo" : "undo");
    }, { signal });
  }

  act(what) {
    this[what]().catch((error) => toast(error.message, "bad"));
  }

  /** Two buttons, for hands without a keyboard. */
  buttons() {
    const undo = iconButton("undo", "Undo (Ctrl Z)", { onclick: () => this.act("undo") });
    const redo = iconButton("redo", "Redo (Ctrl Shift Z)", { onclick: () => this.act("redo") });
    const draw = () => {
      undo.disabled = !this.done.length;
      redo.disabled = !this.undone.length;
    };
    this.addEventListener("change", draw);
    draw();
    return h("span.undo", {}, undo, redo);
  }
}
