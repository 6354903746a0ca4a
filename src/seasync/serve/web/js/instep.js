// A leader and the videos that follow it, played in step: each frame of the leader is drawn together with its partners.

import { Follower } from "./follower.js";
import { hasFrameCallbacks } from "./reel.js";

const TIME_EVENT = 60; // ms between two "time" events while playing: pictures come first

export class InStep extends EventTarget {
  /**
   * lead   reel of the leader
   * pairs  [[reel, warp], …] of the followers; a warp maps the leader's seconds to the follower's
   * warp   what "covered" refers to: that of the first follower, or one of a leader alone
   * draw   (picture of the leader, [{picture, time, covered}, …] of the followers, time)
   * Events: "time" after a picture (while playing, after some); "state" when it starts or stops.
   */
  constructor(lead, pairs, warp, draw) {
    super();
    Object.assign(this, { lead, warp, draw });
    this.followers = pairs.map(([reel, along]) => new Follower(reel, along));
    this.follower = this.followers[0] ?? null;
    this.follow = this.follower?.reel ?? null;
    this.time = lead.seconds[0];
    this.partner = null;
    this.playing = false;
    this.loop = false;
    this.skip = false; // whether playing passes over frames without a counterpart
    this.speed = 1;
    this.from = lead.seconds[0];
    this.to = lead.seconds.at(-1) + lead.step / 2;
    this.run = 0; // number of the current start of playing
    this.wanted = null;
    this.onHidden = () => document.hidden && this.pause();
    document.addEventListener("visibilitychange", this.onHidden);
  }

  get errors() {
    return this.follower?.errors ?? [];
  }

  get engine() {
    return this.follower?.engine ?? "alone";
  }

  setWarp(warp) {
    this.warp = warp;
    if (this.follower) this.follower.warp = warp;
    this.redraw();
  }

  /** Whose sound is on: "none", "lead", or the number of a follower. */
  setSound(whose) {
    const again = this.playing;
    this.halt();
    this.lead.video.muted = whose !== "lead";
    this.followers.forEach((one, n) => (one.reel.video.muted = !(one.heard = whose === n)));
    if (again) this.play();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.lead.video.playbackRate = speed;
  }

  /** Show the moment t. Of several calls in a row the last one counts. Playing continues from there. */
  async seek(t) {
    this.resume ||= this.playing;
    this.halt();
    this.wanted = this.sought = Math.min(Math.max(t, this.from), this.to);
    this.seeking ??= this.settle().finally(() => (this.seeking = null));
    await this.seeking;
    if (this.resume && this.wanted === null) {
      this.resume = false;
      this.play();
    }
  }

  /** Unless it plays: draw again what is on show, or about to be. */
  redraw() {
    if (!this.playing) this.seek(this.sought ?? this.time);
  }

  async settle() {
    while (this.wanted !== null) {
      const index = this.lead.indexAt(this.wanted);
      const time = this.lead.seconds[index];
      this.wanted = null;
      await Promise.all([this.lead.show(index), ...this.followers.map((one) => one.show(time))]);
      if (this.closed) return;
      this.present(this.lead.hold(time), this.followers.map((one) => one.held(time)));
    }
    this.sought = null;
  }

  /** While paused: show another frame of the first follower beside the leader's. Of several calls the last one counts. */
  async beside(index) {
    await this.follow.show(index);
    if (this.closed || this.follow.at !== index) return;
    const [lead, follow] = [this.lead.hold(this.time), this.follow.hold(this.follow.seconds[index])];
    this.draw(lead.picture, [{ ...follow, covered: true }], this.time);
    for (const one of [lead, follow]) one.close();
  }

  step(frames) {
    const index = this.lead.indexAt(this.wanted ?? this.time) + frames;
    const last = this.lead.seconds.length - 1;
    return this.seek(this.lead.seconds[Math.min(Math.max(index, 0), last)]);
  }

  toggle() {
    return this.playing ? this.pause() : this.play();
  }

