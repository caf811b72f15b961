import {ask} from './net.js';

const most = 200; // labels in a request

// Thumbnails knows an image of each label that was in sight. Labels that are drawn together
// are asked for together.
export class Thumbnails {
  constructor(changed) { Object.assign(this, {changed, names: new Map(), wanted: new Set(), asking: false}); }

  // of returns the name of a label's image: '' while it is not known, and if there is none.
  of(i) {
    const name = this.names.get(i);
    if (name === undefined) {
      this.wanted.add(i);
      if (!this.asking) { this.asking = true; setTimeout(() => this.ask(), 40); } // the key is painted first
    }
    return name || '';
  }

  // ask asks until nothing is wanted, for the labels drawn last first: they are in sight. Where
  // the server has no answer, the labels stay without an image.
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
