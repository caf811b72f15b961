// Pointer knows whether a button of the pointer is down, until the click or the drop that ends
// the press. Changes that arrive meanwhile wait, so that the element under the pointer stays
// the same from press to release.
export class Pointer {
  constructor() {
    Object.assign(this, {down: false, dragging: false, waiting: []});
    const on = (type, run) => addEventListener(type, run, true);
    on('pointerdown', () => { this.down = true; });
    on('dragstart', () => { this.down = this.dragging = true; });
    on('pointerup', () => this.release());
    on('pointercancel', () => { if (!this.dragging) this.release(); }); // a drag begins with one
    on('dragend', () => this.release());
    on('drop', () => this.release());
    on('blur', (e) => { if (e.target === window && !this.dragging) this.release(); });
    // The page does not see a release over a list that the browser shows, or over a scroll bar.
    on('pointermove', (e) => { if (this.down && !e.buttons) this.release(); });
    on('keydown', (e) => { if (!this.dragging && !['Shift', 'Control', 'Alt', 'Meta'].includes(e.key)) this.release(); });
  }

  // release runs what waits, after the click.
  release() {
    if (!this.down) return;
    this.down = this.dragging = false;
    setTimeout(() => { if (!this.down) this.waiting.splice(0).forEach((run) => run()); }, 0);
  }

  // whenUp runs a function now, or when the pointer is released.
  whenUp(run) { if (this.down) this.waiting.push(run); else run(); }
}
