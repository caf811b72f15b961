import {h} from './dom.js';

// Sight is a box that scrolls, of which only what is in sight is in the document:
// 57,000 labels scroll as 50 do. Elements are kept by key and sort: one that is wanted
// again stays and is changed where it differs, and one that is not is written anew for
// another key, whatever its state was. The source of a drag stays as it is, out of sight
// or gone: without it the drag would end nowhere. Sizes are noted when they change and scrolling is left to the next
// frame, so that drawing never makes the browser lay out the page twice.
export class Sight {
  // draw(resized) draws what is in sight with show().
  constructor(root, draw) {
    Object.assign(this, {root, top: 0, total: 0, width: root.clientWidth, height: root.clientHeight, have: new Map(), dragged: null});
    this.space = h('div', {class: 'space', role: 'presentation'});
    root.append(this.space);
    root.addEventListener('scroll', () => { if (!this.frame && Math.abs(this.top - root.scrollTop) >= 1) { this.top = root.scrollTop; draw(false); } }, {passive: true});
    root.addEventListener('dragstart', (e) => { this.dragged = e.target; });
    root.addEventListener('dragend', () => { this.dragged = null; draw(false); });
    new ResizeObserver(([{contentRect: {width, height}}]) => {
      if (!height || (this.width === width && this.height === height)) return; // hidden, or nothing new
      Object.assign(this, {width, height});
      draw(true);
    }).observe(root);
  }

  // reach says how high all of it is.
  reach(total) {
    if (total !== this.total) this.space.style.height = `${total}px`;
    this.total = total;
    this.scroll(this.top);
  }

  scroll(to) {
    const top = Math.max(0, Math.min(to, this.total - this.height));
    if (top === this.top) return;
    this.top = top;
    this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.root.scrollTop = this.top; });
  }

  // reveal scrolls as far as needed to show what is between two heights.
  reveal(from, to) {
    if (from < this.top) this.scroll(from);
    else if (to > this.top + this.height) this.scroll(to - this.height);
  }

  // show has exactly these elements: {key, sort, x, y, state, write(e)}. State is all
  // that the look of one key depends on: where it is the same, nothing is written.
  // Only elements of one sort become one another.
  show(wanted) {
    const sorts = new Map(wanted.map((w) => [w.key, w.sort])), free = new Map();
    for (const [key, kept] of this.have) {
      if (sorts.get(key) === kept.sort || kept.e === this.dragged) continue;
      this.have.delete(key);
      free.set(kept.sort, [...(free.get(kept.sort) || []), kept]);
    }
    const stay = this.have.size > 0;
    const list = wanted.map(({key, sort, x, y, state, write}) => {
      let kept = this.have.get(key);
      if (!kept) {
        const other = free.get(sort)?.shift();
        kept = other ? {...other, state: null} : {e: h('div'), sort}; // what another key was written for says nothing
        if (stay) kept.e.remove(); // where some stay, the others are put between them
        this.have.set(key, kept);
      }
      if (kept.state !== state) { write(kept.e); kept.state = state; }
      if (kept.x !== x || kept.y !== y) {
        kept.e.style.transform = `translate(${x}px, ${y}px)`;
        Object.assign(kept, {x, y});
      }
      return kept.e;
    });
    for (const {e} of [...free.values()].flat()) e.remove();
    let after = null; // the document has them in the order in which they are read
    for (const e of list.reverse()) {
      if (e.parentNode !== this.space || e.nextSibling !== after) this.space.insertBefore(e, after);
      after = e;
    }
  }
}
