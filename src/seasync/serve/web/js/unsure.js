// How sure an alignment is: which partners each moment could have, and where these lie far apart.

const FAR = 0.5; // seconds between the earliest and the latest partner

/** Runs of rows (query seconds, earliest, latest) without a gap. */
export function runs(alignment) {
  const rows = alignment.uncertainty ?? [];
  const steps = rows.slice(1).map((row, n) => row[0] - rows[n][0]).sort((a, b) => a - b);
  const usual = steps[steps.length >> 1] ?? 0;
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last && row[0] - last.at(-1)[0] < 1.5 * usual) last.push(row);
    else found.push([row]);
  }
  return found.filter((run) => run.length > 1);
}

/** Spans of a video, in its own seconds, whose moments have partners that lie far apart. */
export function unsureSpans(session, side) {
  const warp = session.warpFrom("query");
  const own = (seconds) => (side === "query" ? seconds : warp.at(seconds));
  const spans = [];
  for (const run of runs(session.alignment)) {
    let from = null;
    for (const [n, [query, earliest, latest]] of run.entries()) {
      const far = latest - earliest > FAR;
      if (far) from ??= own(query);
      if (from !== null && (!far || n === run.length - 1)) {
        const to = own(query);
        if (to > from) spans.push([from, to]);
        from = null;
      }
    }
  }
  return spans;
}
