import {h, fill, count, key, shown} from './dom.js';

const mostNames = 60; // the most groups that are named at once

// The colours of the largest groups, in the light and the dark scheme. Nobody tells more of them apart.
const colours = [['#1f5fbf', '#7fb0ff'], ['#b3541e', '#f2a65a'], ['#1a7345', '#5fd39a'], ['#a1236a', '#ff8cc6'], ['#6b4fb3', '#b9a2ff'],
  ['#7a6a00', '#e0cf4a'], ['#007a8a', '#4fd6e8'], ['#9d1c1c', '#ff9c93']];

const words = new Map();

// word is a colour as the pixels of a picture hold it, without its opacity.
function word(colour) {
  if (words.has(colour)) return words.get(colour);
  const c = document.createElement('canvas').getContext('2d');
  c.fillStyle = colour;
  c.fillRect(0, 0, 1, 1);
  const [r, g, b] = c.getImageData(0, 0, 1, 1).data;
  words.set(colour, r | (g << 8) | (b << 16));
  return words.get(colour);
}

// stamp lists the pixels that a ring between two radii covers around a pixel, for pictures of a width: their offsets,
// and their opacities from 0 to 255.
function stamp(inner, outer, width) {
  const reach = Math.ceil(outer), fine = 4, offsets = [], opacities = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      let covered = 0;
      for (let k = 0; k < fine * fine; k++) {
        const d = Math.hypot(x + ((k % fine) + 0.5) / fine - 0.5, y + (Math.floor(k / fine) + 0.5) / fine - 0.5);
        if (d >= inner && d < outer) covered++;
      }
      if (covered) { offsets.push(y * width + x); opacities.push(Math.round((255 * covered) / fine ** 2)); }
    }
  }
  return {offsets, opacities};
}

// put colours the pixels of a stamp, but those that something less transparent covers.
function put(pixels, at, {offsets, opacities}, colour) {
  for (let k = 0; k < offsets.length; k++) {
    const to = at + offsets[k], opacity = opacities[k];
    if (pixels[to] >>> 24 <= opacity) pixels[to] = colour | (opacity << 24);
  }
}

// What a point looks like.
const hiddenPoint = 0, ringPoint = 1, discPoint = 2, markedPoint = 3;

// insideOf returns a function that tells whether a point is inside a closed path, by the parity of the edges to its
// right. Edges are kept by horizontal strips: a lasso has hundreds, and a strip few.
function insideOf(path) {
  const ys = path.map((p) => p[1]), top = Math.min(...ys), low = Math.max(...ys), n = 256;
  const strip = (y) => Math.min(n - 1, Math.floor(((y - top) / (low - top)) * n)), strips = Array.from({length: n}, () => []);
  path.forEach(([bx, by], i) => {
    const [ax, ay] = path.at(i - 1), edge = {ax, ay, by, slope: (bx - ax) / (by - ay)};
    if (ay === by) return;
    for (let k = strip(Math.min(ay, by)); k <= strip(Math.max(ay, by)); k++) strips[k].push(edge);
  });
  return (x, y) => {
    if (!(y >= top && y < low)) return false;
    let odd = false;
    for (const {ax, ay, by, slope} of strips[strip(y)]) if ((ay > y) !== (by > y) && x < (y - ay) * slope + ax) odd = !odd;
    return odd;
  };
}

// PlaneMap draws all labels at points that follow from their vectors, and names the largest groups.
// The pointer draws a lasso to mark labels. On the keyboard, arrows move a circle, + and − resize
// it, and Space marks the labels inside. The wheel zooms at the pointer, and Page Up and Page Down
// at the circle.
export class PlaneMap {
  // on: {marked(labels, more), group(label) -> number, isMarked(label), decided(label), name(label), groupName(group),
  // declared(group)}, and words: what the labels are called, what decided means, and how to leave decided ones out
  constructor(root, on) {
    this.on = on;
    this.places = null;
    this.circle = {x: 0.5, y: 0.5, r: 0.05};
    this.viewport = {x: 0, y: 0, zoom: 1}; // the visible part of the unit square: its corner, and 1 / its side
    this.canvas = h('canvas', {tabIndex: 0, role: 'application',
      'aria-label': `Map of the ${on.words.label}s. Arrows move the circle, plus and minus resize it, space selects what is inside.`});
    this.note = h('p', {class: 'soft', role: 'status'}, `placing the ${on.words.label}s…`);
    this.only = h('input', {type: 'checkbox', id: 'maponly', onchange: () => this.draw()});
    this.legend = h('ul', {class: 'legend', 'aria-label': 'Colours of the largest groups'});
    this.tip = h('p', {class: 'tip', 'aria-hidden': 'true', hidden: true});
    fill(root, h('p', {class: 'keys'}, `Draw around ${on.words.label}s to select them, or `, key('↑'), key('↓'), key('←'), key('→'),
      ' move the circle, ', key('+'), key('−'), ' resize it, ', key('Space'), ' select inside', on.words.then || '',
      '. The wheel, ', key('PgUp'), ' ', key('PgDn'), ' zoom; drag with ', key('Alt'), ' or the middle button to move. '),
      h('div', {class: 'under'}, this.note, h('label', {class: 'check'}, this.only, ` ${on.words.open}`)), this.legend,
      h('div', {class: 'canvasbox'}, this.canvas, this.tip));
    this.canvas.addEventListener('pointerdown', (e) => {
      if (e.button === 1 || e.altKey) { this.grip = this.at(e); e.preventDefault(); } else if (e.button === 0) this.path = [this.at(e)];
      this.canvas.setPointerCapture(e.pointerId);
    });
    this.canvas.addEventListener('pointermove', (e) => this.drag(this.at(e)));
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('wheel', (e) => { e.preventDefault(); this.zoom(e.deltaY < 0 ? 1.25 : 0.8, this.at(e)); }, {passive: false});
    this.canvas.addEventListener('pointerup', (e) => {
      const {path} = this;
      this.path = this.grip = null;
      if (path && path.length > 2) this.take(insideOf(path), e.shiftKey);
      this.drawSoon();
    });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
  }

