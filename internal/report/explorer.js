import {byId, h, fill, count, key, number, shown, write} from './dom.js';
import {VirtualScroll} from './virtualscroll.js';
import {PlaneMap} from './map.js';

// The page of an evaluation as a tool: the queries as a list that is filtered and sorted, each with what it retrieves;
// a picture that opens large, with its file; a map of the queries with a lasso; and a list of items whose labels
// somebody suspects, which is saved as CSV.
const data = JSON.parse(byId('data').textContent);
const {items, queries, models, levels} = data;
const last = models.length - 1, tall = 122, wide = 104;
const suspects = new Set(), chosen = {on: null}; // chosen.on: the queries inside the lasso; null: all
let lines = [], at = {line: 0, place: 0};

const className = (level, c) => (c >= 0 ? data.classes[level][c] : '–');
const percent = (v) => (v === null || v === undefined ? '–' : (100 * v).toFixed(2));
const frame = (n) => (n < 0 ? 'plain' : `l${n === levels.length ? 3 : n === 0 ? 0 : 2 * n > levels.length ? 2 : 1}`);
const grade = (n) => (data.judged ? (n ? levels[levels.length - n] : 'not relevant') : `${n} of ${count(levels.length, 'level')}`);
const sharing = (n) => (n < 0 ? '' : `, ${grade(n)}${data.judged ? '' : ' shared'}`);
const title = (item) => (data.judged ? item.id : className(0, item.classes[0]));
const own = (q) => items[queries[q].item];
const entry = ({q, m}, place) => items[place ? queries[q].found[m][place - 1] : queries[q].item];
const places = ({q, m}) => queries[q].found[m].length;
const change = (q) => { const [a, b] = queries[q].value; return a === null || b === null ? 0 : b - a; };
const folded = queries.map((_, q) => [own(q).id, own(q).path || '', ...own(q).classes.map((c, l) => className(l, c))].join('\n').toLowerCase());

// right tells whether a place of a query's ranking shares the query's class at a level.
const right = (q, place, level) => (queries[q].shared[last][place] ?? 0) >= levels.length - level;
const noneRight = (q, level) => !queries[q].shared[last].some((_, place) => right(q, place, level));

const known = queries.some((query) => query.shared[last].some((n) => n >= 0)); // what is right
const kinds = [['all', 'all queries', () => true], ...(known ? [['wrong', 'first place is wrong', (q, l) => !right(q, 0, l)],
  ['none', 'no place is right', noneRight], ['right', 'first place is right', (q, l) => right(q, 0, l)]] : []),
  ...(last ? [['better', `better in ${models[1]}`, (q) => change(q) > 0], ['worse', `worse in ${models[1]}`, (q) => change(q) < 0]] : [])];
const worst = (a, b) => (queries[a].value[last] ?? 2) - (queries[b].value[last] ?? 2) || a - b;
const orders = [...(last ? [['lost', 'lost most first', (a, b) => change(a) - change(b) || a - b],
  ['gained', 'gained most first', (a, b) => change(b) - change(a) || a - b]] : []),
['worst', 'worst first', worst], ['best', 'best first', (a, b) => worst(b, a)], ['file', 'as in the data', (a, b) => a - b]];

const menu = (id, label, options) => h('label', {}, label, ' ',
  h('select', {id, onchange: refresh}, options.map(([value, text]) => h('option', {value}, text))));
const splits = [...new Set(queries.map((_, q) => own(q).split || ''))].filter(Boolean);
fill(byId('filters'),
  h('label', {}, 'Search ', h('input', {id: 'search', type: 'search', autocomplete: 'off', spellcheck: false, oninput: refresh})),
  menu('order', 'Order', orders), menu('kind', 'Show', kinds), menu('level', 'Level', levels.map((name, l) => [l, shown(name)])),
  h('label', {hidden: data.judged}, 'Class ', h('input', {id: 'class', autocomplete: 'off', spellcheck: false, oninput: refresh}),
    h('datalist', {id: 'classes'})),
  splits.length > 1 ? menu('split', 'Split', [['', 'all'], ...splits.map((s) => [s, s])]) : null,
  h('label', {}, h('input', {id: 'only', type: 'checkbox', onchange: refresh}), ' only suspected'),
  h('button', {type: 'button', id: 'everywhere', hidden: true, onclick: () => { chosen.on = null; refresh(); }}, 'Clear the selection of the map'),
  h('button', {type: 'button', id: 'save', onclick: save}, 'Save the suspected labels'));
