// Undo and redo of what people set by hand: anchors and marks. Ctrl+Z, Ctrl+Shift+Z (Cmd on a Mac).

import { toast } from "./dom.js";

const MOST = 100; // steps

export class UndoStack {
  constructor() {
    this.done = []; // {name, undo, redo}
    this.undone = [];
  }

  push(step) {
    this.done = [...this.done, step].slice(-MOST);
    this.undone = [];
  }

  async undo() {
    const step = this.done.pop();
    if (!step) return toast("Nothing to undo");
    this.undone.push(step);
    await step.undo();
    toast(`Undone: ${step.name}`);
  }

  async redo() {
    const step = this.undone.pop();
    if (!step) return toast("Nothing to redo");
    this.done.push(step);
    await step.redo();
    toast(`Redone: ${step.name}`);
  }

  /** Listen to the keys until `signal`. */
  listen(signal) {
    window.addEventListener("keydown", (event) => {
      const field = event.target.closest?.("input:not([type=checkbox], [type=range]), textarea, dialog");
      if (!(event.ctrlKey || event.metaKey) || field || !["z", "Z", "y"].includes(event.key)) return;
      event.preventDefault();
      const again = event.key === "y" || event.shiftKey;
      (again ? this.redo() : this.undo()).catch((error) => toast(error.message, "bad"));
    }, { signal });
  }
}
