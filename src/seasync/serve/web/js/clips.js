// Cards of clips: a thumbnail that plays while the pointer is over it.

import { address } from "./api.js";
import { clock, h, isStill } from "./dom.js";

const FRAMES = 10; // of the strip that stands in for a video the browser does not play

export const thumbnailAddress = (sea, ref, params = {}) => address(`/seas/${sea}/footage/${ref}/thumbnail`, params);

/** A picture of a clip that plays on hover or focus, if its file may be shown. */
export function preview(sea, clip) {
  const picture = h("img", { src: clip.viewable && thumbnailAddress(sea, clip.ref, { height: 240 }), alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  const box = h("div.preview", {}, picture, h("span.length", {}, length(clip.end - clip.start)));
  picture.addEventListener("error", () => box.classList.add("missing"));
  if (!clip.viewable) {
    box.classList.add("missing");
    box.title = "The file is missing or outside the served folders";
  }
  let stop = null;
  const begin = () => clip.viewable && !isStill() && (stop ??= play(sea, clip, box));
  const end = () => {
    stop?.();
    stop = null;
  };
  return { box, begin, end };
}

const length = (seconds) => seconds < 60 ? `${seconds.toFixed(1)} s` : clock(seconds, 0);

function play(sea, clip, box) {
  const video = h("video", { muted: true, playsinline: true, preload: "auto", src: `${address(`/seas/${sea}/footage/${clip.ref}/video`)}#t=${clip.start}` });
  video.muted = true;
  let strip = null;
  video.ontimeupdate = () => {
    if (video.currentTime >= clip.end - 0.05) video.currentTime = clip.start;
  };
  video.onended = () => video.play();
  video.onplaying = () => video.classList.add("on");
  video.onerror = () => (strip ??= playStrip(sea, clip, box));
  box.append(video);
  video.play().catch(() => {});
  return () => {
    video.onerror = null;
    video.removeAttribute("src");
    video.load();
    video.remove();
    strip?.();
  };
}

function playStrip(sea, clip, box) {
  const at = Array.from({ length: FRAMES }, (_, n) => (clip.start + ((n + 0.5) / FRAMES) * (clip.end - clip.start)).toFixed(3));
  const view = h("div.flip");
  const picture = new Image();
  let timer = 0;
  picture.onload = () => {
    view.style.backgroundImage = `url("${picture.src}")`;
    // One frame covers the box, as the thumbnail does: `wide` is its width in widths of the box.
    const { width, height } = box.getBoundingClientRect();
    const wide = Math.max(1, (picture.naturalWidth / FRAMES / picture.naturalHeight) * (height / width));
    view.style.backgroundSize = wide > 1 ? "auto 100%" : `${FRAMES * 100}% auto`;
    let n = 0;
    timer = setInterval(() => {
      n = (n + 1) % FRAMES;
      view.style.backgroundPositionX = `${(100 * (n * wide + (wide - 1) / 2)) / (FRAMES * wide - 1)}%`;
    }, 160);
  };
  picture.src = address(`/seas/${sea}/footage/${clip.ref}/strip`, { at, height: 160 });
  box.append(view);
  return () => {
    clearInterval(timer);
    view.remove();
  };
}
