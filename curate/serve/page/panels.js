import {h, hidden, fill, attribute, write, count, number, shown, key, byId} from './dom.js';
import {DECIDED, DROPPED, FLAGGED, OUTLIER, PROPOSED, stateOf} from './model.js';
import {commands} from './commands.js';
import {menu} from './menu.js';
import {fitOf, placedBy} from './find.js';

// differs tells whether a part of the screen must be written again. state is everything that its
// appearance depends on.
const states = new Map();
function differs(part, state) {
  if (states.get(part) === state) return false;
  states.set(part, state);
  return true;
}

// The parts around the labels: progress, the head of the screen, its buttons, suggestions and
// details.

// progress writes how many labels are decided. Its title has the landmarks, images and groups.
export function progress(app) {
  const {inUse, total, done, withImages, proposed} = app.model;
  const rows = [['tags', done.labels, total.labels], ['landmarks', done.landmarks, total.landmarks], ['groups', inUse.decided, inUse.groups]];
  if (withImages) rows.splice(2, 0, ['images', done.images, total.images]);
  if (!differs('progress', [rows, proposed].join())) return;
  const [, n, all] = rows[0], of = ([what, some, most]) => `${number(some)} of ${number(most)} ${what} decided`;
  const title = [of(rows[0]) + (proposed ? `, ${number(proposed)} proposed` : ''), ...rows.slice(1).map(of)].join('\n');
  fill(byId('progress'), h('div', {class: 'meter', title}, h('span', {class: 'what'}, 'tags'),
    h('span', {class: 'n'}, all ? `${Math.floor((100 * n) / all)} %` : '–'),
    h('progress', {max: all || 1, value: n, 'aria-label': 'tags decided'})));
}

// lines are the screens on which a label takes one line.
export const lines = ['group', 'proposals', 'classes'];

// aboutOf is the text on the card of a proposed label; '' on other screens.
const aboutOf = (app, i) => (app.view.kind === 'proposals' ? app.proposals.about(i) : '');

// groupNote is the name of a label's group, on screens that show labels of several groups.
function groupNote(app, i) {
  const {kind} = app.view, g = app.model.parent[i];
  return lines.includes(kind) || g < 0 ? '' : app.model.groups[1][g].name;
}

// lineWidth is a width at which 95 % of the names of a group fit on a line.
export function lineWidth(app, items) {
  const lengths = items.map((i) => app.model.names[i].length).sort((a, b) => a - b);
  return Math.max(220, Math.min(480, (app.model.has.thumbnails ? 108 : 74) + 7.8 * (lengths[Math.floor(0.95 * lengths.length)] || 0)));
}

const noted = (app, i) => app.view.rows.labels(i).some((x) => app.model.remarks.get(x)?.[2]);
const statusOf = (app, i) => app.view.rows.labels(i).reduce((sum, x) => sum | app.model.status[x], 0);

// extraOf lists the extra groups of the labels of a row.
const extraOf = (app, i) => [...new Set(app.view.rows.labels(i).flatMap((x) => app.model.extra.get(x) || []))];

const thumbnail = (app, i) => (app.model.has.thumbnails && lines.includes(app.view.kind) ? app.thumbnails.of(i) : '');

// cardState is everything that the appearance of a card depends on.
export function cardState(app, i, active) {
  const {view} = app, note = aboutOf(app, i) || groupNote(app, i);
  return [thumbnail(app, i), statusOf(app, i), active, view.isMarked(i), noted(app, i), extraOf(app, i), view.rows.labels(i), note,
    view.kind === 'flagged' ? app.model.remarks.get(i) : ''].join(' ');
}

