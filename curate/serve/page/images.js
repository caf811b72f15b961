import {h, byId} from './dom.js';
import {ask} from './net.js';

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

// Enlarged shows an image large: the one under the pointer, or while on is true that of the current label. It
// covers no part of the row that it belongs to.
export class Enlarged {
  constructor(app) {
    Object.assign(this, {app, on: false, under: null, box: h('div', {class: 'enlarged', 'aria-hidden': 'true', hidden: true})});
    document.body.append(this.box);
    const over = (e) => e.target.closest?.('.thumbnail img, .pictures img');
    document.addEventListener('pointerover', (e) => { if (over(e)) this.point(over(e)); });
    document.addEventListener('pointerout', (e) => { if (over(e)) this.point(null); });
  }

  toggle() {
    if (!this.app.model.has.thumbnails) { this.app.view.say('There are no images; hgld curate serve --images names their folder.'); return; }
    this.on = !this.on;
    this.app.view.draw();
  }

  point(img) { this.under = img; this.draw(); }

  // draw shows the image under the pointer, else that of the current label, or none. The page draws at any time.
  draw() {
    if (this.under?.isConnected) { this.show(this.under.src, this.under.getBoundingClientRect()); return; }
    const i = this.app.view.current(), name = this.on && i !== undefined ? this.app.thumbnails.of(i) : '';
    const row = byId(`cell-${this.app.view.grid.at}`);
    if (name && row) this.show(`/image/${encodeURIComponent(name)}`, row.getBoundingClientRect());
    else this.hide();
  }

  hide() { this.box.hidden = true; this.box.replaceChildren(); }

  // show shows an image beside a rectangle: below it, or above if there is more room.
  show(address, {left, top, bottom}) {
    const src = address.replace(/\?small$/, ''), side = Math.min(360, innerWidth - 24, Math.max(innerHeight - bottom, top) - 16);
    if (!this.box.firstChild || this.box.firstChild.src !== new URL(src, location.href).href) this.box.replaceChildren(h('img', {src, alt: ''}));
    Object.assign(this.box.style, {width: `${side}px`, height: `${side}px`, left: `${Math.max(8, Math.min(left, innerWidth - side - 12))}px`,
      top: `${innerHeight - bottom >= top ? bottom + 6 : top - side - 6}px`});
    this.box.hidden = false;
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
    const {view} = this.app, i = view.current();
    if (!this.on || i === undefined || this.asking || this.of === i) return;
    this.asking = true;
    let list = [], failed = '';
    try { list = (await ask(`/api/examples?tag=${i}`)).examples || []; } catch (e) { failed = `${e.message}.`; }
    this.asking = false;
    Object.assign(this, {of: i, list, failed});
    view.draw();
  }
}
