import {h, fill, count, key, shown} from './dom.js';

const mostNames = 60; // the most groups that are named at once

// The colours of the largest groups, in the light and the dark scheme. Nobody tells more of them apart.
const colours = [['#1f5fbf', '#7fb0ff'], ['#b3541e', '#f2a65a'], ['#1a7345', '#5fd39a'], ['#a1236a', '#ff8cc6'], ['#6b4fb3', '#b9a2ff'],
  ['#7a6a00', '#e0cf4a'], ['#007a8a', '#4fd6e8'], ['#9d1c1c', '#ff9c93']];

// PlaneMap draws all labels at points that follow from their vectors, and names the largest groups.
// The pointer draws a lasso to mark labels. On the keyboard, arrows move a circle, + and − resize
// it, and Space marks the labels inside. The wheel zooms at the pointer, and Page Up and Page Down
// at the circle.
export class PlaneMap {
  // on: {marked(tags, more), group(tag) -> number, isMarked(tag), decided(tag), name(tag), groupName(group), declared(group)}
  constructor(root, on) {
    this.on = on;
    this.places = null;
    this.circle = {x: 0.5, y: 0.5, r: 0.05};
    this.viewport = {x: 0, y: 0, zoom: 1}; // the visible part of the unit square: its corner, and 1 / its side
    this.canvas = h('canvas', {tabIndex: 0, role: 'application',
      'aria-label': 'Map of the labels. Arrows move the circle, plus and minus resize it, space marks what is inside.'});
    this.note = h('p', {class: 'soft', role: 'status'}, 'placing the labels…');
    this.only = h('input', {type: 'checkbox', id: 'maponly', onchange: () => this.draw()});
    this.legend = h('ul', {class: 'legend', 'aria-label': 'Colours of the largest groups'});
    this.tip = h('p', {class: 'tip', 'aria-hidden': 'true', hidden: true});
    fill(root, h('p', {class: 'keys'}, 'Draw around labels to mark them, or ', key('↑'), key('↓'), key('←'), key('→'), ' move the circle, ', key('+'),
      key('−'), ' resize it, ', key('Space'), ' mark inside, then ', key('m'), ' move. The wheel, ', key('PgUp'), ' ', key('PgDn'), ' zoom. '),
      h('div', {class: 'under'}, this.note, h('label', {class: 'check'}, this.only, ' only open ones')), this.legend,
      h('div', {class: 'canvasbox'}, this.canvas, this.tip));
    this.canvas.addEventListener('pointerdown', (e) => { this.path = [this.at(e)]; this.canvas.setPointerCapture(e.pointerId); });
    this.canvas.addEventListener('pointermove', (e) => { if (this.path) { this.path.push(this.at(e)); this.drawSoon(); } else this.hover(this.at(e)); });
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('wheel', (e) => { e.preventDefault(); this.zoom(e.deltaY < 0 ? 1.25 : 0.8, this.at(e)); }, {passive: false});
    this.canvas.addEventListener('pointerup', (e) => {
      const {path} = this;
      this.path = null;
      if (path && path.length > 2) this.lasso(path, e.shiftKey);
      this.draw();
    });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
  }

  set(places) {
    this.places = places;
    this.note.textContent = `${count(places.length, 'label')}; similar ones stand together, and filled points are decided.`;
    this.draw();
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect();
    return [this.viewport.x + (e.clientX - box.left) / box.width / this.viewport.zoom,
      this.viewport.y + (e.clientY - box.top) / box.height / this.viewport.zoom];
  }

  // zoom scales the map by a factor. The given point stays in place.
  zoom(by, [x, y]) {
    const {viewport} = this, was = viewport.zoom, to = Math.max(1, Math.min(40, was * by)), most = 1 - 1 / to;
    Object.assign(viewport, {zoom: to, x: Math.max(0, Math.min(most, x - ((x - viewport.x) * was) / to)),
      y: Math.max(0, Math.min(most, y - ((y - viewport.y) * was) / to))});
    this.tip.hidden = true;
    this.draw();
  }

  // drawSoon draws the lasso over the points, once in a frame.
  drawSoon() {
    this.frame ??= requestAnimationFrame(() => { this.frame = undefined; this.drawOver(); });
  }

