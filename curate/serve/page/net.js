// Communication with the server. An edit waits in a queue until the server has it on disk. The queue
// is in the browser's storage, with one key for each edit and a prefix for each log, so that a
// reload or a new link finds it again. Each edit has an ID: if it is sent twice, it is applied once.
// It is sent with the version that its author saw, so that changes by others are noticed.
//
// The key of the link, after the # of the address, is exchanged for a pass. The pass belongs to this
// tab and ends with the server. Every request carries the pass's token, and none its secret. The
// server proves each answer with the secret. A program that has taken the server's port can
// therefore not make the page believe that an edit is saved.

// Refused is the error of an answer with a status other than 200.
export class Refused extends Error {
  constructor(status, text, body) { super(text); this.status = status; this.body = body; }
}

// Stranger is the error of an answer that lacks the server's proof.
export class Stranger extends Error {
  constructor() { super(`The server that this page was opened with has ended. ${wayBack()}`); }
}

const passKey = 'hgld pass';
let pass = null; // {token, secret, queue, person}
let prover = null; // the secret as a key

function admit(p) {
  pass = p;
  prover = crypto.subtle.importKey('raw', new TextEncoder().encode(p.secret), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign']);
}

// isPerson tells whether this tab was opened by a person's own link.
export const isPerson = () => !!pass?.person;

// wayBack says how whoever is at this tab gets access again. A person's link outlives the server, unless it was taken away.
export const wayBack = () => (pass?.person ? `The link of ${pass.person} opens this page no longer: whoever runs it has taken it away or replaced it. `
  + 'Ask them for your link, and open it in this browser.' : 'Open the latest link that the server printed, in this tab or another.');

// proof is the server's answer to a nonce.
async function proof(nonce) {
  const sum = await crypto.subtle.sign('HMAC', await prover, new TextEncoder().encode(`proof ${nonce}`));
  return Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, '0')).join('');
}

// enter exchanges a link's key for a pass. If the link has been used, a tab with a pass keeps it.
async function enter(key) {
  const r = await fetch('/api/open', {method: 'POST', cache: 'no-store', redirect: 'error', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({key})});
  const text = await r.text();
  if (r.ok) {
    sessionStorage.setItem(passKey, text);
    admit(JSON.parse(text));
  } else if (!pass) throw new Refused(r.status, text.trim());
}

let opening = null; // while a link is being opened

// openLink uses the key in the address, if there is one, and removes it from the address.
function openLink() {
  if (!location.hash.startsWith('#key=')) return false;
  const key = location.hash.slice('#key='.length);
  history.replaceState(history.state, '', location.pathname);
  opening = enter(key).finally(() => { opening = null; });
  return true;
}

try { admit(JSON.parse(sessionStorage.getItem(passKey))); } catch { /* this tab has no pass */ }
openLink();

// A link that is opened in a tab with the page continues with the page, unless the link belongs to
// another log.
addEventListener('popstate', async (e) => {
  const queue = pass?.queue;
  if (!openLink()) return;
  e.stopImmediatePropagation(); // the screen stays
  try { await opening; } catch { return; }
  if (document.body.dataset.ready !== 'yes' || pass.queue !== queue) location.reload(); else dispatchEvent(new Event('readmitted'));
});

// Gone is the error of a request that the server does not answer.
export class Gone extends Error {
  constructor() { super('The server does not answer'); }
}

const longest = 120 * 1000; // milliseconds that a request takes: a map of very many labels is slow

// ask sends a request and returns the answer. The error is Gone if the server cannot be reached or
// takes more than limit milliseconds, Stranger if another program answered, and Refused for a status
// other than 200.
export async function ask(path, body, limit = longest) {
  if (opening) await opening;
  if (!pass) throw new Refused(403, 'This tab has no access; open the latest link that the server printed, or your own link');
  const nonce = crypto.randomUUID();
  const proved = proof(nonce);
  const headers = {'X-Hgld-Token': pass.token, 'X-Hgld-Nonce': nonce};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let r, text;
  try {
    r = await fetch(path, {method: body === undefined ? 'GET' : 'POST', signal: AbortSignal.timeout(limit), cache: 'no-store', redirect: 'error', headers,
      body: body === undefined ? undefined : JSON.stringify(body)});
    text = await r.text();
  } catch { throw new Gone(); }
  if (r.headers.get('X-Hgld-Proof') !== await proved) throw new Stranger();
  const json = (r.headers.get('Content-Type') || '').startsWith('application/json') ? JSON.parse(text) : null;
  if (!r.ok) throw new Refused(r.status, (json && json.error) || text.trim(), json);
  return json;
}

