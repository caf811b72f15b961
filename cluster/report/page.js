"use strict";
(() => {
const { tags, clusters, light, dark, images } = JSON.parse(document.getElementById("data").textContent);
const n = tags.name.length;
const byId = (id) => document.getElementById(id);
const canvas = byId("map"), paper = canvas.getContext("2d"), tip = byId("tip");
const outlier = new Uint8Array(n);
for (const i of tags.outlier) outlier[i] = 1;

// state
let scale = 1, left = 0, top_ = 0, fitted = 1; // screen = world * scale + offset
let all = true, aim = null; // the whole map is shown, or these tags: so it stays when the window changes
let width = 0, height = 0;
let hover = -1, current = -1, open = -1;
let found = null; // matches of the search, or null
let colors = light, look = null;
const show = { names: true, odd: false };

// text of all kinds goes through here: nothing of the data is ever markup
function el(name, properties, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}
const number = new Intl.NumberFormat("en");
const many = (k, what) => `${number.format(k)} ${what}${k === 1 ? "" : "s"}`;
function key(cluster) {
  const k = el("span", { className: "key" });
  k.style.background = colors[clusters[cluster].color];
  return k;
}
function use(landmarks, count) {
  return many(landmarks, "landmark") + (images ? ", " + many(count, "image") : "");
}
function about(i) {
  return `distance ${tags.distance[i].toFixed(3)}${outlier[i] ? ", outlier" : ""}; ${use(tags.landmarks[i], tags.imageCount[i])}`;
}

// where things are
const cells = 64, grid = new Map();
const cellOf = (v) => Math.max(0, Math.min(cells - 1, Math.floor(v / 1000 * cells)));
for (let i = 0; i < n; i++) {
  const at = cellOf(tags.x[i]) * cells + cellOf(tags.y[i]);
  if (!grid.has(at)) grid.set(at, []);
  grid.get(at).push(i);
}
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const centre = clusters.map((c) => [median(c.members.map((i) => tags.x[i])), median(c.members.map((i) => tags.y[i]))]);
const byUse = clusters.map((_, i) => i).sort((a, b) => clusters[b].landmarks - clusters[a].landmarks || a - b);
const sx = (i) => tags.x[i] * scale + left, sy = (i) => tags.y[i] * scale + top_;
const grow = () => Math.min(2.4, Math.max(0.8, Math.pow(scale / fitted, 0.35)));
const base = tags.landmarks.map((k) => 1.6 + 0.5 * Math.log2(1 + k));
let growth = 1; // of this frame
const radius = (i) => base[i] * growth;
const shown = (i) => !show.odd || outlier[i] === 1;

function nearest(px, py, reach) {
  const wx = (px - left) / scale, wy = (py - top_) / scale, r = reach / scale;
  let best = -1, least = reach * reach;
  for (let cx = cellOf(wx - r); cx <= cellOf(wx + r); cx++) {
    for (let cy = cellOf(wy - r); cy <= cellOf(wy + r); cy++) {
      for (const i of grid.get(cx * cells + cy) || []) {
        if (!shown(i)) continue;
        const d = (sx(i) - px) ** 2 + (sy(i) - py) ** 2;
        if (d < least) { least = d; best = i; }
      }
    }
  }
  return best;
}

// drawing
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}
// Marks and names are drawn once for each look and then copied: thousands of copies
// cost less than thousands of outlines.
let marks = [], written = new Map();
function picture(w, h, fill) {
  const c = el("canvas", { width: Math.ceil(w * devicePixelRatio), height: Math.ceil(h * devicePixelRatio) }), p = c.getContext("2d");
  p.scale(devicePixelRatio, devicePixelRatio);
  p.translate(w / 2, h / 2);
  fill(p);
  return { c, w, h };
}
function mark(i, colour, r) {
  const size = Math.max(1, Math.round(2 * r)), at = 2 * size + outlier[i], of = marks[colour + 1] ||= [];
  const m = of[at] ||= picture(2 * Math.ceil(size * 0.65 + 1), 2 * Math.ceil(size * 0.65 + 1), (p) => {
    const half = size / 2;
    p.fillStyle = colour < 0 ? look.soft : colors[colour];
    p.beginPath();
    if (outlier[i]) {
      p.moveTo(0, -half * 1.25);
      p.lineTo(half * 1.15, half * 0.85);
      p.lineTo(-half * 1.15, half * 0.85);
    } else p.arc(0, 0, half, 0, 2 * Math.PI);
    p.fill();
  });
  paper.drawImage(m.c, sx(i) - m.w / 2, sy(i) - m.h / 2, m.w, m.h);
}
const visible = (i) => { const x = sx(i), y = sy(i); return x > -20 && y > -20 && x < width + 20 && y < height + 20; };
function ring(i, colour, wide) {
  paper.beginPath();
  paper.arc(sx(i), sy(i), radius(i) + 3, 0, 2 * Math.PI);
  paper.strokeStyle = colour;
  paper.lineWidth = wide;
  paper.stroke();
}
function draw() {
  paper.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  paper.clearRect(0, 0, width, height);
  growth = grow();
  const faint = [], full = [];
  let seen = 0;
  for (let i = 0; i < n; i++) {
    if (!shown(i) || !visible(i)) continue;
    seen++;
    (open >= 0 && tags.cluster[i] !== open || found && !found.has(i) ? faint : full).push(i);
  }
  paper.globalAlpha = 0.28;
  for (const i of faint) mark(i, -1, radius(i) * 0.75);
  paper.globalAlpha = 0.86;
  for (const i of full) mark(i, clusters[tags.cluster[i]].color, radius(i));
  paper.globalAlpha = 1;
  if (hover >= 0) ring(hover, look.ink, 2);
  if (current >= 0) ring(current, look.accent, 3);
  if (show.names) names(seen);
}
// names draws those of clusters, most used first, where there is room; from close
// by those of tags.
function names(seen) {
  const taken = [];
  const write = (text, x, y, size, weight) => {
    const name = `${weight} ${size} ${text}`;
    let m = written.get(name);
    if (!m) {
      const font = `${weight} ${size}px system-ui, "Liberation Sans", sans-serif`, short = text.length > 32 ? text.slice(0, 31) + "…" : text;
      paper.font = font;
      m = picture(paper.measureText(short).width + 8, size + 8, (p) => {
        Object.assign(p, { font, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4, strokeStyle: look.panel, fillStyle: look.ink });
        p.strokeText(short, 0, 0);
        p.fillText(short, 0, 0);
      });
      if (written.size > 4000) written.clear();
      written.set(name, m);
    }
    const w = m.w / 2, h = m.h / 2;
    if (x + w < 0 || x - w > width || y + h < 0 || y - h > height) return;
    if (taken.some((b) => Math.abs(b[0] - x) < b[2] + w && Math.abs(b[1] - y) < b[3] + h)) return;
    taken.push([x, y, w, h]);
    paper.drawImage(m.c, x - w, y - h, m.w, m.h);
  };
  if (open >= 0) write(clusters[open].name, centre[open][0] * scale + left, centre[open][1] * scale + top_, 15, 700);
  if (seen <= 150 || open >= 0) {
    const list = open >= 0 ? clusters[open].members : [...Array(n).keys()];
    for (const i of list) if (shown(i) && visible(i) && (!found || found.has(i))) write(tags.name[i], sx(i), sy(i) - radius(i) - 9, 12, 400);
  }
  if (open < 0 && !show.odd) {
    const some = found ? new Set([...found].map((i) => tags.cluster[i])) : null;
    for (const c of byUse) if (!some || some.has(c)) write(clusters[c].name, centre[c][0] * scale + left, centre[c][1] * scale + top_, 13, 600);
  }
}

// moving
const range = (list) => list.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
const whole = [range(tags.x), range(tags.y)];
function fit() {
  const [[x0, x1], [y0, y1]] = whole;
  all = true;
  aim = null;
  fitted = scale = Math.max(0.05, Math.min((width - 80) / Math.max(x1 - x0, 1), (height - 50) / Math.max(y1 - y0, 1)));
  left = width / 2 - (x0 + x1) / 2 * scale;
  top_ = height / 2 - (y0 + y1) / 2 * scale;
  redraw();
}
function zoom(by, px = width / 2, py = height / 2) {
  const to = Math.max(fitted * 0.6, Math.min(fitted * 60, scale * by));
  left = px - (px - left) * to / scale;
  top_ = py - (py - top_) * to / scale;
  scale = to;
  all = false;
  aim = null;
  hide();
  redraw();
}
function pan(dx, dy) { left += dx; top_ += dy; all = false; aim = null; hide(); redraw(); }
function reveal(list) {
  const [x0, x1] = range(list.map((i) => tags.x[i])), [y0, y1] = range(list.map((i) => tags.y[i]));
  const room = Math.min((width - 120) / Math.max(x1 - x0, 30), (height - 100) / Math.max(y1 - y0, 30));
  scale = Math.max(fitted, Math.min(room, fitted * 8));
  all = false;
  aim = list;
  left = width / 2 - (x0 + x1) / 2 * scale;
  top_ = height / 2 - (y0 + y1) / 2 * scale;
  redraw();
}
function intoView(i) {
  const x = sx(i), y = sy(i), edge = 40;
  if (x < edge || x > width - edge) { left += width / 2 - x; all = false; aim = null; }
  if (y < edge || y > height - edge) { top_ += height / 2 - y; all = false; aim = null; }
}

// choosing
function hide() { tip.hidden = true; hover = -1; }
function showTip(i) {
  const c = tags.cluster[i];
  tip.replaceChildren(el("strong", {}, tags.name[i]), tags.qid[i] ? ` ${tags.qid[i]}` : "", el("br"), key(c), ` ${clusters[c].name}`, el("br"), about(i));
  tip.hidden = false;
  const x = sx(i), y = sy(i);
  tip.style.left = Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > height ? Math.max(4, y - 14 - tip.offsetHeight) : y + 14) + "px";
}
function choose(i, quiet) {
  current = i;
  if (i >= 0) {
    intoView(i);
    showTip(i);
    if (!quiet) byId("said").textContent = `${tags.name[i]}; cluster ${clusters[tags.cluster[i]].name}; ${about(i)}`;
  } else hide();
  for (const e of document.querySelectorAll("[data-tag]")) {
    const here = Number(e.dataset.tag) === i;
    if (here) e.setAttribute("aria-current", "true"); else e.removeAttribute("aria-current");
    if (here && e.closest("#detail") && document.activeElement === canvas) e.scrollIntoView({ block: "nearest" });
  }
  redraw();
}
function openCluster(c, options = {}) {
  open = c;
  detail();
  for (const tr of byId("clusters").tBodies[0].rows) {
    const b = tr.querySelector("button");
    if (Number(tr.dataset.cluster) === c) b.setAttribute("aria-current", "true"); else b.removeAttribute("aria-current");
  }
  history.replaceState(null, "", c >= 0 ? `#cluster-${clusters[c].id}` : "#");
  if (c >= 0) {
    byId("said").textContent = `cluster ${clusters[c].name}, ${many(clusters[c].members.length, "tag")}`;
    if (options.reveal) reveal(clusters[c].members);
    if (options.focus) byId("detail").focus();
  }
  redraw();
}
function tagRow(i, go) {
  const b = el("button", { type: "button", className: "row" }, key(tags.cluster[i]), el("span", { className: "name" }, tags.name[i]),
    el("span", { className: "figure", title: "landmarks" }, number.format(tags.landmarks[i])),
    el("span", { className: "figure", title: "distance to the centroid" }, tags.distance[i].toFixed(3)));
  b.dataset.tag = i;
  b.addEventListener("click", () => go(i));
  b.addEventListener("mouseenter", () => { hover = i; redraw(); });
  return b;
}
function clusterRow(c) {
  const b = el("button", { type: "button", className: "row" }, key(c), el("span", { className: "name" }, clusters[c].name),
    el("span", { className: "figure" }, many(clusters[c].members.length, "tag")));
  b.addEventListener("click", () => openCluster(c, { reveal: true, focus: true }));
  return b;
}
function detail() {
  const box = byId("detail");
  box.replaceChildren();
  if (open < 0) {
    box.append(el("h3", {}, "Most used clusters"),
      el("p", { className: "soft small" }, "Choose a cluster here, in the list below, or a tag on the map."),
      ...byUse.slice(0, 40).map(clusterRow));
    return;
  }
  const c = clusters[open], close = el("button", { type: "button" }, "Close");
  close.addEventListener("click", () => { openCluster(-1); canvas.focus(); });
  box.append(el("div", { className: "head" }, el("h3", {}, key(open), " ", c.name), close),
    el("p", { className: "soft small" },
      `${many(c.members.length, "tag")}, ${use(c.landmarks, c.images)}${c.known ? "; a group of the earlier curation" : ""}`));
  if (c.nearest.length) {
    const near = el("div", { className: "near" });
    for (const k of c.nearest) {
      const b = el("button", { type: "button" }, key(k), clusters[k].name);
      b.addEventListener("click", () => openCluster(k, { reveal: true, focus: true }));
      near.append(b);
    }
    box.append(el("p", { className: "small" }, "Nearest clusters"), near);
  }
  box.append(el("p", { className: "soft small" }, "Tags by distance to the centroid: landmarks, distance"));
  const inner = c.members.filter((i) => !outlier[i]), outer = c.members.filter((i) => outlier[i]);
  for (const i of inner) box.append(tagRow(i, choose));
  if (outer.length) box.append(el("p", { className: "break" }, many(outer.length, "outlier")));
  for (const i of outer) box.append(tagRow(i, choose));
}

