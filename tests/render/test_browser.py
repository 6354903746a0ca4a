"""Films in Chromium: not only whether it says it can, but whether the right frame is there after a seek."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seasync.alignment import Alignment
from seasync.render import compare, retime
from tests.videos import number_of

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

READ_FRAMES = """async ([data, times]) => {
  const video = document.createElement("video");
  video.muted = true;
  const failed = new Promise((_, no) => { video.onerror = () => no(new Error(video.error.message)); });
  const loaded = new Promise((yes) => { video.onloadeddata = yes; });
  video.src = URL.createObjectURL(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
  await Promise.race([loaded, failed]);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const pictures = [];
  for (const time of times) {
    const sought = new Promise((yes) => { video.onseeked = yes; });
    video.currentTime = time;
    await Promise.race([sought, failed]);
    let frame = new VideoFrame(video);
    for (let turn = 0; turn < 100 && Math.abs(frame.timestamp / 1e6 - time) > 1 / 30; turn++) {
      frame.close();  // "seeked" may come before its frame on a busy machine
      await new Promise((yes) => setTimeout(yes, 20));
      frame = new VideoFrame(video);
    }
    canvas.getContext("2d").drawImage(frame, 0, 0);
    frame.close();
    pictures.push(canvas.toDataURL("image/png").split(",")[1]);
  }
  return [pictures, video.duration];
}"""


async def frames_in_chromium(chromium: str, film: Path, times: list[float]) -> tuple[list[np.ndarray], float]:
    from playwright.async_api import async_playwright

    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            tab = await browser.new_page()
            data = base64.b64encode(film.read_bytes()).decode()
            pictures, duration = await tab.evaluate(READ_FRAMES, [data, times])
        finally:
            await browser.close()
    return [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(p))).convert("RGB")) for p in pictures
    ], duration


@pytest.mark.browser
def test_chromium_seeks_to_the_right_frames(aligned: Alignment, tmp_path: Path, tool: Callable) -> None:
    chromium = tool("chromium")
    wanted = [0, 31, 7, 60, 89, 44]
    times = [(frame + 0.5) / 30 for frame in wanted]
    retime(aligned, tmp_path / "retimed.mp4")
    images, duration = asyncio.run(frames_in_chromium(chromium, tmp_path / "retimed.mp4", times))
    assert [number_of(image) for image in images] == aligned.path[wanted, 1].tolist()
    assert duration == pytest.approx(3.0, abs=0.05)
    compare(aligned, tmp_path / "side.webm", crf=20, audio="match")
    images, _ = asyncio.run(frames_in_chromium(chromium, tmp_path / "side.webm", times))
    assert [number_of(image[:, :160]) for image in images] == wanted
    assert [number_of(image[:, 160:]) for image in images] == aligned.path[wanted, 1].tolist()