  async play() {
    if (this.playing || this.closed) return;
    const run = ++this.run;
    const goesOn = () => run === this.run && !this.closed;
    this.setPlaying(true);
    try {
      if (this.seeking) await this.seeking;
      const here = this.time >= this.to - this.lead.step ? null : this.skip ? this.covered(this.time) : this.time;
      if (here !== this.time) {
        this.wanted = here ?? this.beginning;
        await this.settle();
      }
      if (!goesOn()) return;
      this.lead.at = -1;
      await Promise.all(this.followers.map((one) => one.start(this.time, this.lead, goesOn, this.speed)));
      if (!goesOn()) return;
      this.lead.video.playbackRate = this.speed;
      await this.lead.video.play();
    } catch (error) {
      if (goesOn() && error.name !== "AbortError") this.pause();
      return;
    }
    if (goesOn()) this.onLeader(goesOn);
  }

  /** Where playing starts. */
  get beginning() {
    return (this.skip && this.covered(this.from)) || this.from;
  }

  /** Stop, and show the frame it stopped at with its partners. */
  pause() {
    this.resume = false;
    if (!this.playing) return;
    this.halt();
    this.seek(this.time);
  }

  halt() {
    if (!this.playing) return;
    this.run += 1;
    this.lead.video.pause();
    this.lead.at = -1;
    for (const one of this.followers) one.stop();
    this.setPlaying(false);
  }

  setPlaying(playing) {
    this.playing = playing;
    this.dispatchEvent(new Event("state"));
  }

  onLeader(goesOn) {
    const next = (time) => {
      if (!goesOn()) return;
      if (time >= this.to - this.lead.step / 2 || this.lead.video.ended) return this.atEnd();
      if (this.skip && this.covered(time) !== time) return this.passOver(time);
      this.together(this.lead.hold(Math.max(time, this.from)));
      this.onLeader(goesOn);
    };
    if (hasFrameCallbacks) {
      this.lead.video.requestVideoFrameCallback((_, frame) => next(frame.mediaTime - this.lead.offset));
      this.lead.video.onended = () => goesOn() && this.atEnd();
    } else {
      requestAnimationFrame(() => next(this.lead.now));
    }
  }

  /** Draw a new frame of the leader with its partners. */
  together(held) {
    const { time } = held;
    this.present(held, this.followers.map((one) => (one.resting ? one.held(time) : one.partner(time))));
    if (!this.playing) return; // paused by whoever was told
    for (const one of this.followers) one.steer(time, this.lead, this.speed, this.to);
  }

  async atEnd() {
    this.halt();
    await this.seek(this.loop ? this.beginning : this.skip ? this.time : this.lead.seconds.at(-1));
    if (this.loop) this.play();
  }

  /** The first moment from `time` on that has a counterpart (its frame may start a little earlier), or null. */
  covered(time) {
    const next = this.warp.next(time);
    return next !== null && next - time <= this.lead.step ? time : next;
  }

  /** Continue where there is a counterpart again. */
  async passOver(time) {
    const next = this.covered(time);
    if (next === null || next >= this.to) return this.atEnd();
    this.halt();
    await this.seek(next);
    this.play();
  }

  /** Draw a frame of the leader beside its partners, and release all of them. */
  present(held, partners) {
    this.time = this.lead.seconds[this.lead.nearest(held.time)];
    this.partner = partners[0]?.time ?? null; // of the first follower's picture
    this.draw(held.picture, partners, this.time);
    for (const one of [held, ...partners]) one.close();
    const now = performance.now();
    if (this.playing && now - (this.lastEvent ?? 0) < TIME_EVENT) return;
    this.lastEvent = now;
    this.dispatchEvent(new Event("time"));
  }

  /** Stop for good. Whoever opened the videos closes them. */
  close() {
    this.closed = true;
    this.resume = false;
    this.halt();
    document.removeEventListener("visibilitychange", this.onHidden);
  }
}