// search
const folded = tags.name.map((t) => t.toLowerCase());
let timer = 0;
function search() {
  const text = byId("search").value.trim().toLowerCase(), box = byId("found");
  box.replaceChildren();
  found = null;
  if (text) {
    const hits = [];
    for (let i = 0; i < n; i++) if (folded[i].includes(text)) hits.push(i);
    hits.sort((a, b) => folded[b].startsWith(text) - folded[a].startsWith(text) || tags.landmarks[b] - tags.landmarks[a]);
    const groups = byUse.filter((c) => clusters[c].name.toLowerCase().includes(text));
    found = new Set(hits);
    for (const c of groups) for (const i of clusters[c].members) found.add(i);
    const said = `${many(hits.length, "tag")}, ${many(groups.length, "cluster")}`;
    box.append(el("p", { className: "soft small" }, said));
    byId("said").textContent = said;
    box.append(...groups.slice(0, 8).map(clusterRow));
    for (const i of hits.slice(0, 60)) box.append(tagRow(i, (k) => { openCluster(tags.cluster[k], { reveal: true }); choose(k); }));
    if (hits.length > 60) box.append(el("p", { className: "soft small" }, `and ${hits.length - 60} more`));
  }
  redraw();
}
byId("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 80); });
byId("search").addEventListener("keydown", (e) => {
  if (e.key === "Escape") { e.target.value = ""; search(); }
  if (e.key === "Enter") { clearTimeout(timer); search(); byId("found").querySelector("button")?.click(); }
});

// the list of clusters
const spread = clusters.map((c) => c.members.reduce((s, i) => s + tags.distance[i], 0) / c.members.length);
const columns = [
  ["cluster", (c) => clusters[c].name, true], ["tags", (c) => clusters[c].members.length], ["landmarks", (c) => clusters[c].landmarks],
  ...(images ? [["images", (c) => clusters[c].images]] : []), ["outliers", (c) => clusters[c].outliers],
  ["mean distance", (c) => spread[c]], ["nearest", (c) => clusters[c].nearest.slice(0, 3).map((k) => clusters[k].name).join(" · "), true],
];
let sorted = 2, down = true;
function list() {
  const table = byId("clusters"), value = columns[sorted][1];
  const order = clusters.map((_, i) => i).sort((a, b) => {
    const x = value(a), y = value(b), d = typeof x === "string" ? x.localeCompare(y) : x - y;
    return (down ? -d : d) || a - b;
  });
  table.tHead.rows[0].replaceChildren(...columns.map(([name, , text], i) => {
    const b = el("button", { type: "button" }, name);
    b.addEventListener("click", () => { down = i === sorted ? !down : !text; sorted = i; list(); table.tHead.rows[0].cells[i].firstChild.focus(); });
    const th = el("th", { scope: "col", className: text ? "text" : "" }, b);
    if (i === sorted) th.setAttribute("aria-sort", down ? "descending" : "ascending");
    return th;
  }));
  table.tBodies[0].replaceChildren(...order.map((c) => {
    const tr = el("tr");
    tr.dataset.cluster = c;
    const b = el("button", { type: "button", className: "row" }, key(c), el("span", { className: "name" }, clusters[c].name));
    if (c === open) b.setAttribute("aria-current", "true");
    b.addEventListener("click", () => { openCluster(c, { reveal: true, focus: true }); byId("h-map").scrollIntoView({ block: "start" }); });
    tr.append(el("td", { className: "text" }, b), ...columns.slice(1).map(([name, of, text]) =>
      el("td", { className: text ? "text soft" : "" }, text ? of(c) : name === "mean distance" ? of(c).toFixed(3) : number.format(of(c)))));
    return tr;
  }));
}

// pointer
const held = new Map();
let moved = 0, apart = 0;
const place = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
canvas.addEventListener("pointerdown", (e) => {
  canvas.setPointerCapture(e.pointerId);
  held.set(e.pointerId, place(e));
  moved = apart = 0;
  canvas.classList.add("held");
});
canvas.addEventListener("pointermove", (e) => {
  const [x, y] = place(e), before = held.get(e.pointerId);
  if (!before) {
    const i = nearest(x, y, 14);
    if (i !== hover) { hover = i; if (i >= 0) showTip(i); else if (current >= 0) showTip(current); else tip.hidden = true; redraw(); }
    return;
  }
  held.set(e.pointerId, [x, y]);
  moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
  if (held.size === 2) {
    const [a, b] = [...held.values()], d = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (apart) zoom(d / apart, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    apart = d;
  } else if (moved > 4) pan(x - before[0], y - before[1]);
});
function release(e) {
  if (!held.delete(e.pointerId)) return;
  apart = 0;
  if (!held.size) canvas.classList.remove("held");
  if (e.type === "pointerup" && moved <= 4) {
    const i = nearest(...place(e), 14);
    if (i >= 0) openCluster(tags.cluster[i]);
    choose(i);
  }
}
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => { hover = -1; if (current < 0) tip.hidden = true; redraw(); });
canvas.addEventListener("wheel", (e) => {
  if (document.activeElement !== canvas && !e.ctrlKey) return; // the page scrolls
  e.preventDefault();
  zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0016)), ...place(e));
}, { passive: false });

