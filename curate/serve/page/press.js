// Press knows whether a button of the pointer is down, from the press to the click
// or the drop that it becomes. What arrives from elsewhere meanwhile waits, so that
// what was pressed is what is released.
export class Press {
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
    // Released where the page cannot see it: over a list that the browser shows, or a
    // scroll bar.
    on('pointermove', (e) => { if (this.down && !e.buttons) this.release(); });
    on('keydown', (e) => { if (!this.dragging && !['Shift', 'Control', 'Alt', 'Meta'].includes(e.key)) this.release(); });
  }

  // release lets go what waits, behind the click.
  release() {
    if (!this.down) return;
    this.down = this.dragging = false;
    setTimeout(() => { if (!this.down) this.waiting.splice(0).forEach((run) => run()); }, 0);
  }

  // free runs something now, or when the pointer is released.
  free(run) { if (this.down) this.waiting.push(run); else run(); }
}
