// The joints of a person over the time of a video, and how they are drawn.

const BONES = [[1, 2], [1, 3], [3, 5], [2, 4], [4, 6], [1, 7], [2, 8], [7, 8], [7, 9], [9, 11], [8, 10], [10, 12]];
const IN_SIGHT = 0.5;
const REACH = 0.12; // seconds from a frame in which the person was found
export const COLORS = { query: "#56d4f5", match: "#ffb14d" };

export class Skeleton {
  /** body: as the API gives it */
  constructor(body) {
    Object.assign(this, body);
  }

  /** Joints [[x, y, visibility], …] in shares of the picture at a moment, or null where nobody is. */
  at(seconds) {
    const last = this.seconds.length - 1;
    let after = this.seconds.findIndex((one) => one >= seconds);
    if (after < 0) after = last;
    const before = Math.max(after - 1, 0);
    const [one, other] = [this.joints[before], this.joints[after]];
    if (!one || !other) {
      const near = one ? before : other ? after : -1;
      return near >= 0 && Math.abs(this.seconds[near] - seconds) < REACH ? this.joints[near] : null;
    }
    const width = this.seconds[after] - this.seconds[before];
    const share = width > 0 ? Math.min(Math.max((seconds - this.seconds[before]) / width, 0), 1) : 1;
    return one.map((joint, n) => joint.map((value, axis) => value + share * (other[n][axis] - value)));
  }

  /** Usual place of the hips and length of the trunk in pixels of a picture of this size; null without a body. */
  stature({ width, height }) {
    const found = this.joints.filter(Boolean);
    if (!found.length) return null;
    const middle = (joints, a, b, axis) => ((joints[a][axis] + joints[b][axis]) / 2) * (axis ? height : width);
    const hips = found.map((joints) => [middle(joints, 7, 8, 0), middle(joints, 7, 8, 1)]);
    const trunks = found.map((joints, n) => Math.hypot(middle(joints, 1, 2, 0) - hips[n][0], middle(joints, 1, 2, 1) - hips[n][1]));
    return { x: median(hips.map(([x]) => x)), y: median(hips.map(([, y]) => y)), trunk: Math.max(median(trunks), 1) };
  }
}

/** Where the match has to be drawn so that both bodies have their hips in one place and one size. */
export function registration(query, match, sizes) {
  const [one, other] = [query?.stature(sizes.query), match?.stature(sizes.match)];
  if (!one || !other) return null;
  const scale = one.trunk / other.trunk;
  return [one.x - scale * other.x, one.y - scale * other.y, scale * sizes.match.width, scale * sizes.match.height];
}

/** place: [left, top, width, height] of the picture on the canvas */
export function drawSkeleton(ink, joints, color, [left, top, width, height]) {
  const point = ([x, y]) => [left + x * width, top + y * height];
  const seen = (n) => joints[n][2] > IN_SIGHT;
  const thick = Math.max(2, ink.canvas.height / 160);
  ink.lineCap = "round";
  for (const [style, extra] of [["#06121acc", 2], [color, 0]]) {
    ink.strokeStyle = style;
    ink.lineWidth = thick + extra;
    ink.beginPath();
    for (const [a, b] of BONES) {
      if (!seen(a) || !seen(b)) continue;
      ink.moveTo(...point(joints[a]));
      ink.lineTo(...point(joints[b]));
    }
    ink.stroke();
  }
  ink.fillStyle = color;
  joints.forEach((joint, n) => {
    if (!seen(n)) return;
    ink.beginPath();
    ink.arc(...point(joint), n ? thick * 1.3 : thick * 2.2, 0, 7);
    ink.fill();
  });
}

function median(values) {
  return [...values].sort((one, other) => one - other)[values.length >> 1];
}