byId('class').setAttribute('list', 'classes');
fill(byId('help'), 'Keys in the list: ', key('↑'), key('↓'), ' next query, ', key('←'), key('→'), ' next place, ', key('Enter'), ' enlarges, ',
  key('x'), ' suspects the label of the image; ', key('/'), ' searches.');

const grid = byId('queries');
const list = new VirtualScroll(grid, draw);

// ordered returns all queries in an order, sorted once.
const sequences = new Map();
function ordered(name) {
  if (!sequences.has(name)) sequences.set(name, [...queries.keys()].sort(orders.find(([value]) => value === name)[2]));
  return sequences.get(name);
}

// refresh lists the queries that the filters leave. While a search only grows, it looks at those that the shorter text
// left; and the map, on which a search changes nothing, is drawn again only if it shows something else.
let former = {text: '', filters: [], left: [], drawn: []};
const equal = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
function refresh() {
  const text = byId('search').value.trim().toLowerCase(), level = Number(byId('level').value), split = byId('split')?.value;
  const order = byId('order').value, shows = byId('kind').value, names = byId('class').value, only = byId('only').checked;
  const kind = kinds.find(([value]) => value === shows)[2], c = names ? data.classes[level].indexOf(names) : -1;
  const filters = [order, shows, level, split, c, only, chosen.on], drawn = [level, chosen.on];
  const grown = !only && text.startsWith(former.text) && equal(filters, former.filters);
  const left = (grown ? former.left : ordered(order)).filter((q) => {
    if (text && !folded[q].includes(text)) return false;
    if (grown) return true; // the other filters have left it
    if (split && own(q).split !== split || c >= 0 && own(q).classes[level] !== c) return false;
    if (chosen.on && !chosen.on.has(q) || !kind(q, level)) return false;
    return !only || [queries[q].item, ...queries[q].found.flat()].some((i) => suspects.has(i));
  });
  lines = left.flatMap((q) => models.map((_, m) => ({q, m})));
  at = {line: 0, place: 0};
  if (byId('classes').dataset.level !== String(level)) {
    byId('classes').dataset.level = level;
    fill(byId('classes'), [...data.classes[level]].sort().slice(0, 2000).map((value) => h('option', {value})));
  }
  byId('everywhere').hidden = !chosen.on;
  grid.setAttribute('aria-rowcount', lines.length);
  list.setHeight(lines.length * tall);
  list.scroll(0);
  tell();
  draw();
  if (!equal(drawn, former.drawn)) map?.draw();
  former = {text, filters, left, drawn};
}

// tell says how many queries are listed and how many labels are suspected.
function tell() {
  const n = lines.length / models.length, all = queries.length + data.left;
  const rest = data.left ? `; the page holds the ${number(queries.length)} worst of ${number(all)}` : '';
  write(byId('said'), `${number(n)} of ${count(queries.length, 'query')}${rest}; ${count(suspects.size, 'label')} suspected`);
}

// picture is the element of an item: its picture, or the reason for its absence.
const picture = (item, alt) => (item.src ? h('img', {src: item.src, alt, loading: 'lazy', decoding: 'async'})
  : h('span', {class: 'none', title: item.missing || undefined}, item.missing ? '✕' : shown(title(item))));

function cell(line, place) {
  const item = entry(line, place), n = place ? queries[line.q].shared[line.m][place - 1] : -1, name = title(item);
  const says = place ? `place ${place}: ${name}${sharing(n)}` : `query: ${name}`;
  const wrong = suspects.has(place ? queries[line.q].found[line.m][place - 1] : queries[line.q].item);
  return h('div', {class: `cell ${place ? frame(n) : 'query'}${wrong ? ' suspect' : ''}`, role: 'gridcell',
    'aria-label': `${says}${wrong ? ', suspected' : ''}${item.missing ? `; ${item.missing}` : ''}`, data: {place}},
  picture(item, ''), h('span', {class: 'name'}, shown(name)));
}

