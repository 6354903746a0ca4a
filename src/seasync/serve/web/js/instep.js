// Two videos in step. While they play, the follower runs a few frames ahead and muted, and its frames wait in a
// ring; each frame of the leader is then drawn together with the one of the follower that belongs to it.
// Without frame callbacks, or when the follower is to be heard, it is steered by its speed alone.

import { hasFrameCallbacks, hasVideoFrames } from "./reel.js";

const AHEAD = 6; // frames
const RING = 16; // frames kept; more would starve the decoder
const GAIN = 2.5; // of an error of one second, in playback speed
const JUMP = 4; // frames from one stretch of the warp to the next, from which on it is sought
const FAR = 1.0; // seconds off, from which on it is sought instead
const SLOWEST = 0.07; // browsers refuse less; below, it is paused
const FASTEST = 8;
const TELL = 60; // ms between two "time" events while playing: the pictures come first
const PATIENCE = 1500; // ms for the ring to fill before playing starts anyway

export class InStep extends EventTarget {
  /**
   * lead, follow  reels; follow may be null
   * warp          from the leader's seconds to the follower's
   * draw          (picture of the leader, picture of the follower or null, {time, partner, covered})
   * Events: "time" after a picture (while playing, after some); "state" when it starts or stops.
   */
  constructor(lead, follow, warp, draw) {
    super();
    Object.assign(this, { lead, follow, warp, draw });
    this.time = lead.seconds[0];
    this.playing = false;
    this.loop = false;
    this.skip = false; // whether playing passes over what has no counterpart
    this.speed = 1;
    this.sound = "none"; // "lead", "follow"
    this.from = lead.seconds[0];
    this.to = lead.seconds.at(-1) + lead.step / 2;
    this.errors = []; // of the follower while playing, in its frames
    this.ring = []; // {picture, time, close, piece}: frames of the follower that are due, each of a stretch of the warp
    this.piece = 0; // the stretch that the follower is in
    this.run = 0; // which start of playing is the current one
    this.wanted = null;
    this.onHidden = () => document.hidden && this.pause();
    document.addEventListener("visibilitychange", this.onHidden);
  }

  get engine() {
    if (!this.follow) return "alone";
    if (!hasFrameCallbacks || this.sound === "follow") return "speed";
    return hasVideoFrames ? "ring" : "bitmaps";
  }

  setWarp(warp) {
    this.warp = warp;
    if (!this.playing) this.seek(this.time);
  }

  setSound(sound) {
    const again = this.playing;
    this.halt();
    this.sound = sound;
    this.lead.video.muted = sound !== "lead";
    if (this.follow) this.follow.video.muted = sound !== "follow";
    if (again) this.play();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.lead.video.playbackRate = speed;
  }

  /** Show the moment t; of several calls in a row the last one counts. What was playing plays on from there. */
  async seek(t) {
    this.resume ||= this.playing;
    this.halt();
    this.wanted = Math.min(Math.max(t, this.from), this.to);
    this.seeking ??= this.settle().finally(() => (this.seeking = null));
    await this.seeking;
    if (this.resume && this.wanted === null) {
      this.resume = false;
      this.play();
    }
  }

  async settle() {
    while (this.wanted !== null) {
      const index = this.lead.indexAt(this.wanted);
      const time = this.lead.seconds[index];
      this.wanted = null;
      const partner = this.warp.at(time);
      const other = this.follow?.nearest(partner);
      await Promise.all([this.lead.show(index), this.follow?.show(other)]);
      if (this.closed) return;
      const beside = this.follow?.hold(this.follow.seconds[other]);
      this.present(this.lead.hold(time), beside);
      beside?.close();
    }
  }

  /** While it stands: another frame of the follower beside the leader's. Of several calls in a row the last one counts. */
  async beside(index) {
    await this.follow.show(index);
    if (this.closed || this.follow.at !== index) return;
    const [lead, follow] = [this.lead.hold(this.time), this.follow.hold(this.follow.seconds[index])];
    this.draw(lead.picture, follow.picture, { time: this.time, partner: follow.time, covered: true });
    for (const one of [lead, follow]) one.close();
  }