// card writes a label and its variants into an element, on one line for groups and proposals, and
// on two lines elsewhere.
export function card(app, e, i, active) {
  const m = app.model, row = app.view.rows.labels(i), status = statusOf(app, i), marked = app.view.isMarked(i);
  if (!e.firstChild) {
    e.append(h('span', {class: 'tick', 'aria-hidden': 'true'}), h('span', {class: 'label'}, h('span', {dir: 'auto'}), h('span', {class: 'extra', dir: 'auto'})),
      h('span', {class: 'facts'}, h('span'), h('span', {class: 'flag', 'aria-hidden': 'true'})), hidden(''));
    e.setAttribute('role', 'option');
    e.draggable = true;
  }
  const group = groupNote(app, i), note = noted(app, i), proposal = app.view.kind === 'proposals', line = lines.includes(app.view.kind);
  const {landmarks, images} = m.touched(row);
  const counts = line ? [number(landmarks)] : [count(landmarks, 'landmark'), m.withImages ? count(images, 'image') : ''].filter(Boolean);
  const [, flag, , by] = app.view.kind === 'flagged' ? m.remarks.get(i) || [] : [];
  const facts = proposal ? [aboutOf(app, i)] : app.view.kind === 'flagged' ? [flag || 'no reason', by, ...counts].filter(Boolean) : counts;
  const stands = stateOf(status);
  const state = [stands === 'open' ? '' : stands, marked ? 'marked' : '', status & FLAGGED ? 'flagged' : ''].filter(Boolean);
  attribute(e, 'class', ['cell card', line ? 'line' : '', line && m.has.thumbnails ? 'pictured' : '', active ? 'at' : '', status & OUTLIER ? 'outlier' : '',
    ...state].filter(Boolean).join(' '));
  attribute(e, 'aria-selected', marked);
  attribute(e, 'title', row.map((x) => m.names[x]).join('\n'));
  e.dataset.tag = i;
  const [tick, label, under, spoken] = [...e.children].filter((c) => c.className !== 'thumbnail');
  const image = thumbnail(app, i);
  if (line && app.model.has.thumbnails) {
    // The image element must be new: after a change of its address it shows the old image until the
    // new one is loaded.
    if (!e.querySelector('.thumbnail')) tick.after(h('span', {class: 'thumbnail', 'aria-hidden': 'true'}));
    const box = tick.nextSibling;
    if (box.dataset.name !== image) {
      box.dataset.name = image;
      box.replaceChildren(...(image ? [h('img', {src: `/image/${encodeURIComponent(image)}?small`, alt: '', draggable: false})] : []));
    }
  }
  write(tick, status & DROPPED ? '×' : status & DECIDED ? '✓' : marked ? '●' : status & PROPOSED ? '?' : '');
  write(label.firstChild, shown(m.names[i]));
  const extra = extraOf(app, i), noticed = [...state, extra.length ? `also in ${extra.map(shown).join(', ')}` : '', note ? 'with a note' : ''];
  write(label.lastChild, [...row.slice(1).map((x) => ` · ${shown(m.names[x])}`), ...extra.map((name) => ` + ${shown(name)}`)].join(''));
  const unit = line && !proposal ? ` ${landmarks === 1 ? 'landmark' : 'landmarks'}` : '';
  write(spoken, unit + noticed.filter(Boolean).map((s) => `, ${s}`).join(''));
  write(under.firstChild, facts.join(' · ') + (group ? ` in ${shown(group)}` : ''));
  write(under.lastChild, (status & FLAGGED ? ' ⚑' : '') + (note ? ' ✎' : ''));
}

const sortable = ['group', 'search', 'marked', 'dropped', 'proposals'];
const orders = {word: 'by last word', landmarks: 'most landmarks first', name: 'by name', doubt: 'least confident first', latest: 'latest decision first'};

// orderOf names the order of the labels.
function orderOf({kind, sorting, screen}) {
  if (sorting !== 'sure') return orders[sorting];
  if (kind === 'proposals') return 'by lead';
  return kind !== 'group' ? 'as they stand in the draft' : screen.order === 'sure' ? 'most confident first' : 'nearest first';
}

