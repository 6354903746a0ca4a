// A reel: one video, ready to show any of its frames.

import { lastBegun } from "./warp.js";
import { address, done, get, post } from "./api.js";

const SETTLE = 250; // ms to wait for a frame after a seek that may not bring a new one
const TRIES = 6; // such waits for the very frame that was sought, on a machine that is busy
const TELLING = 0.1; // seconds: see `stamped`

// Whether this browser's VideoFrames carry the time of the frame they hold. Firefox's do not (whole seconds stand
// where microseconds belong), so that a time near 0 tells nothing until a later one has been seen, or awaited in vain.
let stamped = null;

/** Open a span {ref, start, end} of a video. `note(text, share)` reports the progress of its proxy. */
export async function openReel(sea, span, { note = () => {}, signal } = {}) {
  const place = `/seas/${sea}/footage/${span.ref}`;
  const ask = () => get(place, { start: span.start, end: span.end }, signal);
  let footage = await ask();
  if (footage.plays === "needs proxy") footage = await prepare();
  for (;;) {
    const reel = new Reel(footage, address(`${place}/video`, { of: footage.plays }));
    try {
      await reel.ready(signal);
      return reel;
    } catch (error) {
      reel.close();
      if (error.name === "AbortError" || footage.plays === "proxy") throw error;
      footage = await prepare(); // this browser lacks the codec
    }
  }

  async function prepare() {
    note(`Preparing ${footage.name} for this browser…`, 0);
    await done(await post(`${place}/proxy`), (job) => note(`Preparing ${footage.name} for this browser…`, job.progress));
    return ask();
  }
}

class Reel {
  constructor(footage, source) {
    this.footage = footage;
    this.seconds = footage.seconds;
    this.step = this.seconds.length > 1 ? (this.seconds.at(-1) - this.seconds[0]) / (this.seconds.length - 1) : 1 / (footage.fps ?? 25);
    Object.assign(this, { start: footage.start, end: footage.end });
    this.range = [this.seconds[0], this.seconds.at(-1) + this.step]; // from the first frame to the end of the last one
    this.offset = 0; // of the browser's clock to ours, whose 0 is the first frame
    this.at = -1; // which of our frames is on show
    this.turn = 0; // which call of `show` is the last one
    this.video = document.createElement("video");
    Object.assign(this.video, { muted: true, playsInline: true, preload: "auto", src: source });
    this.video.className = "reel";
    document.getElementById("reels").append(this.video); // some browsers give no frames of a video outside the page
  }

  /** Until the first frame is there; learns the clock's offset from it. */
  ready(signal) {
    const { video } = this;
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(new DOMException("left", "AbortError")));
      video.addEventListener("error", () => reject(new Error(`${this.footage.name}: this browser cannot play it`)), { once: true });
      video.addEventListener("loadeddata", async () => {
        const first = await Promise.race([frameShown(video), wait(SETTLE)]);
        if (first !== undefined && Math.abs(first) < 0.5) this.offset = first;
        resolve();
      }, { once: true });
    });
  }

  get width() {
    return this.video.videoWidth || this.footage.width;
  }

  get height() {
    return this.video.videoHeight || this.footage.height;
  }

  /** Our clock, of the video as it runs. */
  get now() {
    return this.video.currentTime - this.offset;
  }

  /** Which frame is on screen at second t: the last that has begun. */
  indexAt(t) {
    return lastBegun(this.seconds, t + 1e-4);
  }

  /** Which frame is nearest to second t. */
  nearest(t) {
    const at = this.indexAt(t);
    const next = Math.min(at + 1, this.seconds.length - 1);
    return Math.abs(this.seconds[next] - t) < Math.abs(this.seconds[at] - t) ? next : at;
  }

  /** The number that a frame has in its file. */
  number(index) {
    return this.footage.first + index;
  }

  /** The frame on show, held as it is: {picture, time, close}. `said` is its time where the browser's frames do not tell. */
  hold(said) {
    const { video } = this;
    if (!hasVideoFrames || !hasFrame(this.video)) return { picture: video, time: said, close() {} };
    const picture = new VideoFrame(video);
    const time = picture.timestamp / 1e6;
    if (time > TELLING) stamped = true;
    return { picture, time: stamped ? time - this.offset : said, close: () => picture.close() };
  }

  /** Whether this frame is on show; true where the browser does not tell. */
  shows(index) {
    if (hasVideoFrames && !hasFrame(this.video)) return false; // it is still sought
    const { time, close } = this.hold(this.seconds[index]);
    close();
    return this.nearest(time) === index && (stamped !== null || !this.tells(index));
  }

  /** Whether the time of this frame's picture shows if the browser gives true ones. */
  tells(index) {
    return hasVideoFrames && this.seconds[index] + this.offset > TELLING;
  }

  /** Show one frame, paused; resolves when it is there, or another one is to be shown. */
  async show(index) {
    if (this.at === index) return;
    const { video } = this;
    const turn = (this.turn += 1);
    const here = this.seconds[index];
    const next = index + 1 < this.seconds.length ? this.seconds[index + 1] : here + this.step;
    const sought = new Promise((resolve) => video.addEventListener("seeked", resolve, { once: true }));
    const shown = frameShown(video);
    // The middle of the frame: clocks of browsers and files are not exact to the microsecond.
    video.currentTime = this.offset + (here + next) / 2;
    await sought;
    await Promise.race([shown, wait(SETTLE)]);
    for (let tries = 0; tries < TRIES && turn === this.turn && !this.shows(index); tries += video.seeking ? 0 : 1) {
      await Promise.race([frameShown(video), wait(SETTLE)]);
    }
    if (turn !== this.turn) return;
    if (this.tells(index)) stamped ??= false;
    this.at = index;
  }

  close() {
    this.video.removeAttribute("src");
    this.video.load();
    this.video.remove();
  }
}

export const hasFrameCallbacks = "requestVideoFrameCallback" in HTMLVideoElement.prototype;
export const hasVideoFrames = typeof VideoFrame === "function";

const hasFrame = (video) => video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;

/** The time of the next frame that is shown; never, where the browser does not tell. */
function frameShown(video) {
  return new Promise((resolve) => {
    if (hasFrameCallbacks) video.requestVideoFrameCallback((_, frame) => resolve(frame.mediaTime));
  });
}

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
