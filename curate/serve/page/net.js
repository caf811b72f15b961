// How the page talks to the server. An edit waits in a queue until the server has
// it on disk; the queue is kept in the browser's storage under one key an edit, so
// that a reload or a new link finds it again; a log has keys of its own. An edit is
// sent under an id: sent twice, it is made once. It is sent with the version that
// its author saw, so what others did meanwhile is noticed.
//
// The link's key, behind the # of the address, is exchanged for a pass. The pass lives
// in this tab and ends with the server. Its token goes with every request, its secret
// with none: by the secret the server proves every answer. So nothing is taken for
// saved that a program says which has taken the server's place.

export class Refused extends Error {
  constructor(status, text, body) { super(text); this.status = status; this.body = body; }
}

// Stranger is the error of an answer that lacks the server's proof.
export class Stranger extends Error {
  constructor() { super('The server that this page was opened with has ended. Open the latest link of hgld curate serve, in this tab or another'); }
}

const kept = 'hgld pass';
let pass = null; // {token, secret, queue}
let prover = null; // the secret as a key

function admit(p) {
  pass = p;
  prover = crypto.subtle.importKey('raw', new TextEncoder().encode(p.secret), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign']);
}

// proof is what the server answers to a nonce.
async function proof(nonce) {
  const sum = await crypto.subtle.sign('HMAC', await prover, new TextEncoder().encode(`proof ${nonce}`));
  return Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, '0')).join('');
}

// enter exchanges a link's key for a pass. A tab that has one keeps it if the link was
// used.
async function enter(key) {
  const r = await fetch('/api/open', {method: 'POST', cache: 'no-store', redirect: 'error', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({key})});
  const text = await r.text();
  if (r.ok) {
    sessionStorage.setItem(kept, text);
    admit(JSON.parse(text));
  } else if (!pass) throw new Refused(r.status, text.trim());
}

let opening = null; // while a link is being opened

// openLink opens the link in the address, if there is one, and takes it out of there.
function openLink() {
  if (!location.hash.startsWith('#key=')) return false;
  const key = location.hash.slice('#key='.length);
  history.replaceState(history.state, '', location.pathname);
  opening = enter(key).finally(() => { opening = null; });
  return true;
}

try { admit(JSON.parse(sessionStorage.getItem(kept))); } catch { /* this tab has no pass */ }
openLink();

// A link that is opened in a tab where the page stands goes on with the page, unless it
// is another log's.
addEventListener('popstate', async (e) => {
  const queue = pass?.queue;
  if (!openLink()) return;
  e.stopImmediatePropagation(); // what is in sight stays
  try { await opening; } catch { return; }
  if (document.body.dataset.ready !== 'yes' || pass.queue !== queue) location.reload(); else dispatchEvent(new Event('readmitted'));
});

