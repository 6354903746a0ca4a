// Marks carried from a few clips to all: what the server has, and carrying again after a correction.

import { get, post } from "./api.js";
import { done } from "./jobs.js";

/** The clips that marks were carried to, the most doubtful first. */
export const carried = (sea, params, signal) => get(`/seas/${sea}/carried`, params, signal);

/** Carry the marks that people set to all clips; progress(job) is called as it goes. */
export async function carry(sea, { label, tolerance }, progress) {
  return done(await post(`/seas/${sea}/carry`, { label: label || null, tolerance }), progress);
}

const running = new Map(); // per sea: the run in progress, and whether another must follow it

/** Carry again in the background, since a clip was corrected. Corrections during a run share the next one. */
export async function carryAgain(sea, settings) {
  const current = running.get(sea);
  if (current) {
    current.again = true;
    return;
  }
  const run = { again: true };
  running.set(sea, run);
  tell(sea);
  try {
    while (run.again) {
      run.again = false;
      await carry(sea, settings, () => {});
    }
  } finally {
    running.delete(sea);
    tell(sea);
  }
}

export const isCarrying = (sea) => running.has(sea);

function tell(sea) {
  window.dispatchEvent(new CustomEvent("carried", { detail: sea }));
}