function writeLine(e, line, index) {
  const head = `${last ? `${models[line.m]}: ` : ''}${percent(queries[line.q].value[line.m])}`;
  const cells = Array.from({length: places(line) + 1}, (_, place) => cell(line, place));
  fill(e, h('div', {class: 'head', role: 'rowheader'}, h('strong', {}, head), h('span', {}, shown(own(line.q).id))), cells);
  e.className = 'line';
  e.setAttribute('role', 'row');
  e.setAttribute('aria-rowindex', index + 1);
  e.dataset.line = index;
}

// draw shows the lines that are in sight, and the cursor.
function draw() {
  const from = Math.max(0, Math.floor(list.top / tall) - 1), to = Math.min(lines.length, Math.ceil((list.top + list.height) / tall) + 1), visible = [];
  for (let i = from; i < to; i++) {
    const line = lines[i], {item, found} = queries[line.q];
    const state = `${i} ${line.q} ${[item, ...found[line.m]].map((k) => +suspects.has(k)).join('')}`;
    visible.push({key: i, sort: 'line', x: 0, y: i * tall, state, write: (e) => writeLine(e, line, i)});
  }
  list.show(visible);
  for (const e of grid.querySelectorAll('[id=current]')) { e.removeAttribute('id'); e.classList.remove('current'); }
  const cursor = grid.querySelector(`[data-line="${at.line}"] [data-place="${at.place}"]`);
  if (cursor) { cursor.id = 'current'; cursor.classList.add('current'); grid.setAttribute('aria-activedescendant', 'current'); }
}

// go moves the cursor, and the view with it.
function go(line, place) {
  if (!lines.length) return;
  at.line = Math.max(0, Math.min(lines.length - 1, line));
  at.place = Math.max(0, Math.min(places(lines[at.line]), place));
  list.reveal(at.line * tall, (at.line + 1) * tall);
  const x = wide * at.place;
  if (x < grid.scrollLeft) grid.scrollLeft = x;
  else if (x + 3 * wide > grid.scrollLeft + grid.clientWidth) grid.scrollLeft = x + 3 * wide - grid.clientWidth;
  draw();
  if (view.open) enlarge();
}

const here = () => { const line = lines[at.line]; return at.place ? queries[line.q].found[line.m][at.place - 1] : queries[line.q].item; };

function suspect() {
  if (!lines.length) return;
  const item = here();
  if (!suspects.delete(item)) suspects.add(item);
  keep();
  tell();
  draw();
  if (view.open) enlarge();
}

const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
function press(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || !lines.length) return;
  const move = moves[e.key], page = Math.max(1, Math.floor(list.height / tall) - 1);
  const act = move ? () => go(at.line + move[0], at.place + move[1]) : {
    PageUp: () => go(at.line - page, at.place), PageDown: () => go(at.line + page, at.place),
    Home: () => go(0, at.place), End: () => go(lines.length - 1, at.place),
    Enter: view.open ? null : enlarge, x: suspect,
  }[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}
grid.addEventListener('keydown', press);
grid.addEventListener('click', (e) => {
  const cellHere = e.target.closest('.cell');
  if (!cellHere) return;
  go(Number(cellHere.closest('.line').dataset.line), Number(cellHere.dataset.place));
  enlarge();
});
document.addEventListener('keydown', (e) => {
  if (e.key !== '/' || view.open || /INPUT|SELECT/.test(e.target.nodeName)) return;
  e.preventDefault();
  byId('search').focus();
});

