// Undo and redo of what people set by hand. Ctrl+Z, Ctrl+Shift+Z (Cmd on a Mac), and two buttons.

import { h, iconButton, toast } from "./dom.js";

const MOST = 100; // steps

/** Events: "change" when there is more or less to undo. */
export class UndoStack extends EventTarget {
  constructor() {
    super();
    this.done = []; // {name, undo, redo}
    this.undone = [];
  }

  push(step) {
    this.done = [...this.done, step].slice(-MOST);
    this.undone = [];
    this.dispatchEvent(new Event("change"));
  }

  async undo() {
    const step = this.done.pop();
    if (!step) return toast("Nothing to undo");
    this.undone.push(step);
    this.dispatchEvent(new Event("change"));
    await step.undo();
    toast(`Undone: ${step.name}`);
  }

  async redo() {
    const step = this.undone.pop();
    if (!step) return toast("Nothing to redo");
    this.done.push(step);
    this.dispatchEvent(new Event("change"));
    await step.redo();
    toast(`Redone: ${step.name}`);
  }

  /** Listen to the keys until `signal`. */
  listen(signal) {
    window.addEventListener("keydown", (event) => {
      const field = event.target.closest?.("input:not([type=checkbox], [type=range]), textarea, dialog");
      if (!(event.ctrlKey || event.metaKey) || field || !["z", "Z", "y"].includes(event.key)) return;
      event.preventDefault();
      this.act(event.key === "y" || event.shiftKey ? "redo" : "undo");
    }, { signal });
  }

  act(what) {
    this[what]().catch((error) => toast(error.message, "bad"));
  }

  /** Two buttons, for hands without a keyboard. */
  buttons() {
    const undo = iconButton("undo", "Undo (Ctrl Z)", { onclick: () => this.act("undo") });
    const redo = iconButton("redo", "Redo (Ctrl Shift Z)", { onclick: () => this.act("redo") });
    const draw = () => {
      undo.disabled = !this.done.length;
      redo.disabled = !this.undone.length;
    };
    this.addEventListener("change", draw);
    draw();
    return h("span.undo", {}, undo, redo);
  }
}
