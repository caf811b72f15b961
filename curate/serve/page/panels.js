import {h, hidden, fill, attribute, write, count, number, shown, key, byId} from './dom.js';
import {DECIDED, DROPPED, FLAGGED, OUTLIER, PROPOSED, stateOf} from './model.js';
import {commands} from './commands.js';
import {menu} from './menu.js';

// differs tells whether a part of the screen has to be written again: state is all
// that its look depends on.
const states = new Map();
function differs(part, state) {
  if (states.get(part) === state) return false;
  states.set(part, state);
  return true;
}

// What stands around the labels: progress, the head of the screen, its buttons,
// suggestions and details.

export function progress(app) {
  const {inUse, total, done, withImages} = app.model;
  const rows = [['groups', inUse.decided, inUse.groups], ['labels', done.labels, total.labels], ['landmarks', done.landmarks, total.landmarks]];
  if (withImages) rows.push(['images', done.images, total.images]);
  if (!differs('progress', [rows, app.model.proposed].join())) return;
  fill(byId('progress'), rows.map(([what, n, all]) => h('div', {class: 'meter', title: `${number(n)} of ${number(all)} ${what} decided${what === 'labels' && app.model.proposed ? `, ${number(app.model.proposed)} proposed` : ''}`},
    h('span', {class: 'what'}, what), h('span', {class: 'n'}, all ? `${Math.floor((100 * n) / all)} %` : '–'), h('progress', {max: all || 1, value: n, 'aria-label': `${what} decided`}))));
}

const elsewhere = (app, i) => (!['group', 'rest'].includes(app.view.kind) && app.model.parent[i] >= 0 ? app.model.groups[1][app.model.parent[i]].name : '');

// lineWidth is the width in which all but the longest names of a group fit on a line.
export function lineWidth(app, items) {
  const lengths = items.map((i) => app.model.names[i].length).sort((a, b) => a - b);
  return Math.max(220, Math.min(480, (app.model.has.thumbnails ? 108 : 74) + 7.8 * (lengths[Math.floor(0.95 * lengths.length)] || 0)));
}

const noted = (app, i) => app.rows.labels(i).some((x) => app.model.remarks.get(x)?.[2]);
const statusOf = (app, i) => app.rows.labels(i).reduce((sum, x) => sum | app.model.status[x], 0);

const thumbnail = (app, i) => (app.model.has.thumbnails && ['group', 'rest'].includes(app.view.kind) ? app.thumbnails.of(i) : '');

// cardState is all that the look of a card depends on.
export const cardState = (app, i, active) => `${thumbnail(app, i)} ${statusOf(app, i)} ${active} ${app.isMarked(i)} ${noted(app, i)} ${app.rows.labels(i)} ${app.view.kind === 'rest' ? app.rest.about(i) : elsewhere(app, i)}`;

// card writes a label, and its variants, into an element: on one line in a group, and
// elsewhere on two.
export function card(app, e, i, active) {
  const m = app.model, row = app.rows.labels(i), status = statusOf(app, i), marked = app.isMarked(i);
  if (!e.firstChild) {
    e.append(h('span', {class: 'tick', 'aria-hidden': 'true'}), h('span', {class: 'label'}, h('span'), h('span', {class: 'also'})), h('span', {class: 'facts'}, h('span'), h('span', {class: 'flag', 'aria-hidden': 'true'})), hidden(''));
    e.setAttribute('role', 'option');
    e.draggable = true;
  }
  const group = elsewhere(app, i), note = noted(app, i), rest = app.view.kind === 'rest', line = rest || app.view.kind === 'group';
  const {landmarks, images} = m.touched(row);
  const facts = rest ? [app.rest.about(i)] : line ? [number(landmarks)] : [count(landmarks, 'landmark'), m.withImages ? count(images, 'image') : ''].filter(Boolean);
  const stands = stateOf(status);
  const state = [stands === 'open' ? '' : stands, marked ? 'marked' : '', status & FLAGGED ? 'flagged' : ''].filter(Boolean);
  attribute(e, 'class', ['cell card', line ? 'line' : '', line && m.has.thumbnails ? 'pictured' : '', active ? 'at' : '', status & OUTLIER ? 'outlier' : '', ...state].filter(Boolean).join(' '));
  attribute(e, 'aria-selected', marked);
  attribute(e, 'title', row.map((x) => m.names[x]).join('\n'));
  e.dataset.tag = i;
  const [tick, label, under, told] = [...e.children].filter((c) => c.className !== 'thumbnail');
  const image = thumbnail(app, i);
  if (line && app.model.has.thumbnails) {
    // A new element: one whose address changes shows the image of another label until it has its own.
    if (!e.querySelector('.thumbnail')) tick.after(h('span', {class: 'thumbnail', 'aria-hidden': 'true'}));
    const box = tick.nextSibling;
    if (box.dataset.name !== image) { box.dataset.name = image; box.replaceChildren(...(image ? [h('img', {src: `/image/${encodeURIComponent(image)}?small`, alt: '', draggable: false})] : [])); }
  }
  write(tick, marked ? '●' : status & DROPPED ? '×' : status & DECIDED ? '✓' : status & PROPOSED ? '?' : '');
  write(label.firstChild, shown(m.names[i]));
  write(label.lastChild, row.slice(1).map((x) => ` · ${shown(m.names[x])}`).join(''));
  write(told, `${line && !rest ? ` ${landmarks === 1 ? 'landmark' : 'landmarks'}` : ''}${[...state, note ? 'with a note' : ''].filter(Boolean).map((s) => `, ${s}`).join('')}`);
  write(under.firstChild, facts.join(' · ') + (group ? ` in ${shown(group)}` : ''));
  write(under.lastChild, (status & FLAGGED ? ' ⚑' : '') + (note ? ' ✎' : ''));
}

