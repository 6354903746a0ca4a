// Swapping the two videos of the sync view: what people set by hand goes along.

import { get, put } from "./api.js";

/** The request with query and match exchanged. */
export function swapped({ query, match, start, end, match_start, match_end, ...rest }) {
  return { ...rest, query: match, match: query, start: match_start, end: match_end, match_start: start, match_end: end };
}

/** Move anchors and drawings to the swapped pair. If there are none here, those that it has stay. */
export async function moveNotes(session) {
  const { sea, anchors, reels } = session;
  const { query, match } = session.request;
  const { drawings } = await get(`/seas/${sea}/drawings/${query}/${match}`);
  const partner = (seconds) => reels.match.seconds[reels.match.nearest(session.warpFrom("query").at(seconds))];
  const moved = {
    anchors: anchors.map((one) => ({ query: one.match, match: one.query })),
    drawings: drawings.map((one) => ({ ...one, seconds: partner(one.seconds) })),
  };
  for (const [kind, notes] of Object.entries(moved)) {
    if (!notes.length) continue;
    await put(`/seas/${sea}/${kind}/${match}/${query}`, notes);
    if (query !== match) await put(`/seas/${sea}/${kind}/${query}/${match}`, []);
  }
}
