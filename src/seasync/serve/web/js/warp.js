// A warp: which second of one video goes with each second of another. The same as the library's `Warp`.

export class Warp {
  /** stretches: [{times, values, end}], in the order of their times */
  constructor(stretches) {
    this.stretches = stretches;
  }

  static identity(start, end) {
    return new Warp([{ times: [start], values: [start], end }]);
  }

  get spans() {
    return this.stretches.map((one) => [one.times[0], one.end]);
  }

  covers(t) {
    return this.stretches.some((one) => t >= one.times[0] - 1e-6 && t <= one.end + 1e-6);
  }

  /** The number of the stretch that second t belongs to: the last that has begun. */
  piece(t) {
    return lastBegun(this.stretches.map((one) => one.times[0]), t);
  }

  /** The number of the stretch that leads to `value`, or next to it. */
  pieceOf(value) {
    const away = this.stretches.map((one) => Math.max(one.values[0] - value, value - valueEnd(one), 0));
    return away.indexOf(Math.min(...away));
  }

  /** Where the first stretch from second t on begins, or t itself inside of one; null after the last. */
  next(t) {
    if (this.covers(t)) return t;
    return this.spans.find(([from]) => from > t)?.[0] ?? null;
  }

  /** The partner of second t; outside the spans it goes on at unit slope, to be shown as no counterpart. */
  at(t) {
    const k = this.piece(t);
    const value = along(this.stretches[k], t);
    const next = this.stretches[k + 1];
    const last = this.stretches[k].values.at(-1);
    return next && next.values[0] >= last ? Math.min(value, next.values[0]) : value;
  }

  /** How fast the partner runs at second t, over a tenth of a second to both sides. */
  slope(t, reach = 0.1) {
    return (this.at(t + reach) - this.at(t - reach)) / (2 * reach);
  }
}

/** What lies between `start` and `end` outside of these spans, where that is more than `least`. */
export function leftOut(spans, [start, end], least) {
  const gaps = [];
  let from = start;
  for (const [begin, until] of [...spans].sort((one, other) => one[0] - other[0])) {
    if (begin - from > least) gaps.push([from, begin]);
    from = Math.max(from, until);
  }
  if (end - from > least) gaps.push([from, end]);
  return gaps;
}

/** Which of these times is the last that has begun at second t; the first, if none has. */
export function lastBegun(times, t) {
  let low = 0;
  let high = times.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  return low;
}

const valueEnd = ({ times, values, end }) => values.at(-1) + end - times.at(-1);

function along({ times, values }, t) {
  const at = lastBegun(times, t);
  if (t <= times[0] || at === times.length - 1) return values[at] + t - times[at];
  const share = (t - times[at]) / (times[at + 1] - times[at]);
  return values[at] + share * (values[at + 1] - values[at]);
}