  // draw draws the points and the names into a layer of their own, and the lasso over them.
  draw() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    if (!this.places || box.width < 10) return;
    const scale = window.devicePixelRatio || 1;
    this.layer ??= document.createElement('canvas');
    const w = this.layer.width = this.canvas.width = box.width * scale, hgt = this.layer.height = this.canvas.height = box.height * scale;
    const c = this.layer.getContext('2d'), {viewport} = this;
    const over = (x, y) => [(x - viewport.x) * viewport.zoom * w, (y - viewport.y) * viewport.zoom * hgt];
    const style = getComputedStyle(document.documentElement);
    this.draws = (this.draws || 0) + 1;
    this.canvas.dataset.draws = this.draws;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const size = (this.places.length > 8000 ? 1.3 : 2.6) * scale;
    this.colourGroups(dark);
    const mark = style.getPropertyValue('--mark'), none = style.getPropertyValue('--edge');
    for (let i = 0; i < this.places.length; i++) {
      const [x, y] = over(...this.places[i]);
      if (x < 0 || x > w || y < 0 || y > hgt || this.hides(i)) continue;
      c.beginPath();
      c.arc(x, y, this.on.isMarked(i) ? 2 * size : size, 0, 7);
      if (this.on.isMarked(i)) { c.fillStyle = mark; c.fill(); continue; }
      const colour = this.colour.get(this.on.group(i)) || none;
      if (this.on.decided(i)) { c.fillStyle = colour; c.fill(); } else { c.strokeStyle = colour; c.lineWidth = scale; c.stroke(); }
    }
    this.drawNames(c, over, {w, hgt, scale, style});
    this.drawOver();
  }

  // hides tells whether a label is left out: a decided one, if only open ones are shown.
  hides(i) { return this.only.checked && !!this.on.decided(i); }

  // sizes counts the labels that are shown in each group.
  sizes() {
    const n = new Map();
    for (let i = 0; i < this.places.length; i++) if (!this.hides(i)) n.set(this.on.group(i), (n.get(this.on.group(i)) || 0) + 1);
    n.delete(-1);
    return n;
  }

  // inOrder sorts groups: those that somebody declared first, then the largest.
  inOrder(groups, size) { return groups.sort((a, b) => !!this.on.declared(b) - !!this.on.declared(a) || size(b) - size(a)); }

  // colourGroups gives the largest groups a colour each, and writes the legend. The other groups are grey.
  colourGroups(dark) {
    const n = this.sizes(), first = this.inOrder([...n.keys()], (g) => n.get(g)).slice(0, colours.length);
    this.colour = new Map(first.map((g, k) => [g, colours[k][dark ? 1 : 0]]));
    const swatch = (colour) => { const e = h('span', {class: 'swatch', 'aria-hidden': 'true'}); e.style.background = colour; return e; };
    fill(this.legend, first.map((g) => h('li', {}, swatch(this.colour.get(g)), shown(this.on.groupName(g)))),
      n.size > first.length ? h('li', {}, swatch('var(--edge)'), `${n.size - first.length} other groups`) : null);
  }

  // drawOver copies the layer of the points, and draws the lasso or the circle.
  drawOver() {
    if (!this.layer) return;
    const scale = window.devicePixelRatio || 1, {viewport} = this, {width: w, height: hgt} = this.canvas, c = this.canvas.getContext('2d');
    const over = (x, y) => [(x - viewport.x) * viewport.zoom * w, (y - viewport.y) * viewport.zoom * hgt];
    c.clearRect(0, 0, w, hgt);
    c.drawImage(this.layer, 0, 0);
    c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--mark');
    c.lineWidth = 2 * scale;
    c.beginPath();
    if (this.path) this.path.forEach(([x, y], k) => (k ? c.lineTo(...over(x, y)) : c.moveTo(...over(x, y))));
    else c.ellipse(...over(this.circle.x, this.circle.y), this.circle.r * viewport.zoom * w, this.circle.r * viewport.zoom * w, 0, 0, 7);
    c.stroke();
  }

  // drawNames writes the names of groups, the largest first, each at the mean of its visible labels.
  // A name that would cover another one is left out.
  drawNames(c, over, {w, hgt, scale, style}) {
    const middle = new Map();
    this.places.forEach((place, i) => {
      const [x, y] = over(...place), g = this.on.group(i);
      if (g < 0 || this.hides(i) || x < 0 || x > w || y < 0 || y > hgt) return;
      const m = middle.get(g) || [0, 0, 0];
      middle.set(g, [m[0] + 1, m[1] + x, m[2] + y]);
    });
    const high = 15 * scale, taken = [];
    c.font = `600 ${12 * scale}px system-ui, sans-serif`;
    c.textBaseline = 'middle';
    c.lineJoin = 'round';
    for (const g of this.inOrder([...middle.keys()], (g) => middle.get(g)[0]).slice(0, mostNames)) {
      const [n, x, y] = middle.get(g);
      const text = shown(this.on.groupName(g)), wide = c.measureText(text).width;
      const left = Math.max(2, Math.min(w - wide - 2, x / n - wide / 2)), middleY = Math.max(high / 2, Math.min(hgt - high / 2, y / n));
      if (taken.some((t) => left < t.right && left + wide > t.left && Math.abs(t.y - middleY) < high)) continue;
      taken.push({left, right: left + wide + 6 * scale, y: middleY});
      c.strokeStyle = style.getPropertyValue('--paper');
      c.lineWidth = 4 * scale;
      c.strokeText(text, left, middleY);
      c.fillStyle = style.getPropertyValue('--ink');
      c.fillText(text, left, middleY);
    }
    this.canvas.dataset.names = taken.length;
  }

  // hover shows the label under the pointer and its group.
  hover([x, y]) {
    if (!this.places) return;
    const {viewport} = this;
    let best = -1, near = 0.0004 / viewport.zoom ** 2;
    this.places.forEach(([a, b], i) => { if (this.hides(i)) return; const d = (a - x) ** 2 + (b - y) ** 2; if (d < near) { near = d; best = i; } });
    this.tip.hidden = best < 0;
    if (best < 0) return;
    const [a, b] = this.places[best], g = this.on.group(best);
    this.tip.textContent = `${shown(this.on.name(best))} · ${g < 0 ? 'no group' : shown(this.on.groupName(g))}`;
    const box = this.canvas.parentElement, left = (a - viewport.x) * viewport.zoom * box.clientWidth, top = (b - viewport.y) * viewport.zoom * box.clientHeight;
    this.tip.style.left = `${Math.max(4, Math.min(left + 10, box.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${top > box.clientHeight - 44 ? top - 38 : top + 10}px`;
  }

  lasso(path, more) {
    const inside = (x, y) => {
      let odd = false;
      for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
        const [ax, ay] = path[i], [bx, by] = path[j];
        if ((ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
      }
      return odd;
    };
    this.take((x, y) => inside(x, y), more);
  }

  take(inside, more) {
    const tags = [];
    this.places.forEach(([x, y], i) => { if (inside(x, y) && !this.hides(i)) tags.push(i); });
    this.on.marked(tags, more);
    this.draw();
  }

  key(e) {
    const step = (e.shiftKey ? 0.005 : 0.02) / this.viewport.zoom, c = this.circle;
    const box = this.canvas.getBoundingClientRect();
    switch (e.key) {
      case 'ArrowLeft': c.x = Math.max(0, c.x - step); break;
      case 'ArrowRight': c.x = Math.min(1, c.x + step); break;
      case 'ArrowUp': c.y = Math.max(0, c.y - step); break;
      case 'ArrowDown': c.y = Math.min(1, c.y + step); break;
      case '+': case '=': c.r = Math.min(0.5, c.r * 1.25); break;
      case '-': c.r = Math.max(0.005, c.r / 1.25); break;
      case 'PageUp': this.zoom(1.5, [c.x, c.y]); break;
      case 'PageDown': this.zoom(1 / 1.5, [c.x, c.y]); break;
      case ' ': if (this.places) this.take((x, y) => (x - c.x) ** 2 + ((y - c.y) * box.height / box.width) ** 2 < c.r ** 2, true); break;
      default: return;
    }
    e.preventDefault();
    e.stopPropagation();
    this.draw();
  }
}