export function head(app) {
  const m = app.model, v = app.view;
  const items = app.grid.items;
  const t = m.touched(app.labelsOf(items));
  const proposed = v.kind === 'group' ? m.bucket(v.at).proposed : 0;
  const facts = `${count(t.labels, 'label')} · ${count(t.landmarks, 'landmark')}${m.withImages ? ` · ${count(t.images, 'image')}` : ''}`;
  const title = {rest: () => 'Assign the rest', group: () => shown(m.groups[1][v.at].name), near: () => `Close to “${shown(m.groups[1][v.at].name)}”`, search: () => 'Find', marked: () => 'Marked', dropped: () => 'Dropped', flagged: () => 'Flagged',
    map: () => 'Map', review: () => 'Differences'}[v.kind]();
  const g = v.kind === 'group' ? m.groups[1][v.at] : null;
  const above = g ? m.above(g) : [];
  const kind = above.length ? above.map((k) => shown(k.name)).join(' · ') : g && m.levels.length > 2 ? `no ${m.levels[2]} yet` : '';
  const marks = app.marks.size ? h('p', {class: 'marks', role: 'status'}, `${count(app.marks.size, 'label')} marked · ${count(m.touched(app.chosen()).landmarks, 'landmark')} `,
    v.kind === 'marked' ? null : h('button', {type: 'button', onclick: () => app.go('marked')}, 'list ', key('M')), ' ', h('button', {type: 'button', onclick: () => app.clearMarks()}, 'clear ', key('Esc'))) : null;
  fill(byId('head'), h('h2', {}, h('span', {class: 'name'}, title), kind ? h('span', {class: above.length ? 'kind' : 'kind none'}, kind) : null),
    h('div', {class: 'under'}, h('p', {class: 'soft'}, v.kind === 'map' ? 'labels that mean similar things stand together' : facts, proposed ? h('span', {class: 'proposals'}, ` · ${number(proposed)} proposed`) : '', v.kind === 'near' ? [' · open labels of other groups, nearest first; ', key('a'), ' takes them into this one'] : v.kind === 'search' && items.length ? [' · ', key('Enter'), ' goes to a label'] : v.kind === 'review' && items.length ? [' · ', key('1'), ' ', key('2'), ' take a choice, ', key('3'), ' ', key('4'), ' take it for all of the pair'] : '', v.surest ? ' · surest first' : '', g && g.note ? ` · ${g.note}` : ''), marks));
}

export function actions(app) {
  const m = app.model;
  const grouped = app.view.kind === 'group';
  const off = {Accept: !grouped && app.view.kind !== 'near', 'Accept core': !grouped, 'Accept to here': !grouped, Divide: !m.has.split, 'Assign the rest': !m.has.propose, 'Close by': !m.has.suggest, Images: !m.has.examples, Undo: !m.undo && !app.sender.queue.length, Redo: !m.redo && !app.sender.queue.length, Kind: m.levels.length < 3};
  const box = byId('actions');
  if (!box.children.length) box.append(...toolbar(app));
  if (!differs('actions', Object.values(off).join())) return;
  for (const b of box.querySelectorAll('[data-command]')) b.disabled = !!off[b.dataset.command];
}

// toolbar has what is needed all the time, and the rest in two menus.
function toolbar(app) {
  const label = (k) => k.replace('ctrl+', '⌃').replace(/^⌃(.)/, (_, c) => `⌃${c.toUpperCase()}`);
  const button = (c) => h('button', {type: 'button', title: c.help, data: {command: c.name}, 'aria-keyshortcuts': c.keys[0].replace('ctrl+', 'Control+'), onclick: () => { app.do(c); }}, h('span', {}, c.name), key(label(c.keys[0])));
  const of = (...groups) => commands.filter((c) => groups.includes(c.group)).map(button);
  const decide = of('decide');
  decide[0].classList.add('main-button');
  return [...decide, ...menu('Labels', of('label', 'mark')), ...menu('Group', of('group')), h('span', {class: 'back'}, of('back'))];
}