  step(frames) {
    const index = this.lead.indexAt(this.wanted ?? this.time) + frames;
    const last = this.lead.seconds.length - 1;
    return this.seek(this.lead.seconds[Math.min(Math.max(index, 0), last)]);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  async play() {
    if (this.playing || this.closed) return;
    const run = ++this.run;
    this.setPlaying(true);
    try {
      if (this.seeking) await this.seeking;
      const here = this.time >= this.to - this.lead.step ? null : this.skip ? this.covered(this.time) : this.time;
      if (here !== this.time) await this.rewind(here ?? this.beginning);
      if (run !== this.run) return;
      this.lead.at = -1;
      if (this.follow) await this.prime(run);
      if (run !== this.run) return;
      this.lead.video.playbackRate = this.speed;
      await this.lead.video.play();
    } catch (error) {
      if (run === this.run && error.name !== "AbortError") this.pause();
      return;
    }
    if (run === this.run) this.onLeader(run);
  }

  /** Where playing begins. */
  get beginning() {
    return (this.skip && this.covered(this.from)) || this.from;
  }

  async rewind(to) {
    this.wanted = to;
    await this.settle();
  }

  /** Stop, and show the very frame it stopped at with its partner. */
  pause() {
    this.resume = false;
    if (!this.playing) return;
    this.halt();
    this.seek(this.time);
  }

  halt() {
    if (!this.playing) return;
    this.run += 1;
    for (const reel of [this.lead, this.follow]) {
      if (!reel) continue;
      reel.video.pause();
      reel.at = -1;
    }
    this.empty();
    this.setPlaying(false);
  }

  setPlaying(playing) {
    this.playing = playing;
    this.dispatchEvent(new Event("state"));
  }

  /** Start the follower, and let it get ahead. */
  async prime(run) {
    const { follow } = this;
    const ring = this.engine !== "speed";
    this.empty();
    this.piece = this.warp.piece(this.time);
    if (follow.video.currentTime - follow.offset > this.warp.at(this.time) + follow.step) {
      await follow.show(follow.nearest(this.warp.at(this.time)));
    }
    follow.at = -1;
    if (hasFrameCallbacks) this.onFollower(run);
    this.steer(this.time);
    await follow.video.play();
    if (!ring) return;
    const until = performance.now() + PATIENCE;
    const soon = Math.min(this.time + (AHEAD - 2) * this.lead.step, this.warp.stretches[this.piece].end);
    const goal = this.warp.at(soon) - follow.step;
    while (run === this.run && performance.now() < until && !(this.newest >= goal)) {
      await new Promise(requestAnimationFrame);
      this.steer(this.time);
    }
  }

  get newest() {
    return this.ring.at(-1)?.time;
  }

  onFollower(run) {
    this.follow.video.requestVideoFrameCallback((_, frame) => {
      if (run !== this.run || this.closed) return;
      const time = frame.mediaTime - this.follow.offset;
      if (this.engine === "ring") this.keep(this.follow.hold(time));
      else if (this.engine === "bitmaps") createImageBitmap(this.follow.video).then((picture) => run === this.run && this.keep({ picture, time, close: () => picture.close() }));
      this.shownTime = time;
      this.onFollower(run);
    });
  }

  keep(held) {
    this.ring.push({ ...held, piece: this.warp.pieceOf(held.time) });
    this.ring.sort((one, other) => one.piece - other.piece || one.time - other.time);
    while (this.ring.length > RING) this.ring.shift().close();
  }

  empty() {
    for (const held of this.ring) held.close();
    this.ring = [];
    this.shownTime = null;
  }

  onLeader(run) {
    const next = (time) => {
      if (run !== this.run || this.closed) return;
      if (time >= this.to - this.lead.step / 2 || this.lead.video.ended) return this.atEnd();
      if (this.skip && this.covered(time) !== time) return this.passOver(time);
      this.together(this.lead.hold(Math.max(time, this.from)));
      this.onLeader(run);
    };
    if (hasFrameCallbacks) {
      this.lead.video.requestVideoFrameCallback((_, frame) => next(frame.mediaTime - this.lead.offset));
      this.lead.video.onended = () => run === this.run && this.atEnd();
    } else {
      requestAnimationFrame(() => next(this.lead.now));
    }
  }

  /** A frame of the leader has come: draw it with its partner. */
  together(held) {
    if (!this.follow) return this.present(held);
    const { time } = held;
    const partner = this.warp.at(time);
    const best = this.due(time, partner);
    const beside = best ?? this.follow.hold(this.shownTime ?? this.follow.now);
    this.present(held, beside);
    if (!best) beside.close();
    if (this.warp.covers(time)) this.errors.push(Math.abs(beside.time - partner) / this.follow.step);
    this.steer(time);
  }

  /** The waiting frame nearest to `partner`; those before it are let go. */
  due(time, partner) {
    if (!this.ring.length) return null;
    const piece = this.warp.piece(time);
    const mine = this.ring.filter((one) => one.piece === piece);
    const best = (mine.length ? mine : this.ring).reduce((one, other) => (Math.abs(other.time - partner) < Math.abs(one.time - partner) ? other : one));
    while (this.ring[0] !== best) this.ring.shift().close();
    return best;
  }

  /** Set the follower's speed so that it is where it should be a few frames from now. */
  steer(time) {
    const { video } = this.follow;
    const ahead = this.engine === "speed" ? 0 : AHEAD * this.lead.step;
    const goal = this.warp.at(Math.min(time + ahead, this.to));
    const error = goal - this.follow.now;
    const piece = this.warp.piece(Math.min(time + ahead, this.to));
    const jumps = piece !== this.piece && Math.abs(error) > JUMP * this.follow.step; // to another stretch
    this.piece = piece;
    if ((jumps || Math.abs(error) > FAR) && !video.seeking) {
      video.currentTime = this.follow.offset + goal;
      return;
    }
    const speed = this.speed * Math.max(this.warp.slope(time + ahead), 0) + GAIN * error;
    if (speed < SLOWEST) {
      if (!video.paused) video.pause();
    } else {
      video.playbackRate = Math.min(speed, FASTEST);
      if (video.paused && this.playing) video.play().catch(() => {});
    }
  }

  async atEnd() {
    this.halt();
    await this.seek(this.loop ? this.beginning : this.skip ? this.time : this.lead.seconds.at(-1));
    if (this.loop) this.play();
  }

  /** The first moment from `time` on that has a counterpart (its frame may begin a little earlier), or null. */
  covered(time) {
    const next = this.warp.next(time);
    return next !== null && next - time <= this.lead.step ? time : next;
  }

  /** Go on where there is a counterpart again. */
  async passOver(time) {
    const next = this.covered(time);
    if (next === null || next >= this.to) return this.atEnd();
    this.halt();
    await this.seek(next);
    this.play();
  }

  /** Draw a frame of the leader, and let it go, beside one of the follower. Both say themselves which they are. */
  present(held, beside) {
    this.time = this.lead.seconds[this.lead.nearest(held.time)];
    this.partner = beside?.time ?? null;
    this.draw(held.picture, beside?.picture ?? null, { time: this.time, partner: this.partner, covered: this.warp.covers(this.time) });
    held.close();
    const now = performance.now();
    if (this.playing && now - (this.told ?? 0) < TELL) return;
    this.told = now;
    this.dispatchEvent(new Event("time"));
  }

  /** Give up the videos; what was opened is closed by whoever opened it. */
  close() {
    this.closed = true;
    this.resume = false;
    this.halt();
    document.removeEventListener("visibilitychange", this.onHidden);
  }
}