// keys
function step(dx, dy) {
  const from = current >= 0 ? [sx(current), sy(current)] : [width / 2, height / 2];
  let best = -1, least = Infinity;
  for (let i = 0; i < n; i++) {
    if (i === current || !shown(i) || found && !found.has(i)) continue;
    const x = sx(i) - from[0], y = sy(i) - from[1], along = x * dx + y * dy, across = Math.abs(x * dy - y * dx);
    if (along <= 0 || across > 2 * along) continue;
    const d = along + 2 * across;
    if (d < least) { least = d; best = i; }
  }
  if (best >= 0) choose(best);
}
function neighbour(by) {
  if (current < 0) return;
  const list = clusters[tags.cluster[current]].members, at = list.indexOf(current);
  choose(list[(at + by + list.length) % list.length]);
}
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
canvas.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const arrow = arrows[e.key];
  const act = arrow ? () => e.shiftKey ? pan(-60 * arrow[0], -60 * arrow[1]) : step(...arrow) : {
    "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": fit, n: () => neighbour(1), p: () => neighbour(-1),
    Enter: () => { if (current >= 0) openCluster(tags.cluster[current]); }, Escape: () => { openCluster(-1); choose(-1); },
  }[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});
byId("zoom-in").addEventListener("click", () => zoom(1.5));
byId("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
byId("whole").addEventListener("click", fit);
for (const name of ["names", "odd"]) byId(name).addEventListener("change", (e) => { show[name] = e.target.checked; hide(); redraw(); });

// beginning
function paint() {
  const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
  look = { ink: of("--ink"), soft: of("--soft"), panel: of("--panel"), accent: of("--accent") };
  marks = [];
  written = new Map();
  colors = matchMedia("(prefers-color-scheme: dark)").matches ? dark : light;
  list();
  detail();
  redraw();
}
new ResizeObserver(() => {
  const first = width === 0, r = canvas.getBoundingClientRect();
  if (r.width === 0 || r.height === 0) return; // not laid out yet
  left += (r.width - width) / 2;
  top_ += (r.height - height) / 2;
  width = r.width;
  height = r.height;
  marks = [];
  written = new Map();
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  if (all) fit();
  else if (aim) { const shown = aim; fit(); reveal(shown); }
  if (first) linked();
  redraw();
}).observe(canvas);
function linked() {
  const m = location.hash.match(/^#cluster-(\d+)$/), c = m ? clusters.findIndex((k) => k.id === Number(m[1])) : -1;
  if (c >= 0 && c !== open) openCluster(c, { reveal: true });
}
addEventListener("hashchange", linked);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
paint();
document.body.dataset.ready = "yes";
})();
