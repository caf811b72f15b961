import {h, become, attribute} from './dom.js';
import {VirtualScroll} from './virtualscroll.js';

const edge = 10, gap = 8;

// Grid is a list of cells of equal height in as many columns as fit, with headings between
// sections. The focus stays on the list, and aria-activedescendant names the cell at the cursor.
export class Grid {
  // cell(e, item, active) writes an item into its element. state(item, active) is everything that
  // its appearance depends on. Elements of one sort are used again for other items. height(wide) is
  // the height of all cells of a width, and width(items) the least width of a cell. seen(items) is told what is in sight.
  constructor(root, {width, height, cell, state, seen}) {
    Object.assign(this, {root, width, height, cell, state, seen, sort: '', between: gap, blocks: [], at: -1, items: [], wanted: undefined,
      columns: 1, only: 0, titleHigh: 44});
    this.scroller = new VirtualScroll(root, (resized) => (resized ? this.layout() : this.draw()));
  }

  // start puts the cursor on an item of the next list, or on its first.
  start(item) {
    Object.assign(this, {items: [], at: 0, wanted: item});
    this.scroller.scroll(0);
  }

  // seek moves the cursor to an item, if it is in the list.
  seek(item) {
    const at = this.items.indexOf(item);
    if (at < 0) return;
    this.go(at);
    this.draw();
  }

  // set shows sections [{key, title, items}]; a section without a title has no heading. The cursor stays
  // on its item, or on the item of its row, which standing() returns. If that is gone, the cursor is
  // on the next item of its section, or else on the last one before it there.
  set(sections, standing) {
    const wanted = this.wanted === undefined ? undefined : standing(this.wanted);
    const item = wanted ?? (this.at < this.items.length ? standing(this.current()) : undefined), next = this.besideCursor(sections, standing);
    this.sections = sections;
    this.items = sections.length === 1 ? sections[0].items : sections.flatMap((s) => s.items);
    const found = this.items.indexOf(item), at = found >= 0 ? found : this.items.indexOf(next);
    if (at >= 0) { this.at = at; this.wanted = undefined; }
    if (this.at >= this.items.length) this.at = this.items.length - 1;
    if (this.at < 0 && this.items.length) this.at = 0;
    this.layout();
    if (at >= 0 && wanted !== undefined) this.seek(wanted);
  }

  // besideCursor is the item that takes the cursor if its own is gone, of the same section; undefined if none is left.
  besideCursor(sections, standing) {
    const block = this.blocks.find((b) => b.from <= this.at && this.at < b.from + b.n), left = sections.find((s) => s.key === block?.key);
    if (!block || !left || block.key === undefined) return undefined;
    const there = new Set(left.items), list = this.items.slice(block.from, block.from + block.n).map(standing), at = this.at - block.from;
    return [...list.slice(at + 1), ...list.slice(0, at).reverse()].find((i) => there.has(i));
  }

  layout() {
    if (!this.sections) return;
    this.columns = this.only || Math.max(1, Math.floor((this.scroller.width - 2 * edge + gap) / this.width(this.items)));
    this.wide = (this.scroller.width - 2 * edge + gap) / this.columns;
    this.high = this.height(this.wide);
    this.blocks = [];
    let from = 0, y = edge;
    for (const {key, title, items} of this.sections) {
      const first = y + (title ? this.titleHigh : 0);
      this.blocks.push({key, title, top: y, y: first, from, n: items.length});
      y = first + Math.ceil(items.length / this.columns) * this.high;
      from += items.length;
    }
    this.scroller.setHeight(y + 8);
    this.draw();
  }

  // yOf is the top of an item.
  yOf(index) {
    const b = this.blocks.findLast((x) => x.from <= index && x.n);
    return b.y + Math.floor((index - b.from) / this.columns) * this.high;
  }

  draw() {
    const {top, height} = this.scroller;
    const wanted = [], inSight = [];
    for (const [k, b] of this.blocks.entries()) {
      if (b.title) wanted.push({key: `title ${k}`, sort: 'title', x: 8, y: b.top, state: b.title,
        write: (e) => become(e, h('div', {class: 'break', role: 'presentation'}, h('span', {}, b.title)))});
      const row = (y) => Math.floor((y - b.y) / this.high) * this.columns;
      const to = Math.min(b.n, row(top + height + 120) + this.columns);
      for (let k = Math.max(0, row(top - 120)); k < to; k++) {
        const i = b.from + k, item = this.items[i], active = i === this.at, middle = b.y + (Math.floor(k / this.columns) + 0.5) * this.high;
        if (middle > top && middle < top + height) inSight.push(item);
        wanted.push({key: item, sort: this.sort, x: edge + (k % this.columns) * this.wide, y: b.y + Math.floor(k / this.columns) * this.high,
          state: `${i}/${this.items.length}/${this.wide} ${this.state(item, active)}`, write: (e) => this.write(e, item, i, active)});
      }
    }
    this.scroller.space.style.setProperty('--wide', `${this.wide - gap}px`);
    this.scroller.space.style.setProperty('--high', `${this.high - this.between}px`);
    this.scroller.show(wanted);
    this.seen?.(inSight);
    if (this.at >= 0) this.root.setAttribute('aria-activedescendant', `cell-${this.at}`);
    else this.root.removeAttribute('aria-activedescendant');
  }

  write(e, item, i, active) {
    this.cell(e, item, active);
    e.id = `cell-${i}`;
    attribute(e, 'aria-setsize', this.items.length);
    attribute(e, 'aria-posinset', i + 1);
  }

  current() { return this.items[this.at]; }

  // go moves the cursor to an item and scrolls to it.
  go(index) {
    if (!this.items.length) return;
    this.wanted = undefined;
    this.at = Math.max(0, Math.min(this.items.length - 1, index));
    const y = this.yOf(this.at);
    this.scroller.reveal(y - this.titleHigh - 4, y + this.high + 8);
  }
}