// enlarge shows the image of the cursor beside its query, with what is known of it.
const view = byId('view');
function enlarge() {
  const line = lines[at.line], item = entry(line, at.place), query = own(line.q);
  const n = at.place ? queries[line.q].shared[line.m][at.place - 1] : 0;
  const side = (of, text) => h('figure', {}, picture(of, text), h('figcaption', {}, text));
  const facts = [['file', item.path || item.id], ['id', item.id], ...(item.split ? [['split', item.split]] : []),
    ...(data.judged ? [] : levels.map((name, l) => [name, className(l, item.classes[l])])),
    ...(item.box ? [['box (left, upper, right, lower)', item.box.join(', ')]] : []),
    ...(!at.place ? [[data.metric, percent(queries[line.q].value[line.m])]] : []),
    ...(at.place && n >= 0 ? [[data.judged ? 'judged' : 'shared with the query', grade(n)]] : []),
    ...(item.missing ? [['no picture', item.missing]] : [])];
  fill(byId('shown'), h('h2', {id: 'h-view'}, at.place ? `Place ${at.place}${last ? ` in ${models[line.m]}` : ''}` : 'Query'),
    h('div', {class: 'pair'}, at.place ? side(query, 'query') : null, side(item, at.place ? `place ${at.place}` : 'query')),
    h('dl', {}, facts.map(([name, value]) => h('div', {}, h('dt', {}, shown(name)), h('dd', {}, shown(value))))));
  write(byId('mark'), suspects.has(here()) ? 'Label is right' : 'Suspect the label');
  if (!view.open) view.showModal();
}
view.addEventListener('keydown', press);
view.addEventListener('close', () => grid.focus());
byId('mark').addEventListener('click', suspect);
byId('before').addEventListener('click', () => go(at.line, at.place - 1));
byId('after').addEventListener('click', () => go(at.line, at.place + 1));
byId('close').addEventListener('click', () => view.close());

// The suspected labels outlive the page where the browser keeps things for files.
const kept = `hgld ${location.pathname} ${data.key}`;
function keep() { try { localStorage.setItem(kept, JSON.stringify([...suspects])); } catch { /* they are still on the page */ } }
try { for (const i of JSON.parse(localStorage.getItem(kept) || '[]')) if (items[i]) suspects.add(i); } catch { /* nothing was kept */ }

// save writes the suspected labels as CSV.
function save() {
  const quoted = (text) => (/[",\n\r]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const paths = items.some((item) => item.path), rows = [...suspects].sort((a, b) => a - b).map((i) => items[i]);
  const table = [['id', ...(paths ? ['path'] : []), ...(data.judged ? [] : levels)], ...rows.map((item) => [item.id, ...(paths ? [item.path || ''] : []),
    ...(data.judged ? [] : item.classes.map((c, l) => (c >= 0 ? className(l, c) : '')))])];
  const text = table.map((row) => `${row.map(quoted).join(',')}\n`).join('');
  const link = h('a', {download: 'suspects.csv', href: URL.createObjectURL(new Blob([text], {type: 'text/csv'}))});
  link.click();
  URL.revokeObjectURL(link.href);
  write(byId('said'), `suspects.csv has ${count(rows.length, 'label')}`);
}

// The map groups the queries by their coarsest class.
let map = null;
if (data.map) {
  const coarsest = levels.length - 1, {query, x, y} = data.map, level = () => Number(byId('level').value);
  byId('mappart').hidden = false;
  map = new PlaneMap(byId('mapbox'), {
    words: {label: 'image', decided: 'filled points have a right first place', open: 'only those with a wrong first place'},
    group: (i) => own(query[i]).classes[coarsest], groupName: (g) => className(coarsest, g), declared: () => false,
    isMarked: (i) => !!chosen.on?.has(query[i]), decided: (i) => right(query[i], 0, level()),
    name: (i) => (data.judged ? own(query[i]).id : `${own(query[i]).id}: ${title(own(query[i]))}`),
    marked: (inside, more) => {
      const now = new Set(inside.map((i) => query[i]));
      chosen.on = more && chosen.on ? new Set([...chosen.on, ...now]) : now;
      if (!chosen.on.size) chosen.on = null;
      refresh();
    },
  });
  map.set(query.map((_, i) => [x[i], y[i]]));
}
refresh();
document.body.dataset.ready = 'yes';