  // drag moves the map so that the point that the pointer holds stays under it, continues the lasso, or says what
  // is under the pointer.
  drag([x, y]) {
    const {grip, path, viewport} = this;
    if (grip) this.look(viewport.x + grip[0] - x, viewport.y + grip[1] - y);
    else if (path) { path.push([x, y]); this.drawSoon(); } else this.hover([x, y]);
  }

  // set takes the points, [x, y] of each label in the unit square.
  set(places) {
    this.places = {n: places.length, x: Float32Array.from(places, (p) => p[0]), y: Float32Array.from(places, (p) => p[1])};
    this.note.textContent = `${count(places.length, this.on.words.label)}; similar ones stand together, and ${this.on.words.decided}.`;
    this.draw();
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect();
    return [this.viewport.x + (e.clientX - box.left) / box.width / this.viewport.zoom,
      this.viewport.y + (e.clientY - box.top) / box.height / this.viewport.zoom];
  }

  // zoom scales the map by a factor. The given point stays in place.
  zoom(by, [x, y]) {
    const {viewport} = this, was = viewport.zoom;
    viewport.zoom = Math.max(1, Math.min(40, was * by));
    this.look(x - ((x - viewport.x) * was) / viewport.zoom, y - ((y - viewport.y) * was) / viewport.zoom);
  }

  // look moves the visible part of the map to a corner, as far as the map goes.
  look(x, y) {
    const {viewport} = this, most = 1 - 1 / viewport.zoom;
    Object.assign(viewport, {x: Math.max(0, Math.min(most, x)), y: Math.max(0, Math.min(most, y))});
    this.tip.hidden = true;
    this.drawSoon(true);
  }