export function views(app) {
  const list = [['Groups', '', 'group'], ['Find', '/', 'search'], ...(app.model.has.map ? [['Map', 'v', 'map']] : []), ...(app.model.has.agreement ? [['Differences', 'd', 'review']] : []), ...(app.model.has.propose ? [['Proposed', 'R', 'rest']] : []), ['Dropped', '', 'dropped'], ['Flagged', '', 'flagged'], ['History', 'e', 'history'], ...(app.model.has.finish ? [['Write', 'w', 'write']] : []), ['Help', '?', 'help']];
  const sizes = {rest: app.model.proposed, dropped: app.model.dropped.size, flagged: app.model.flagged.size};
  if (!differs('views', [app.view.kind, ...Object.values(sizes)].join())) return;
  fill(byId('views'), list.map(([name, k, kind]) => h('button', {type: 'button', data: {view: kind}, 'aria-pressed': String(app.view.kind === kind || (kind === 'group' && app.view.kind === 'near')), onclick: () => app.go(kind)},
    name, sizes[kind] ? ` ${number(sizes[kind])}` : '', k ? [' ', key(k)] : null)));
}

export function side(app) {
  const m = app.model, i = app.grid.current(), chosen = app.chosen();
  const parts = [];
  if (m.has.suggest && chosen.length && app.view.kind !== 'review') {
    // While the answer for another choice is under way the last one stands, paler; it
    // cannot be taken.
    const list = app.near.filter((x) => m.groups[1][x.at]?.name === x.name);
    const stale = !app.suggestions().length;
    const far = Math.max(...list.map((x) => x.distance), 1e-9);
    const near = Math.min(...list.map((x) => x.distance), far);
    parts.push(h('section', {}, h('h2', {}, 'Move to'), h('p', {class: 'soft'}, app.marks.size > 1 ? `${count(chosen.length, 'marked label')}` : chosen.map((x) => shown(m.names[x])).join(' · ')),
      h('ol', {class: stale ? 'near stale' : 'near'}, list.map((x, n) => {
        const bar = h('span', {class: 'bar', 'aria-hidden': 'true'});
        bar.style.width = `${Math.round(100 * Math.max(0.08, 1 - 0.8 * (x.distance - near) / Math.max(1e-9, far - near || far)))}%`;
        return h('li', {}, h('button', {type: 'button', class: 'suggestion', onclick: () => app.takeSuggestion(n)}, key(String(n + 1)), h('span', {class: 'name'}, shown(x.name)), h('span', {class: 'n'}, number(m.bucket(x.at).size)), bar));
      }))));
  }
  if (i !== undefined && app.view.kind !== 'review') {
    const [reason, flag, note] = m.remarks.get(i) || ['', '', ''];
    const group = m.parent[i] >= 0 ? shown(m.groups[1][m.parent[i]].name) : m.status[i] & DROPPED ? 'dropped' : 'none';
    const fact = (what, value) => [h('dt', {}, what), h('dd', {}, value)];
    parts.push(h('section', {}, h('h2', {}, 'Label'), h('p', {class: 'whole'}, shown(m.names[i])), h('dl', {}, app.rows.labels(i).slice(1).map((x) => fact('variant', `${shown(m.names[x])} (${number(m.landmarks[x])})`)).flat(),
      fact('group', app.view.kind === 'group' ? group : h('button', {type: 'button', class: 'link', onclick: () => app.goTo(i)}, group)), fact('state', stateOf(m.status[i])), fact('landmarks', number(m.landmarks[i])), m.withImages ? fact('images', number(m.images[i])) : null,
      /^Q\d+$/.test(m.items[i]) ? fact('item', h('a', {href: `https://www.wikidata.org/wiki/${m.items[i]}`, target: '_blank', rel: 'noopener noreferrer'}, m.items[i])) : null,
      m.distance[i] ? fact('distance', m.distance[i].toFixed(3)) : null, reason ? fact('dropped', reason) : null, m.status[i] & FLAGGED ? fact('flag', flag || 'yes') : null, note ? fact('note', note) : null)));
    if (app.imagesOn) parts.push(examples(app, i));
  }
  if (!parts.length) parts.push(h('p', {class: 'soft'}, app.view.kind === 'map' ? 'Mark some labels to see where they could go.' : 'Nothing is here.'));
  fill(byId('side'), parts);
}

// examples shows landmarks that carry a label; while they are looked for, none.
function examples(app, i) {
  if (app.examples?.of !== i) return h('section', {}, h('h2', {}, 'Examples'), h('p', {class: 'soft'}, 'looking…'));
  const {list} = app.examples;
  return h('section', {}, h('h2', {}, 'Examples'), list.length ? list.map((x) => h('figure', {},
    h('div', {class: 'pictures'}, (x.images || []).slice(0, 3).map((name) => h('img', {src: `/image/${encodeURIComponent(name)}`, alt: `image of ${x.title}`, loading: 'lazy'}))),
    h('figcaption', {}, x.link ? h('a', {href: x.link, target: '_blank', rel: 'noopener noreferrer'}, x.title) : x.title))) : h('p', {class: 'soft'}, 'There is no landmark with this label in tags.jsonl.'));
}
