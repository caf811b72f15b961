import {h} from './dom.js';

// VirtualScroll is a box that scrolls. Only its visible elements are in the document, so that 57,000
// labels scroll like 50. Elements have a key and a sort. An element whose key is shown again stays
// and is changed if its state differs. Other elements are written for new keys of the same sort. The
// element that is dragged stays unchanged, even out of sight, because a drag without its source
// never ends. Sizes are recorded when they change, and scrolling waits for the next frame, so that
// drawing never makes the browser lay out the page twice.
export class VirtualScroll {
  // draw(resized) draws the visible elements with show().
  constructor(root, draw) {
    Object.assign(this, {root, top: 0, total: 0, width: root.clientWidth, height: root.clientHeight, have: new Map(), dragged: null});
    this.space = h('div', {class: 'space', role: 'presentation'});
    root.append(this.space);
    root.addEventListener('scroll', () => {
      if (this.frame || Math.abs(this.top - root.scrollTop) < 1) return;
      this.top = root.scrollTop;
      draw(false);
    }, {passive: true});
    root.addEventListener('dragstart', (e) => { this.dragged = e.target; });
    root.addEventListener('dragend', () => { this.dragged = null; draw(false); });
    new ResizeObserver(([{contentRect: {width, height}}]) => {
      if (!height || (this.width === width && this.height === height)) return; // hidden, or unchanged
      Object.assign(this, {width, height});
      draw(true);
    }).observe(root);
  }

  // setHeight sets the height of the whole content.
  setHeight(total) {
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

  // reveal scrolls as far as needed to show the range between two heights.
  reveal(from, to) {
    if (from < this.top) this.scroll(from);
    else if (to > this.top + this.height) this.scroll(to - this.height);
  }

  // show shows exactly these elements: {key, sort, x, y, state, write(e)}. state is everything that
  // the appearance of a key depends on. While it is the same, nothing is written. An element is only
  // used again for keys of its sort.
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
        kept = other ? {...other, state: null} : {e: h('div'), sort}; // it was written for another key
        if (stay) kept.e.remove(); // it is inserted again between those that stay
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
    let after = null; // the order in the document is that of reading
    for (const e of list.reverse()) {
      if (e.parentNode !== this.space || e.nextSibling !== after) this.space.insertBefore(e, after);
      after = e;
    }
  }
}