  // drawSoon draws the lasso over the points, once in a frame; first the points again, if they have moved.
  drawSoon(moved) {
    this.moved ||= moved;
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      if (this.moved) this.paint(); else this.drawOver();
    });
  }

  // draw shows what has changed of the labels. What a point looks like is kept, so that moving the map asks nothing
  // about labels.
  draw() {
    const {places, on} = this;
    if (!places) return;
    this.colourGroups(matchMedia('(prefers-color-scheme: dark)').matches);
    this.points ??= {look: new Uint8Array(places.n), group: new Int32Array(places.n), colour: new Uint32Array(places.n)};
    const {look, group, colour} = this.points, none = this.words.get(-1);
    let most = -1;
    for (let i = 0; i < places.n; i++) {
      const g = on.group(i);
      group[i] = g;
      most = Math.max(most, g);
      look[i] = this.hides(i) ? hiddenPoint : on.isMarked(i) ? markedPoint : on.decided(i) ? discPoint : ringPoint;
      colour[i] = this.words.get(g) ?? none;
    }
    this.middle = new Float64Array(3 * (most + 1)); // of the visible labels of each group: the number, and the sums of x and y
    this.paint();
  }

  // paint draws the points and the names into a layer of their own, and the lasso over them.
  paint() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    if (!this.places || box.width < 10) return;
    this.moved = false;
    const scale = window.devicePixelRatio || 1, w = Math.floor(box.width * scale), hgt = Math.floor(box.height * scale);
    this.layer ??= document.createElement('canvas');
    for (const e of [this.layer, this.canvas]) if (e.width !== w || e.height !== hgt) Object.assign(e, {width: w, height: hgt});
    const c = this.layer.getContext('2d');
    this.draws = (this.draws || 0) + 1;
    this.canvas.dataset.draws = this.draws;
    this.drawPoints(c, w, hgt, scale);
    this.drawNames(c, {w, hgt, scale, style: getComputedStyle(document.documentElement)});
    this.drawOver();
  }

  // drawPoints writes the points into the pixels of the layer, each as a disc or a ring that is made once: as paths,
  // 57,000 points would take a fifth of a second.
  drawPoints(c, w, hgt, scale) {
    const {viewport, middle} = this, {n, x: xs, y: ys} = this.places;
    const {look, group, colour} = this.points, size = (n > 8000 ? 1.3 : 2.6) * scale;
    const margin = Math.ceil(2 * size) + 1, wide = w + 2 * margin, high = hgt + 2 * margin; // a point may reach over the edge
    if (this.image?.width !== wide || this.image.height !== high) this.image = c.createImageData(wide, high);
    const pixels = new Uint32Array(this.image.data.buffer);
    const stamps = {[discPoint]: stamp(0, size, wide), [ringPoint]: stamp(size - scale / 2, size + scale / 2, wide)};
    const large = stamp(0, 2 * size, wide), mark = this.words.get('mark'), marked = [];
    const kx = viewport.zoom * w, ky = viewport.zoom * hgt;
    pixels.fill(0);
    middle.fill(0);
    for (let i = 0; i < n; i++) {
      const x = (xs[i] - viewport.x) * kx, y = (ys[i] - viewport.y) * ky, kind = look[i];
      if (x < 0 || x > w || y < 0 || y > hgt || kind === hiddenPoint) continue;
      const m = 3 * group[i];
      if (m >= 0) { middle[m]++; middle[m + 1] += x; middle[m + 2] += y; }
      const at = (Math.round(y) + margin) * wide + Math.round(x) + margin;
      if (kind === markedPoint) marked.push(at); else put(pixels, at, stamps[kind], colour[i]);
    }
    for (const at of marked) put(pixels, at, large, mark);
    c.putImageData(this.image, -margin, -margin);
  }

  // hides tells whether a label is left out: a decided one, if only open ones are shown.
  hides(i) { return this.only.checked && !!this.on.decided(i); }

  // sizes counts the labels that are shown in each group.
  sizes() {
    const n = new Map();
    for (let i = 0; i < this.places.n; i++) if (!this.hides(i)) n.set(this.on.group(i), (n.get(this.on.group(i)) || 0) + 1);
    n.delete(-1);
    return n;
  }

  // inOrder sorts groups: those that somebody declared first, then the largest.
  inOrder(groups, size) { return groups.sort((a, b) => !!this.on.declared(b) - !!this.on.declared(a) || size(b) - size(a)); }

  // colourGroups gives the largest groups a colour each, and writes the legend. The other groups are grey.
  colourGroups(dark) {
    const n = this.sizes(), first = this.inOrder([...n.keys()], (g) => n.get(g)).slice(0, colours.length);
    this.colour = new Map(first.map((g, k) => [g, colours[k][dark ? 1 : 0]]));
    const style = getComputedStyle(document.documentElement);
    const others = [[-1, '--edge'], ['mark', '--mark']].map(([g, name]) => [g, style.getPropertyValue(name)]);
    this.words = new Map([...this.colour, ...others].map(([g, text]) => [g, word(text)]));
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
  drawNames(c, {w, hgt, scale, style}) {
    const high = 15 * scale, taken = [], {middle} = this, groups = [];
    for (let g = 0; 3 * g < middle.length; g++) if (middle[3 * g]) groups.push(g);
    c.font = `600 ${12 * scale}px system-ui, sans-serif`;
    c.textBaseline = 'middle';
    c.lineJoin = 'round';
    for (const g of this.inOrder(groups, (g) => middle[3 * g]).slice(0, mostNames)) {
      const [n, x, y] = middle.subarray(3 * g, 3 * g + 3);
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
    const {n, x: xs, y: ys} = this.places;
    let best = -1, near = 0.0004 / viewport.zoom ** 2;
    for (let i = 0; i < n; i++) {
      const d = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (d < near && !this.hides(i)) { near = d; best = i; }
    }
    this.tip.hidden = best < 0;
    if (best < 0) return;
    const a = xs[best], b = ys[best], g = this.on.group(best);
    this.tip.textContent = `${shown(this.on.name(best))} · ${g < 0 ? 'no group' : shown(this.on.groupName(g))}`;
    const box = this.canvas.parentElement, left = (a - viewport.x) * viewport.zoom * box.clientWidth, top = (b - viewport.y) * viewport.zoom * box.clientHeight;
    this.tip.style.left = `${Math.max(4, Math.min(left + 10, box.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${top > box.clientHeight - 44 ? top - 38 : top + 10}px`;
  }

  take(inside, more) {
    const tags = [], {n, x, y} = this.places;
    for (let i = 0; i < n; i++) if (inside(x[i], y[i]) && !this.hides(i)) tags.push(i);
    this.on.marked(tags, more); // which draws the map
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
    const {viewport: v} = this, side = 1 / v.zoom; // the view follows the circle
    if (c.x < v.x || c.x > v.x + side || c.y < v.y || c.y > v.y + side) this.look(c.x - side / 2, c.y - side / 2); else this.drawSoon();
  }
}
