// A video that follows a leader along a warp. While it plays it runs a few frames ahead, unseen; its frames wait in a
// buffer until the leader's frames that belong to them are drawn. Without frame callbacks, or when its sound is on, only
// its speed is controlled.

import { hasFrameCallbacks, hasVideoFrames } from "./reel.js";

const AHEAD = 6; // frames
const GAIN = 2.5; // playback speed per second of error
const JUMP = 4; // frames: a longer jump to another stretch of the warp is a seek
const FAR = 1.0; // seconds: a larger error is corrected by a seek
const SLOWEST = 0.07; // browsers refuse lower speeds; below, the video is paused
const FASTEST = 8;
const PATIENCE = 1500; // ms for the buffer to fill before playing starts anyway

export class Follower {
  /** warp: from the leader's seconds to this video's */
  constructor(reel, warp) {
    Object.assign(this, { reel, warp });
    this.buffer = new FrameBuffer();
    this.piece = 0; // the stretch of the warp it is in
    this.shownTime = null;
    this.heard = false;
    this.resting = false; // hidden tiles rest: they neither play nor draw
    this.errors = []; // while playing, in frames
  }

  get engine() {
    if (!hasFrameCallbacks || this.heard) return "speed";
    return hasVideoFrames ? "ring" : "bitmaps";
  }

  /** Show the partner of the leader's second `time`, paused. */
  show(time) {
    return this.resting ? Promise.resolve() : this.reel.show(this.reel.nearest(this.warp.at(time)));
  }

  /** The frame on show: {picture, time, covered, close}. */
  held(time) {
    const { reel, warp } = this;
    return { ...reel.hold(reel.seconds[reel.nearest(warp.at(time))]), covered: warp.covers(time) };
  }

  /** Start to play from the leader's second `time` on, and get ahead. `goesOn()` says whether that is still wanted. */
  async start(time, lead, goesOn, speed) {
    if (this.resting) return;
    const { reel, warp } = this;
    this.stop();
    this.piece = warp.piece(time);
    if (reel.video.currentTime - reel.offset > warp.at(time) + reel.step) await reel.show(reel.nearest(warp.at(time)));
    reel.at = -1;
    if (hasFrameCallbacks) this.onFrame(goesOn);
    const soon = Math.min(time + (AHEAD - 2) * lead.step, warp.stretches[this.piece].end);
    const goal = warp.at(soon) - reel.step;
    this.steer(time, lead, speed);
    await reel.video.play();
    if (this.engine === "speed") return;
    const until = performance.now() + PATIENCE;
    while (goesOn() && performance.now() < until && !(this.buffer.frames.at(-1)?.time >= goal)) {
      await new Promise(requestAnimationFrame);
      this.steer(time, lead, speed);
    }
  }

  onFrame(goesOn) {
    this.reel.video.requestVideoFrameCallback((_, frame) => {
      if (!goesOn()) return;
      const time = frame.mediaTime - this.reel.offset;
      if (this.engine === "ring") this.buffer.add(this.reel.hold(time), this.warp);
      else if (this.engine === "bitmaps") createImageBitmap(this.reel.video).then((picture) => goesOn() && this.buffer.add({ picture, time, close: () => picture.close() }, this.warp));
      this.shownTime = time;
      this.onFrame(goesOn);
    });
  }

  /** The partner of the leader's frame at `time` while playing: {picture, time, covered, close}. */
  partner(time) {
    const wanted = this.warp.at(time);
    const best = this.buffer.take(wanted, this.warp.piece(time));
    const held = best ? { ...best, close() {} } : this.reel.hold(this.shownTime ?? this.reel.now);
    const covered = this.warp.covers(time);
    if (covered) this.errors.push(Math.abs(held.time - wanted) / this.reel.step);
    return { ...held, covered };
  }

  /** Set the speed so that the video is in the right place a few frames from now. */
  steer(time, lead, speed, end = Infinity) {
    if (this.resting) return;
    const { reel, warp } = this;
    const { video } = reel;
    const ahead = this.engine === "speed" ? 0 : AHEAD * lead.step;
    const soon = Math.min(time + ahead, end);
    const goal = warp.at(soon);
    const error = goal - reel.now;
    const piece = warp.piece(soon);
    const jumps = piece !== this.piece && Math.abs(error) > JUMP * reel.step; // to another stretch
    this.piece = piece;
    if ((jumps || Math.abs(error) > FAR) && !video.seeking) {
      video.currentTime = reel.offset + goal;
      return;
    }
    const rate = speed * Math.max(warp.slope(time + ahead), 0) + GAIN * error;
    if (rate < SLOWEST) {
      if (!video.paused) video.pause();
    } else {
      video.playbackRate = Math.min(rate, FASTEST);
      if (video.paused) video.play().catch(() => {});
    }
  }

  stop() {
    this.reel.video.pause();
    this.reel.at = -1;
    this.buffer.clear();
    this.shownTime = null;
  }
}

const CAPACITY = 16; // more frames would starve the decoder

class FrameBuffer {
  constructor() {
    this.frames = []; // {picture, time, close, piece}, each of a stretch of the warp
  }

  /** Keep a held frame; the oldest one goes if there are too many. */
  add(held, warp) {
    this.frames.push({ ...held, piece: warp.pieceOf(held.time) });
    this.frames.sort((one, other) => one.piece - other.piece || one.time - other.time);
    while (this.frames.length > CAPACITY) this.frames.shift().close();
  }

  /** The frame nearest to second `time`, of stretch `piece` if possible; earlier frames are released. */
  take(time, piece) {
    if (!this.frames.length) return null;
    const own = this.frames.filter((one) => one.piece === piece);
    const best = (own.length ? own : this.frames).reduce((one, other) => (Math.abs(other.time - time) < Math.abs(one.time - time) ? other : one));
    while (this.frames[0] !== best) this.frames.shift().close();
    return best;
  }

  clear() {
    for (const held of this.frames) held.close();
    this.frames = [];
  }
}
