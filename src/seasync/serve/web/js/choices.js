// The choices that requests offer. The server says which values there are; this module only has words for them.

let offered = {};

const WORDS = {
  recipe: { motion: "Motion", paper: "Paper" },
  partial: { auto: "whole or in part", never: "whole", always: "in part" },
  split: { none: "no, keep whole", shots: "at every cut" },
  layout: { side: "side by side", stack: "stacked", overlay: "overlaid", retime: "the other video alone, retimed" },
  audio: { query: "query", match: "match", mix: "both", none: "none" },
  smooth: { nearest: "true to the alignment", blend: "blended frames", pieces: "even speeds" },
  gaps: { dim: "play dimmed", skip: "skip", alone: "play alone" },
  film: { mp4: "MP4 (H.264)", mov: "QuickTime", mkv: "Matroska", webm: "WebM (VP9)", webp: "WebP animation", gif: "GIF animation" },
  timeline: {
    otio: "OpenTimelineIO", fcpxml: "Final Cut Pro, Resolve", edl: "EDL (CMX3600)", xml: "Premiere (xmeml)", mlt: "Kdenlive, Shotcut",
    csv: "Frame map, CSV", json: "Alignment, JSON",
  },
};
const HINTS = {
  recipe: { motion: "Compares how things move (recommended)", paper: "The method as published" },
};

/** Called once with what the server offers. */
export function setChoices(choices) {
  offered = choices;
}

/** The values of a field. */
export function valuesOf(field) {
  return offered[field] ?? [];
}

/** [[value, words, hint], …] of a field; a value without words shows itself. */
export function choicesOf(field) {
  return valuesOf(field).map((value) => [value, WORDS[field]?.[value] ?? value, HINTS[field]?.[value]]);
}