// ask sends a request. A server that cannot be reached is a TypeError, an answer
// of another than the server a Stranger, one other than 200 is Refused.
export async function ask(path, body, signal) {
  if (opening) await opening;
  if (!pass) throw new Refused(403, 'This tab has no access; open the latest link of hgld curate serve');
  const nonce = crypto.randomUUID();
  const proved = proof(nonce);
  const headers = {'X-Hgld-Token': pass.token, 'X-Hgld-Nonce': nonce};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const r = await fetch(path, {method: body === undefined ? 'GET' : 'POST', signal, cache: 'no-store', redirect: 'error', headers,
    body: body === undefined ? undefined : JSON.stringify(body)});
  const text = await r.text();
  if (r.headers.get('X-Hgld-Proof') !== await proved) throw new Stranger();
  const json = (r.headers.get('Content-Type') || '').startsWith('application/json') ? JSON.parse(text) : null;
  if (!r.ok) throw new Refused(r.status, (json && json.error) || text.trim(), json);
  return json;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Sender {
  // on: {changed(byOthers), saved(answer, edit), gone(waiting, ended), back(), conflict(edit, why), refused(edit, why), another()}
  constructor(model, on) {
    this.model = model;
    this.on = on;
    this.queue = [];
    this.page = crypto.randomUUID(); // who waits in the same page has seen what waits before it
    this.held = null; // {edit, why} that waits for a decision
    this.busy = false;
    this.lost = false;
    this.prefix = `hgld edit ${model.queue} `;
    this.adopt();
    this.showAll();
    addEventListener('readmitted', () => { this.adopt(); this.showAll(); this.on.changed(); });
  }

  // adopt takes over what the browser's storage keeps for this log: what an earlier
  // page, or a tab that is shut out, has not sent.
  adopt() {
    const mine = new Set(this.queue.map((q) => q.id));
    for (let i = 0; i < localStorage.length; i++) {
      const k = localStorage.key(i);
      if (!k.startsWith(this.prefix) || mine.has(k.slice(this.prefix.length))) continue;
      const q = JSON.parse(localStorage.getItem(k));
      Object.defineProperty(q, 'kept', {value: true, writable: true});
      this.queue.push(q);
    }
    this.queue.sort((a, b) => a.made - b.made);
  }

  // add sends an edit; what is kept and shown is done while it is on its way. Tags
  // are the labels it names.
  add(edit, tags) {
    const q = {id: crypto.randomUUID(), page: this.page, made: Date.now() + this.queue.length / 1000, draft: this.model.draft, base: this.model.version, target: this.model.placeOf(edit.to), edit};
    Object.defineProperties(q, {tags: {value: tags, writable: true}, began: {value: performance.now()}, kept: {value: false, writable: true}}); // of this page, nothing to keep
    this.queue.push(q);
    this.send();
    if (this.queue.includes(q)) this.keep(q);
    this.model.show(edit, tags);
    this.on.changed();
  }

  // showAll shows what waits on top of what the server has.
  showAll() { for (const q of this.queue) this.model.show(q.edit, q.tags); }

  keep(q) {
    try {
      localStorage.setItem(this.prefix + q.id, JSON.stringify(q));
      q.kept = true;
    } catch { /* full: the edit still is in the queue */ }
  }

  rebase(q, version) { q.base = version; this.keep(q); }

  done(q) {
    this.queue = this.queue.filter((x) => x !== q);
    localStorage.removeItem(this.prefix + q.id);
  }

  // take applies what the server says and then again what waits. What is of another
  // draft fits nothing here; watch has the page opened anew for that.
  take(view) {
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
      if (this.lost) { await this.reached(); continue; }
      const q = this.queue[0];
      const of = typeof q.edit.of === 'string' ? this.model[q.edit.of] : q.edit.of; // "undo" or "redo"
      if (of === 0) { this.done(q); this.on.changed(); continue; }
      try {
        const a = await ask('/api/edit', {id: q.id, draft: q.draft, base: q.base, ...q.edit, ...(of === undefined ? {} : {of})});
        for (const x of this.queue) if (x !== q && x.page === q.page && x.base === a.seq - 1) this.rebase(x, a.seq); // its author has seen this one
        this.done(q);
        this.found();
        this.take(a);
        if (q.began) performance.measure('edit saved', {start: q.began});
        this.on.saved(a, q.edit);
        this.on.changed();
      } catch (e) {
        if (!(await this.failed(q, e))) break;
      }
    }
    this.busy = false;
  }

  // failed deals with an edit that was not saved; true goes on with the queue.
  async failed(q, e) {
    if (!(e instanceof Refused)) {
      this.missing(e);
      return true;
    }
    if (e.status === 409) {
      const overlap = await this.catchUp(q, e.body);
      this.on.changed();
      return overlap ? this.hold(q, overlap) : true;
    }
    if (e.status !== 422) return this.hold(q, e.message);
    this.done(q);
    try { await this.reload(); } catch (x) { this.missing(x); }
    this.on.refused(q.edit, e.message);
    this.on.changed();
    return true;
  }

  hold(q, why) {
    this.held = {edit: q.edit, why};
    this.on.conflict(q.edit, why);
    return false;
  }

  // catchUp takes the state that an edit came too late for, and says what of the
  // edit it changes. Those that wait behind it were made on the same version: what
  // is their own needs no second look.
  async catchUp(q, view) {
    const was = q.base;
    if (view.draft !== this.model.draft) {
      this.on.another();
      return 'the server shows another draft now';
    }
    if (view.draft !== q.draft) {
      this.take(view);
      return 'made on another draft than this one';
    }
    if (view.version < was) {
      this.rebase(q, view.version);
      try { await this.reload(); } catch (e) { this.missing(e); }
      return 'the log holds fewer edits than this page has seen';
    }
    const overlap = this.overlaps(q, view);
    for (const x of this.queue) if (x === q || (x.base === was && !this.overlaps(x, view))) this.rebase(x, view.version);
    this.take(view);
    return overlap;
  }

  // overlaps says what of an edit somebody else has changed meanwhile.
  overlaps({edit, target}, view) {
    if (!['accept', 'move', 'drop', 'flag', 'note'].includes(edit.op) || edit.level) return 'groups have changed meanwhile';
    const changed = new Set(view.tags.at || []);
    const both = edit.from.filter((r) => changed.has(this.model.tagOf(r)));
    if (both.length) return `“${both[0].name}”${both.length > 1 ? ` and ${both.length - 1} more` : ''} changed meanwhile`;
    const now = view.groups.find((g) => g.level === 1 && g.at === target);
    if (now && now.gone) return `the group “${edit.to}” is gone`;
    return now && now.name !== edit.to ? `the group “${edit.to}” is called “${now.name}” now` : '';
  }

  // retry sends what waits: its author has seen what the page shows. What was made on
  // another draft is made on this one now, where its group may have another place.
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
    for (const q of [...this.queue]) this.done(q);
    this.held = null;
    await this.reload();
    this.on.changed();
  }

  // missing says that the server is gone. Where it has ended and another tab has the
  // new link, that tab may have sent what waits here.
  missing(e) {
    this.lost = true;
    const ended = e instanceof Stranger;
    if (ended) this.queue = this.queue.filter((q) => !q.kept || localStorage.getItem(this.prefix + q.id) !== null);
    this.on.gone(this.queue.length, ended);
  }

  // reached waits until the server answers again. Whoever answers is not told of edits
  // before it has proved itself.
  async reached() {
    while (this.lost) {
      await sleep(700);
      try {
        await ask(`/api/changes?since=${this.model.version}`);
        this.found();
      } catch (e) { this.missing(e); }
    }
  }

  found() {
    if (!this.lost) return;
    this.lost = false;
    this.on.back();
    if (this.held) this.on.conflict(this.held.edit, this.held.why);
  }

  // watch asks for what other pages change, and notices when the server is gone.
  async watch() {
    for (;;) {
      try {
        const v = await ask(`/api/changes?since=${this.model.version}${this.lost ? '' : '&wait=1'}`);
        this.found();
        if (v.draft !== this.model.draft) { this.on.another(); return; }
        if (v.version < this.model.version) { await this.reload(); this.on.changed(true); }
        if (this.take(v)) this.on.changed(true);
        this.send();
      } catch (e) {
        this.missing(e);
        await sleep(800);
      }
    }
  }
}
