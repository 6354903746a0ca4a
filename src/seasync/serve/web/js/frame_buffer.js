// Decoded frames of a video that wait to be drawn.

const CAPACITY = 16; // more frames would starve the decoder

export class FrameBuffer {
  constructor() {
    this.frames = []; // {picture, time, close, piece}, each of a stretch of the warp
  }

  /** Time of the last frame. */
  get newest() {
    return this.frames.at(-1)?.time;
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
