// The moment on show, kept in the address: a reload, the back button or a copied link shows the same frame.

import { remember } from "./dom.js";

const REST = 300; // ms without a new picture: browsers limit how often a page may change its address

export function rememberMoment(session, signal) {
  let timer = 0;
  const write = () => !signal.aborted && !session.player.playing && remember({ t: session.player.time.toFixed(4) });
  session.addEventListener("time", () => {
    clearTimeout(timer);
    timer = setTimeout(write, REST);
  });
}
