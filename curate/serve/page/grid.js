import {h} from './dom.js';

// Grid is a list of cells of equal height in as many columns as fit, with headings
// between: only what is visible is in the document, so 57,000 labels scroll as 50
// do. The keyboard's place is told by aria-activedescendant; the focus stays on the
// list.
export class Grid {
  // cell(item, active) makes the element of an item.
  constructor(root, {width, height, cell}) {
    Object.assign(this, {root, width, height, cell, rows: [], at: -1, items: [], columns: 1, only: 0});
    this.space = h('div', {class: 'space', role: 'presentation'});
    root.append(this.space);
    root.addEventListener('scroll', () => this.draw(), {passive: true});
    new ResizeObserver(() => this.layout()).observe(root);
  }

  // set shows sections [{title, items}]; a section without a title has no heading.
  set(sections) {
    this.sections = sections;
    this.items = sections.flatMap((s) => s.items);
    if (this.at >= this.items.length) this.at = this.items.length - 1;
    if (this.at < 0 && this.items.length) this.at = 0;
    this.layout();
  }

  layout() {
    if (!this.sections) return;
    this.columns = this.only || Math.max(1, Math.floor((this.root.clientWidth - 16) / this.width));
    this.rows = [];
    let index = 0, y = 10;
    for (const s of this.sections) {
      if (s.title) { this.rows.push({y, title: s.title}); y += 44; }
      for (let i = 0; i < s.items.length; i += this.columns) {
        this.rows.push({y, from: index + i, to: index + Math.min(i + this.columns, s.items.length)});
        y += this.height;
      }
      index += s.items.length;
    }
    this.space.style.height = `${y + 8}px`;
    this.draw();
  }

  rowOf(index) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) { // the last row that begins at or before the item
      const mid = (low + high + 1) >> 1;
      const r = this.rows[mid];
      const from = r.from === undefined ? this.rows[mid + 1].from : r.from;
      if (from <= index) low = mid; else high = mid - 1;
    }
    return this.rows[low].from === undefined ? low + 1 : low;
  }

  draw() {
    const top = this.root.scrollTop - 120, bottom = this.root.scrollTop + this.root.clientHeight + 120;
    const wide = (this.root.clientWidth - 16) / this.columns;
    const made = [];
    let low = 0, high = this.rows.length;
    while (low < high) { const mid = (low + high) >> 1; if (this.rows[mid].y < top) low = mid + 1; else high = mid; }
    for (let r = low; r < this.rows.length && this.rows[r].y < bottom; r++) {
      const row = this.rows[r];
      if (row.title) {
        const e = h('div', {class: 'break', role: 'presentation'}, h('span', {}, row.title));
        e.style.transform = `translate(8px, ${row.y}px)`;
        made.push(e);
        continue;
      }
      for (let i = row.from; i < row.to; i++) {
        const e = this.cell(this.items[i], i === this.at, i);
        e.id = `cell-${i}`;
        e.classList.add('cell');
        e.style.transform = `translate(${10 + (i - row.from) * wide}px, ${row.y}px)`;
        e.style.width = `${wide - 8}px`;
        e.style.height = `${this.height - 8}px`;
        e.setAttribute('aria-setsize', this.items.length);
        e.setAttribute('aria-posinset', i + 1);
        made.push(e);
      }
    }
    this.space.replaceChildren(...made);
    if (this.at >= 0) this.root.setAttribute('aria-activedescendant', `cell-${this.at}`);
    else this.root.removeAttribute('aria-activedescendant');
  }

  current() { return this.items[this.at]; }

  go(index) {
    if (!this.items.length) return;
    this.at = Math.max(0, Math.min(this.items.length - 1, index));
    const row = this.rows[this.rowOf(this.at)];
    const view = this.root.clientHeight;
    if (row.y < this.root.scrollTop + 48) this.root.scrollTop = row.y - 48;
    else if (row.y + this.height > this.root.scrollTop + view) this.root.scrollTop = row.y + this.height - view + 8;
    this.draw();
  }
}