// head writes the title of the screen, counts and marks.
export function head(app) {
  const m = app.model, v = app.view;
  const items = app.view.grid.items;
  const t = m.touched(app.view.labelsOf(items));
  const proposed = v.kind === 'group' ? m.bucket(v.at).proposed : 0;
  const facts = `${count(t.labels, 'tag')} · ${count(t.landmarks, 'landmark')}${m.withImages ? ` · ${count(t.images, 'image')}` : ''}`;
  const title = {classes: () => 'Class by class', proposals: () => 'Propose for the rest',
    group: () => shown(m.groups[1][v.at].name), near: () => `Near “${shown(m.groups[1][v.at].name)}”`,
    search: () => 'Find',
    like: () => `More like “${shown(m.names[v.likeOf[0]])}”${v.likeOf.length > 1 ? ` and ${number(v.likeOf.length - 1)} more` : ''}`,
    marked: () => 'Selected', dropped: () => 'Dropped', flagged: () => 'Flagged',
    map: () => 'Map', review: () => 'Differences'}[v.kind]();
  const g = v.kind === 'group' ? m.groups[1][v.at] : null;
  const here = g ? Object.keys(v.others || {}).filter((who) => v.others[who] === g.name) : [];
  const above = g ? m.above(g) : [];
  const kinds = [...above.map((k) => shown(k.name)), ...(g?.extra || []).map((name) => `also ${shown(name)}`)];
  const kind = above.length ? kinds.join(' · ') : g && m.levels.length > 2 ? `no ${m.levels[2]} yet` : '';
  const decided = v.marks.size ? m.decidedOf(v.chosen()) : 0, {leftOut} = v;
  const marks = v.marks.size || leftOut.size ? h('p', {class: 'marks', role: 'status'},
    `${count(v.marks.size, 'tag')} selected${decided ? `, ${number(decided)} decided` : ''} · `
      + `${count(m.touched(v.marks.size ? v.chosen() : []).landmarks, 'landmark')} `,
    leftOut.size ? [h('button', {type: 'button', onclick: () => v.markDecided()}, `and ${number(leftOut.size)} decided `, key('D')), ' '] : null,
    v.kind === 'marked' ? null : h('button', {type: 'button', onclick: () => app.go('marked')}, 'list ', key('M')), ' ',
      h('button', {type: 'button', onclick: () => app.view.clearMarks()}, 'clear ', key('Esc'))) : null;
  const hints = {
    near: [' · open tags of other groups, nearest first; ', key('a'), ' takes them into this one'],
    search: [' · ', key('Enter'), ' goes to a tag'],
    like: [' · of all groups, nearest first; ', key('Enter'), ' goes to a tag'],
    flagged: flaggedClasses(app),
    review: app.review?.hint(),
  };
  fill(byId('head'), h('h2', {}, h('span', {class: 'name'}, title), kind ? h('span', {class: above.length ? 'kind' : 'kind none'}, kind) : null),
    h('div', {class: 'under'}, h('p', {class: 'soft'}, v.kind === 'map' ? '' : facts,
      proposed ? h('span', {class: 'proposals'}, ` · ${number(proposed)} proposed`) : '',
      ['near', 'flagged'].includes(v.kind) || items.length ? hints[v.kind] : '',
      v.kind === 'search' && !items.length && app.find.decided ? [' · ', h('button', {type: 'button',
        class: 'link', onclick: () => byId('openonly').click()}, `show the ${number(app.find.decided)} decided`)] : null,
      sortable.includes(v.kind) ? [' · ', h('button', {type: 'button', class: 'link',
        title: 'another order of the tags', onclick: () => v.sortNext()}, orderOf(v)), ' ', key('S')] : null,
      here.length ? [' · ', h('span', {class: 'others'}, `${here.join(', ')} ${here.length === 1 ? 'is' : 'are'} here, too`)] : null,
      g?.flagged ? [' · ', h('span', {class: 'flag', dir: 'auto'}, `⚑ ${g.flag || 'flagged'}`)] : null,
      g?.note ? [' · ', h('span', {dir: 'auto'}, `✎ ${g.note}`)] : null), marks));
}

// flaggedClasses are the flagged groups and kinds, each with its reason. A group is a button that opens it.
function flaggedClasses(app) {
  return app.model.flaggedClasses().flatMap((g) => [' · ', g.level > 1 ? shown(g.name) : h('button', {type: 'button', class: 'link',
    onclick: () => app.view.openGroup(g.at)}, shown(g.name)), h('span', {dir: 'auto'}, ` ⚑ ${g.flag || 'no reason'}`)]);
}

// actions writes the buttons of the commands.
export function actions(app) {
  const m = app.model;
  const grouped = app.view.kind === 'group';
  const off = {Accept: !grouped && app.view.kind !== 'near', 'Accept above outliers': !grouped, 'Accept to here': !grouped, Split: !m.has.split,
    'Propose for the rest': !m.has.propose, 'Class by class': !m.has.propose, 'Nearby tags': !m.has.suggest, Images: !m.has.examples,
    'Enlarge image': !m.has.thumbnails,
    Undo: !m.undo && !m.last && !app.sender.queue.length,
    'More like this': !m.has.suggest, Redo: !m.redo && !app.sender.queue.length, 'Set kind': m.levels.length < 3};
  const box = byId('actions');
  if (!box.children.length) box.append(...toolbar(app));
  const open = grouped ? m.bucket(app.view.at).open : 0;
  if (!differs('actions', [...Object.values(off), open].join())) return;
  for (const b of box.querySelectorAll('[data-command]')) b.disabled = !!off[b.dataset.command];
  write(box.querySelector('[data-command="Accept"]').firstChild, open ? `Accept ${number(open)}` : 'Accept');
}

