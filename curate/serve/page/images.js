import {ask} from './net.js';
import {FLAGGED} from './model.js';

const most = 200; // labels in a request

// Thumbnails holds the name of one image for each label that was on the screen. Labels that are
// drawn together are requested together.
export class Thumbnails {
  constructor(changed) { Object.assign(this, {changed, names: new Map(), wanted: new Set(), asking: false}); }

  // of returns the name of a label's image, '' if it is not known yet or there is none.
  of(i) {
    const name = this.names.get(i);
    if (name === undefined) {
      this.wanted.add(i);
      if (!this.asking) { this.asking = true; setTimeout(() => this.ask(), 40); } // the effect of the key is painted first
    }
    return name || '';
  }

  // ask requests images until none is wanted. The labels that were drawn last come first, since
  // they are on the screen. If the server does not answer, they stay without an image.
  async ask() {
    while (this.wanted.size) {
      const tags = [...this.wanted].slice(-most);
      tags.forEach((i) => this.wanted.delete(i));
      let names = [];
      try { ({thumbnails: names} = await ask(`/api/thumbnails?tags=${tags}`)); } catch { /* see above */ }
      tags.forEach((i, k) => this.names.set(i, names[k] || ''));
      this.changed();
    }
    this.asking = false;
  }
}

// Thread is what was written about the flag of the current label.
export class Thread {
  constructor(app) { Object.assign(this, {app, of: '', list: [], asking: false}); }

  // key names a label and the version of what is known about it.
  key(i) { return `${i} ${this.app.model.version}`; }

  // ask requests the thread of the current label if it is flagged, one request at a time.
  async ask() {
    const {view, model} = this.app, i = view.grid.current(), wanted = this.key(i);
    if (i === undefined || !(model.status[i] & FLAGGED) || this.asking || this.of === wanted) return;
    this.asking = true;
    let list = [];
    try { list = (await ask(`/api/flags?tag=${i}`)).thread; } catch { /* the reason is shown without its thread */ }
    this.asking = false;
    Object.assign(this, {of: wanted, list});
    view.draw();
  }
}

// Examples are landmarks that carry the current label. They are shown while on is true.
export class Examples {
  constructor(app) { Object.assign(this, {app, on: false, of: undefined, list: [], failed: '', asking: false}); }

  toggle() {
    if (!this.app.model.has.examples) return;
    this.on = !this.on;
    this.app.view.draw();
  }

  // ask requests the examples of the current label, one request at a time.
  async ask() {
    const {view} = this.app, i = view.grid.current();
    if (!this.on || i === undefined || this.asking || this.of === i) return;
    this.asking = true;
    let list = [], failed = '';
    try { list = (await ask(`/api/examples?tag=${i}`)).examples || []; } catch (e) { failed = `${e.message}.`; }
    this.asking = false;
    Object.assign(this, {of: i, list, failed});
    view.draw();
  }
}