const slow = 3000; // milliseconds after which an edit without an answer is reported
const editLimit = 20 * 1000; // after which it is sent again
const waitLimit = 10 * 1000; // after which the next attempt to reach the server begins
const pollLimit = 40 * 1000; // the server answers a request for changes within 20 s

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Sender {
  // on: {changed(byOthers), undone(edits), saved(answer, edit, marks), slow(waiting), gone(waiting, ended), back(),
  // conflict(held), refused(edit, why), otherDraft()}
  constructor(model, on) {
    this.model = model;
    this.on = on;
    this.queue = [];
    this.page = crypto.randomUUID(); // edits of one page were made in knowledge of those before them
    this.held = null; // {why, again} of an edit that waits for the curator's decision; again names the button that sends it
    this.busy = false;
    this.lost = false;
    this.ended = false; // it has ended, and another one answers
    this.late = false; // an edit has waited long for its answer
    this.prefix = `hgld edit ${model.queue} `;
    this.adopt();
    this.showAll();
    addEventListener('readmitted', () => { this.adopt(); this.showAll(); this.on.changed(); });
  }

  // adopt takes over the edits of this log in the browser's storage that an earlier page, or a tab
  // without access, has not sent.
  adopt() {
    const mine = new Set(this.queue.map((q) => q.id));
    for (let i = 0; i < localStorage.length; i++) {
      const k = localStorage.key(i);
      if (!k.startsWith(this.prefix) || mine.has(k.slice(this.prefix.length))) continue;
      const q = JSON.parse(localStorage.getItem(k));
      Object.defineProperty(q, 'stored', {value: true, writable: true});
      this.queue.push(q);
    }
    this.queue.sort((a, b) => a.made - b.made);
  }

  // next numbers the edits of this browser for the log, in the order in which they were made: its clock may step back.
  next() {
    const k = `hgld made ${this.model.queue}`, n = Math.max(Number(localStorage.getItem(k)) || 0, ...this.queue.map((q) => q.made)) + 1;
    try { localStorage.setItem(k, String(n)); } catch { /* the storage is full: the queue alone has the order */ }
    return n;
  }

  // add sends an edit, and stores and shows it while it is on its way. tags are its labels, and marks
  // what was marked.
  add(edit, tags, marks) {
    const q = {id: crypto.randomUUID(), page: this.page, made: this.next(), draft: this.model.draft, base: this.model.version,
      target: this.model.placeOf(edit.to), edit};
    Object.defineProperties(q, {tags: {value: tags, writable: true}, marks: {value: marks}, began: {value: performance.now()},
      stored: {value: false, writable: true}}); // of this page; not stored
    this.queue.push(q);
    this.send();
    if (this.queue.includes(q)) this.store(q);
    this.model.show(edit, tags);
    this.on.changed();
    this.alarm();
  }

  // alarm says again why edits wait, now that there is one more.
  alarm() {
    if (this.lost) this.on.gone(this.queue.length, this.ended);
    else if (this.held) this.on.conflict(this.held);
    else if (this.late) this.on.slow(this.queue.length);
  }

  // showAll applies the waiting edits on top of the server's state.
  showAll() { for (const q of this.queue) this.model.show(q.edit, q.tags); }

  store(q) {
    try {
      localStorage.setItem(this.prefix + q.id, JSON.stringify(q));
      q.stored = true;
    } catch { /* the storage is full: the edit is only in the queue */ }
  }

  rebase(q, version) { q.base = version; this.store(q); }

  remove(q) {
    this.queue = this.queue.filter((x) => x !== q);
    localStorage.removeItem(this.prefix + q.id);
  }

  // apply takes over changes from the server, and then applies the waiting edits again. It ignores
  // changes of another draft; for these, watch reloads the page.
  apply(view) {
    if (view.version <= this.model.version || view.draft !== this.model.draft) return false;
    this.model.apply(view);
    this.showAll();
    return true;
  }

  async reload() {
    this.model.load(await ask('/api/state'));
    this.showAll();
  }

  async send() {
    if (this.busy || this.held) return;
    this.busy = true;
    while (this.queue.length && !this.held) {
      if (this.lost) { await this.waitForServer(); continue; }
      const q = this.queue[0];
      const of = typeof q.edit.of === 'string' ? this.model[q.edit.of] : q.edit.of; // "undo" or "redo"
      if (of === 0) { this.remove(q); this.on.changed(); continue; }
      const late = setTimeout(() => { this.late = true; this.on.slow(this.queue.length); }, slow);
      try {
        const a = await ask('/api/edit', {id: q.id, draft: q.draft, base: q.base, ...q.edit, ...(of === undefined ? {} : {of})}, editLimit);
        for (const x of this.queue) if (x !== q && x.page === q.page && x.base === a.seq - 1) this.rebase(x, a.seq); // its author knew this edit
        this.remove(q);
        this.serverBack();
        this.apply(a);
        if (q.began) performance.measure('edit saved', {start: q.began});
        this.on.saved(a, q.edit, q.marks);
        this.on.changed();
      } catch (e) {
        if (!(await this.failed(q, e))) break;
      } finally { clearTimeout(late); }
    }
    this.busy = false;
  }

  // failed handles an edit that was not saved. It returns whether the queue continues.
  async failed(q, e) {
    if (!(e instanceof Refused)) {
      this.serverGone(e);
      return true;
    }
    if (e.status === 409) {
      const overlap = await this.catchUp(q, e.body);
      this.on.changed();
      return overlap ? this.hold(overlap, 'Do it anyway') : true;
    }
    if (e.status !== 422) return this.hold(e.message, 'Try again');
    this.remove(q);
    try { await this.reload(); } catch (x) { this.serverGone(x); }
    this.on.refused(q.edit, e.message);
    this.on.changed();
    return true;
  }

  // hold stops the queue at an edit until the curator decides.
  hold(why, again) {
    this.held = {why, again};
    this.on.conflict(this.held);
    return false;
  }

  // catchUp takes over the newer state that conflicts with an edit, and returns why the curator must
  // decide, '' if the edit touches nothing that changed. Edits after it that were made on the same
  // version, and touch nothing that changed either, move to the new version with it.
  async catchUp(q, view) {
    const was = q.base;
    if (view.draft !== this.model.draft) {
      this.on.otherDraft();
      return 'the server shows another draft now';
    }
    if (view.draft !== q.draft) {
      this.apply(view);
      return 'made on another draft than this one';
    }
    if (view.version < was) {
      this.rebase(q, view.version);
      try { await this.reload(); } catch (e) { this.serverGone(e); }
      return 'the log holds fewer edits than this page has seen';
    }
    const overlap = this.overlaps(q, view);
    for (const x of this.queue) if (x === q || (x.base === was && !this.overlaps(x, view))) this.rebase(x, view.version);
    this.apply(view);
    return overlap;
  }

  // overlaps says which labels or groups of an edit others have changed meanwhile.
  overlaps({edit, target}, view) {
    if (!['accept', 'move', 'drop', 'flag', 'note', 'also'].includes(edit.op) || edit.level) return 'groups have changed meanwhile';
    const changed = new Set(view.tags.at || []);
    const both = edit.from.filter((r) => changed.has(this.model.tagOf(r)));
    if (both.length) return `“${both[0].name}”${both.length > 1 ? ` and ${both.length - 1} more` : ''} changed meanwhile`;
    const now = view.groups.find((g) => g.level === 1 && g.at === target);
    if (now && now.gone) return `the group “${edit.to}” is gone`;
    return now && now.name !== edit.to ? `the group “${edit.to}” is called “${now.name}” now` : '';
  }

  // retry sends the waiting edits on the present version, because their author has now seen it. Edits
  // of another draft are made on this one, where their group may have another number.
  retry() {
    for (const q of this.queue) {
      if (q.draft !== this.model.draft) {
        Object.assign(q, {draft: this.model.draft, target: q.edit.to ? this.model.placeOf(q.edit.to) : -1});
      }
      this.rebase(q, this.model.version);
    }
    this.held = null;
    this.send();
  }

  async discard() {
    for (const q of [...this.queue]) this.remove(q);
    this.held = null;
    await this.reload();
    this.on.changed();
  }

  // serverGone notes that the server is gone. If it has ended and another tab has the new link, that
  // tab may have sent the edits that wait here.
  serverGone(e) {
    this.lost = true;
    this.ended = e instanceof Stranger;
    if (this.ended) this.queue = this.queue.filter((q) => !q.stored || localStorage.getItem(this.prefix + q.id) !== null);
    this.on.gone(this.queue.length, this.ended);
  }

  // waitForServer waits until the server answers again. It sends no edit before the answer is
  // proved.
  async waitForServer() {
    while (this.lost) {
      await sleep(700);
      try {
        await ask(`/api/changes?since=${this.model.version}`, undefined, waitLimit);
        this.serverBack();
      } catch (e) { this.serverGone(e); }
    }
  }

  serverBack() {
    if (!this.lost && !this.late) return;
    this.lost = this.late = false;
    this.on.back();
    if (this.held) this.on.conflict(this.held);
  }

  // watch requests changes by other pages, and notices when the server is gone.
  async watch() {
    for (;;) {
      try {
        const v = await ask(`/api/changes?since=${this.model.version}${this.lost ? '' : '&wait=1'}&at=${encodeURIComponent(this.on.place())}`, undefined,
          pollLimit);
        this.serverBack();
        if (v.draft !== this.model.draft) { this.on.otherDraft(); return; }
        if (v.version < this.model.version) { await this.reload(); this.on.changed(true); }
        if (this.apply(v)) this.on.changed(true);
        if (v.undone) this.on.undone(v.undone);
        this.on.others(v.others || {});
        this.send();
      } catch (e) {
        this.serverGone(e);
        await sleep(800);
      }
    }
  }
}
