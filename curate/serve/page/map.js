import {h, fill, count, key, shown} from './dom.js';

// PlaneMap draws all labels where their vectors put them. Points are marked with a
// lasso drawn by the pointer, or from the keyboard with a circle that the arrows
// move and + and − resize.
export class PlaneMap {
  // on: {marked(tags, more), group(tag) -> number, isMarked(tag), decided(tag), name(tag), tell(text)}
  constructor(root, on) {
    this.on = on;
    this.places = null;
    this.circle = {x: 0.5, y: 0.5, r: 0.05};
    this.canvas = h('canvas', {tabIndex: 0, role: 'application', 'aria-label': 'Map of the labels. Arrows move the circle, plus and minus resize it, space marks what is inside.'});
    this.note = h('p', {class: 'soft', role: 'status'}, 'placing the labels…');
    fill(root, h('p', {class: 'keys'}, 'Draw around labels to mark them, or ', key('↑'), key('↓'), key('←'), key('→'), ' move the circle, ', key('+'), key('−'), ' resize it, ', key('Space'), ' mark inside, then ', key('m'), ' move. '),
      this.note, h('div', {class: 'canvasbox'}, this.canvas));
    this.canvas.addEventListener('pointerdown', (e) => { this.path = [this.at(e)]; this.canvas.setPointerCapture(e.pointerId); });
    this.canvas.addEventListener('pointermove', (e) => { if (this.path) { this.path.push(this.at(e)); this.draw(); } else this.hover(this.at(e)); });
    this.canvas.addEventListener('pointerup', (e) => { const path = this.path; this.path = null; if (path && path.length > 2) this.lasso(path, e.shiftKey); this.draw(); });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
  }

  set(places) {
    this.places = places;
    this.note.textContent = `${count(places.length, 'label')}; colours are groups, filled points are decided.`;
    this.draw();
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect();
    return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height];
  }

  draw() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    if (!this.places || box.width < 10) return;
    const scale = window.devicePixelRatio || 1;
    const w = this.canvas.width = box.width * scale, hgt = this.canvas.height = box.height * scale;
    const c = this.canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const size = (this.places.length > 8000 ? 1.3 : 2.6) * scale;
    c.clearRect(0, 0, w, hgt);
    for (let i = 0; i < this.places.length; i++) {
      const [x, y] = this.places[i];
      const hue = (this.on.group(i) * 137.508) % 360;
      c.beginPath();
      c.arc(x * w, y * hgt, this.on.isMarked(i) ? 2 * size : size, 0, 7);
      if (this.on.isMarked(i)) { c.fillStyle = style.getPropertyValue('--mark'); c.fill(); continue; }
      const colour = this.on.group(i) < 0 ? style.getPropertyValue('--line') : `hsl(${hue} 62% ${dark ? 66 : 42}%)`;
      if (this.on.decided(i)) { c.fillStyle = colour; c.fill(); } else { c.strokeStyle = colour; c.lineWidth = scale; c.stroke(); }
    }
    c.strokeStyle = style.getPropertyValue('--mark');
    c.lineWidth = 2 * scale;
    c.beginPath();
    if (this.path) this.path.forEach(([x, y], k) => (k ? c.lineTo(x * w, y * hgt) : c.moveTo(x * w, y * hgt)));
    else c.ellipse(this.circle.x * w, this.circle.y * hgt, this.circle.r * w, this.circle.r * w, 0, 0, 7);
    c.stroke();
  }

  hover([x, y]) {
    if (!this.places) return;
    let best = -1, near = 0.0004;
    this.places.forEach(([a, b], i) => { const d = (a - x) ** 2 + (b - y) ** 2; if (d < near) { near = d; best = i; } });
    this.canvas.title = best < 0 ? '' : shown(this.on.name(best));
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
    this.places.forEach(([x, y], i) => { if (inside(x, y)) tags.push(i); });
    this.on.marked(tags, more);
    this.draw();
  }

  key(e) {
    const step = e.shiftKey ? 0.005 : 0.02, c = this.circle;
    const box = this.canvas.getBoundingClientRect();
    switch (e.key) {
      case 'ArrowLeft': c.x = Math.max(0, c.x - step); break;
      case 'ArrowRight': c.x = Math.min(1, c.x + step); break;
      case 'ArrowUp': c.y = Math.max(0, c.y - step); break;
      case 'ArrowDown': c.y = Math.min(1, c.y + step); break;
      case '+': case '=': c.r = Math.min(0.5, c.r * 1.25); break;
      case '-': c.r = Math.max(0.005, c.r / 1.25); break;
      case ' ': if (this.places) this.take((x, y) => (x - c.x) ** 2 + ((y - c.y) * box.height / box.width) ** 2 < c.r ** 2, true); break;
      default: return;
    }
    e.preventDefault();
    e.stopPropagation();
    this.draw();
  }
}