// toolbar makes buttons of the commands that are used most, and two menus of the others.
function toolbar(app) {
  const label = (k) => k.replace('ctrl+', '⌃').replace(/^⌃(.)/, (_, c) => `⌃${c.toUpperCase()}`);
  const button = (c) => h('button', {type: 'button', title: c.help, data: {command: c.name}, 'aria-keyshortcuts': c.keys[0].replace('ctrl+', 'Control+'),
    onclick: () => { app.run(c); }}, h('span', {}, c.name), key(label(c.keys[0])));
  const of = (...groups) => commands.filter((c) => groups.includes(c.group)).map(button);
  const decide = of('decide');
  decide[0].classList.add('main-button');
  return [...decide, ...menu('Tags', of('label', 'mark')), ...menu('Group', of('group')), h('span', {class: 'back'}, of('back'))];
}

// views writes the buttons of the screens.
export function views(app) {
  const list = [['Groups', '', 'group'], ['Find', '/', 'search'], ...(app.model.has.map ? [['Map', 'v', 'map']] : []),
    ...(app.model.has.agreement ? [['Differences', 'd', 'review']] : []),
    ...(app.model.has.propose ? [['Classes', 'q', 'classes'], ['Propose', 'R', 'proposals']] : []),
    ...(app.model.has.finish ? [['Write', 'w', 'write']] : [])];
  const rare = [['Dropped', '', 'dropped'], ['Flagged', '', 'flagged'], ['History', 'e', 'history'], ['Snapshots', 'P', 'snapshots'],
    ['Statistics', 'E', 'statistics'], ['Help', '?', 'help']];
  const {model: m} = app, box = byId('views');
  const sizes = {proposals: m.proposed, dropped: m.dropped.size, flagged: m.flagged.size + m.flaggedClasses().length};
  if (!differs('views', [app.view.kind, ...Object.values(sizes)].join())) return;
  const button = ([name, k, kind]) => h('button', {type: 'button', data: {view: kind}, onclick: () => app.go(kind)},
    h('span', {}, name, sizes[kind] ? ` ${number(sizes[kind])}` : ''), k ? [' ', key(k)] : null);
  if (!box.children.length) box.append(h('span', {class: 'screens'}), ...menu('More', rare.map(button)));
  fill(box.firstChild, list.map(button));
  for (const b of box.querySelectorAll('.screens button')) {
    const kind = b.dataset.view;
    b.setAttribute('aria-pressed', String(app.view.kind === kind || (kind === 'group' && ['near', 'like'].includes(app.view.kind))));
  }
  for (const [name, , kind] of rare) {
    write(box.querySelector(`.menu [data-view="${kind}"]`).firstChild, `${name}${sizes[kind] ? ` ${number(sizes[kind])}` : ''}`);
  }
  const opener = box.querySelector('.opener');
  opener.setAttribute('aria-label', sizes.flagged ? `More, ${number(sizes.flagged)} flagged` : 'More');
  opener.classList.toggle('flagged', sizes.flagged > 0);
}

