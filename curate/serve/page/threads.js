import {h, key, shown} from './dom.js';
import {FLAGGED} from './model.js';
import {ask} from './net.js';
import {flag, note} from './commands.js';

const most = 50; // threads that are remembered

// Threads are what was written about the current label and its group: flags, with replies, and notes.
export class Threads {
  constructor(app) { Object.assign(this, {app, known: new Map(), asking: false}); }

  // key names a label or group and the version of what is known about it.
  key({level, at}) { return `${level} ${at} ${this.app.model.version}`; }

  // ask requests the threads of what is shown, if it has any, one request at a time.
  async ask() {
    const place = this.asking ? null : written(this.app).find((x) => !this.known.has(this.key(x)));
    if (!place) return;
    const wanted = this.key(place);
    this.asking = true;
    let flags = [], notes = [];
    try { ({flags, notes} = await ask(`/api/threads?level=${place.level}&at=${place.at}`)); } catch { /* the last ones are shown without their threads */ }
    this.asking = false;
    if (this.known.size >= most) this.known.clear();
    this.known.set(wanted, {flags, notes});
    this.app.view.draw();
  }

  // sections shows the threads of the group, then those of the label. Until the server has answered, and of what another
  // log wrote, only the last part is there.
  sections() {
    return written(this.app).flatMap((x) => {
      const known = this.known.get(this.key(x)), parts = (kind, last) => (known?.[kind].length ? known[kind] : [last]);
      const on = x.level ? ` on “${shown(x.group.name)}”` : '';
      const flags = x.flagged ? [section(`Flag${on}`, parts('flags', {by: x.by || (x.level ? '' : 'unknown'), note: x.flag}),
        [['Reply', x.level ? '' : 'f', () => flag(this.app, false, x.group)], ['Resolve', x.level ? '' : 'F', () => flag(this.app, true, x.group)]])] : [];
      const list = x.note ? parts('notes', {note: x.note}) : [];
      const notes = `${list.length > 1 ? 'Notes' : 'Note'}${on}`, add = ['Add', x.level ? '' : 't', () => note(this.app, x.group)];
      return list.length ? [...flags, section(notes, list, [add])] : flags;
    });
  }
}

// written lists what is shown and has a flag or a note: the group of the screen, and the current label.
function written({model: m, view}) {
  const list = [], i = view.current();
  const g = view.kind === 'group' ? m.groups[1][view.at] : null;
  if (g && (g.flagged || g.note)) list.push({level: 1, at: g.at, group: g, flagged: g.flagged, flag: g.flag, note: g.note});
  if (i !== undefined && view.kind !== 'review') {
    const [, text, last, by] = m.remarks.get(i) || [], flagged = m.status[i] & FLAGGED;
    if (flagged || last) list.push({level: 0, at: i, group: null, flagged, flag: text, by, note: last});
  }
  return list;
}

// section shows what curators wrote, and buttons as [name, key, run]. The keys are for labels, unless the tree has the
// focus. A note of another log has no number.
function section(title, list, buttons) {
  const who = (e) => (e.seq ? [e.by || 'unknown', new Date(e.at).toLocaleDateString('en-CA'), e.resolved ? 'resolved' : '']
    : [e.by || (e.op ? 'another log' : '')]).filter(Boolean).join(' · ');
  return h('section', {class: 'thread'}, h('h2', {}, title), list.map((e) => h('div', {}, h('p', {class: 'soft'}, who(e)),
    h('p', {dir: 'auto'}, e.note || 'no reason'))),
  h('p', {class: 'buttons'}, buttons.map(([name, k, run]) => h('button', {type: 'button', onclick: run}, name, k ? [' ', key(k)] : null))));
}