// side writes the suggestions, and the details of the current label.
export function side(app) {
  const m = app.model, chosen = app.view.chosen(), i = app.view.current();
  const parts = [];
  if (app.view.kind === 'classes') parts.push(choices(app, chosen));
  else if (m.has.suggest && chosen.length && app.view.kind !== 'review') {
    // While the answer for a new choice is on its way, the last one stays as a pale outline without
    // its keys. It cannot be taken.
    const list = app.suggestions.near.filter((x) => m.groups[1][x.at]?.name === x.name);
    const stale = !app.suggestions.list().length, {waiting} = app.suggestions;
    const far = Math.max(...list.map((x) => x.distance), 1e-9);
    const near = Math.min(...list.map((x) => x.distance), far);
    parts.push(h('section', {}, h('h2', {}, 'Move to'), h('p', {class: 'soft'}, app.view.marks.size > 1
      ? `${count(chosen.length, 'selected tag')}${m.decidedOf(chosen) ? `, ${number(m.decidedOf(chosen))} decided` : ''}`
      : chosen.map((x) => shown(m.names[x])).join(' · ')),
      h('ol', {class: stale ? 'near stale' : 'near'}, list.map((x, n) => {
        const bar = h('span', {class: 'bar', 'aria-hidden': 'true'});
        bar.style.width = `${Math.round(100 * Math.max(0.08, 1 - 0.8 * (x.distance - near) / Math.max(1e-9, far - near || far)))}%`;
        return h('li', {}, h('button', {type: 'button', class: 'suggestion', disabled: stale, onclick: () => app.suggestions.take(n)}, key(String(n + 1)),
          h('span', {class: 'name'}, shown(x.name)), h('span', {class: 'n'}, number(m.bucket(x.at).size)), bar));
      })), waiting ? h('p', {class: 'waiting', role: 'status'}, key(String(waiting)), ' waits for the suggestions…') : null));
  }
  if (i !== undefined && app.view.kind !== 'review') {
    const [reason] = m.remarks.get(i) || [''];
    const group = m.parent[i] >= 0 ? shown(m.groups[1][m.parent[i]].name) : m.status[i] & DROPPED ? 'dropped' : 'none';
    const fact = (what, value) => [h('dt', {}, what), h('dd', {}, value)];
    parts.push(h('section', {}, h('h2', {}, 'Tag'), h('p', {class: 'whole', dir: 'auto'}, shown(m.names[i])),
      h('dl', {},
      fact('group', app.view.kind === 'group' ? group : h('button', {type: 'button', class: 'link', onclick: () => app.view.openLabel(i)}, group)),
        fact('state', stateOf(m.status[i])), fact('landmarks', number(m.landmarks[i])), m.withImages ? fact('images', number(m.images[i])) : null,
      /^Q\d+$/.test(m.items[i]) ? fact('item', h('a', {href: `https://www.wikidata.org/wiki/${m.items[i]}`, target: '_blank', rel: 'noopener noreferrer'},
        m.items[i])) : null,
      fitOf(m, i) ? fact('fit', fitOf(m, i)) : null, reason ? fact('dropped', reason) : null,
        extraOf(app, i).length ? fact('also in', extraOf(app, i).map(shown).join(', ')) : null,
        placedBy(app, i) ? fact(m.status[i] & DECIDED ? 'decided' : 'proposed', placedBy(app, i)) : null)));
    parts.push(...app.threads.sections());
    if (app.examples.on) parts.push(examples(app, i));
    if (m.placed[i]) parts.push(app.tagEdits.section(i));
    const variants = (app.view.kind !== 'classes' ? app.view.rows.labels(i) : app.classes.part === undefined ? [] : chosen).filter((x) => x !== i);
    if (variants.length) {
      parts.push(h('section', {}, h('h2', {}, 'Variants'), h('dl', {}, variants.map((x) => fact(number(m.landmarks[x]), shown(m.names[x]))).flat())));
    }
  }
  if (i === undefined) parts.push(...app.threads.sections());
  if (!parts.length) parts.push(h('p', {class: 'soft'}, app.view.kind === 'map' ? 'Select some tags to see where they could go.' : 'Nothing is here.'));
  fill(byId('side'), parts.filter(Boolean));
}

// choices lists the groups that a digit moves the chosen labels of a class screen to.
function choices(app, tags) {
  const m = app.model, list = app.classes.offered();
  const names = tags.slice(0, 8).map((i) => shown(m.names[i])).join(' · ') + (tags.length > 8 ? ' …' : '');
  return h('section', {}, h('h2', {}, 'Move to'), h('p', {class: 'soft'}, names), h('ol', {class: 'near'},
    list.map((g, n) => h('li', {}, h('button', {type: 'button', class: 'suggestion', onclick: () => app.classes.choose(n)}, key(String(n + 1)),
      h('span', {class: 'name'}, shown(g.name)), h('span', {class: 'n'}, number(m.bucket(g.at).size)))))));
}

// examples shows landmarks that carry a label.
function examples(app, i) {
  if (app.examples.of !== i) return h('section', {}, h('h2', {}, 'Examples'), h('p', {class: 'soft'}, 'looking…'));
  const {list, failed} = app.examples;
  return h('section', {}, h('h2', {}, 'Examples'), list.length ? list.map((x) => h('figure', {},
    h('div', {class: 'pictures'}, (x.images || []).slice(0, 3).map((name) => h('img', {src: `/image/${encodeURIComponent(name)}`, alt: `image of ${x.title}`,
      loading: 'lazy'}))),
    h('figcaption', {}, x.link ? h('a', {href: x.link, target: '_blank', rel: 'noopener noreferrer'}, x.title) : x.title)))
      : h('p', {class: 'soft'}, failed || 'There is no landmark with this tag in tags.jsonl.'));
}
