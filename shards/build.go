package shards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
	"hgld/internal/img"
	"hgld/labels"
)

// Options configure Build. The zero value of a field is its default.
type Options struct {
	Settings
	Hierarchy *labels.Hierarchy // classes in this order; nil: in the order of the items
	Tool      string            // hgld's version, for the record
	Made      Provenance        // further content of BUILD.json
	Taxonomy  TaxonomyWriter    // of taxonomy.skos.ttl; nil: none
	Workers   int               // images prepared at once; 0: one. It does not change the result
	HEIF      img.HEIFDecoder   // of HEIC and AVIF, which are stored as JPEG; nil: they are failures
	JPEG      img.JPEGDecoder   // of JPEG that the standard library refuses; nil: they are failures

	// Scratch, if not "", is a folder of this machine that exists. Shards lie there until they are complete.
	Scratch string

	// AllowMissing is the share of the images, from 0 to 1, that may be missing or
	// unusable. If there are more, Build returns a *RefusedError and writes no data
	// set.
	AllowMissing float64
	// Replace allows the data set to replace a finished one that has more images.
	Replace bool

	// Progress, if not nil, is called after every shard with the number of finished
	// images, by one goroutine at a time.
	Progress func(done, total int, shard string)
}

// Result is the outcome of Build.
type Result struct {
	Manifest *Manifest // of the finished data set
	Failures []Failure // images that were left out
	Notes    []string  // what is probably a mistake: names of classes, and images that occur twice
	Kept     int       // shards that were already built
	Before   bool      // Finish found a finished data set, and changed nothing
}

// shardsAtOnce is the number of shards written at the same time: while one is flushed
// to disk, the next is written.
const shardsAtOnce = 2

// Build writes the data set of src to dir, or continues a build that was stopped. It keeps
// existing shards that were made from the same items with the same settings. A damaged or
// missing image becomes a Failure in the result; an error, or the end of ctx, stops the
// build. Finished shards stay valid in any case, and the same call continues. A shard with
// failures is kept only if the same images still fail.
//
// A finished data set in dir stays unchanged until the new one is complete and may
// replace it: see RefusedError. Build returns a *ReadError if an image exists but
// cannot be read because of a fault of the disk or the network, and a
// *filelock.LockedError if another process works in the folder.
func Build(ctx context.Context, src Source, dir string, o Options) (r *Result, err error) {
	defer nameFolder(&err, dir)
	b, err := newBuilder(ctx, src, dir, o, nil)
	if err != nil {
		return nil, err
	}
	if err := b.checkPublishEarly(); err != nil {
		return nil, err
	}
	lock, err := prepareFolder(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := b.chooseFolder(); err != nil {
		return nil, err
	}
	if err := b.run(ctx, b.slice(1, 1)); err != nil {
		return nil, err
	}
	r, err = b.publish(ctx, func() ([]Input, error) {
		return src.Inputs(ctx, func(int) bool { return true })
	})
	if err != nil {
		return nil, err
	}
	return r, lock.Remove()
}

// nameFolder puts the folder of a data set before an error that a function of this package returns.
func nameFolder(err *error, dir string) {
	if *err != nil {
		*err = fmt.Errorf("shards: %s: %w", dir, *err)
	}
}

// withDefaults returns the options with the defaults of the fields that are zero.
func (o Options) withDefaults() Options {
	o.Workers = max(o.Workers, 1)
	if o.ShortSide > 0 && o.Quality == 0 {
		o.Quality = defaultQuality
	}
	if o.Shards == 0 && o.ImagesPerShard == 0 && o.ShardBytes == 0 {
		o.ShardBytes = 500e6 // what the Hub asks for
	}
	return o
}

// newBuilder plans the shards, and keeps the items of some groups: see makePlan.
func newBuilder(ctx context.Context, src Source, dir string, o Options, keep func(group int) bool) (*builder, error) {
	o = o.withDefaults()
	at, err := folderAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(ctx, src, o, keep)
	if err != nil {
		return nil, err
	}
	return &builder{dir: at, o: o, plan: p, preparer: newPreparer(o), made: make([]made, len(p.shards))}, nil
}

// LockName is the lock file in the folder of the data set. It also marks a folder whose
// build is not finished.
const LockName = ".hgld-build"

// prepareFolder locks dir and removes the unfinished files of a killed process. It returns
// an error if the folder has shards that hgld did not build.
func prepareFolder(ctx context.Context, dir folder) (lock, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	lock, err := dir.lock(ctx, LockName)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(markDurable(dir), dir.makeFolder("data"), endSlices(ctx, dir)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	dir.tidy([]string{"data", nextFolder}, append(companionFiles(), ManifestFile, SumsFile, HierarchyFile, FailuresFile))
	return lock, nil
}

// markDurable makes the name of the lock file durable. After a power cut, shards
// without a lock file would look like somebody else's.
func markDurable(dir folder) error { return dir.sync("") }

// makeFolder creates the folder of a data set, and returns an error if it has shards of another program. The folder of
// the shards comes after the mark: slices that start together would take it for somebody else's.
func makeFolder(dir folder) error {
	if err := dir.makeFolder(""); err != nil {
		return err
	}
	names, err := dir.list("data")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ours := dir.mayExist(LockName) || dir.mayExist(ManifestFile) || lostManifest(dir)
	for _, name := range names {
		if !ours && shardNames().MatchString("data/"+name) {
			return fmt.Errorf("data/%s exists, but %s does not: choose an empty folder", name, ManifestFile)
		}
	}
	return nil
}

// builder is a running build.
type builder struct {
	dir      folder
	o        Options
	plan     *plan
	preparer *preparer
	aside    bool // new shards go into nextFolder
	vouchers map[string][]partFile
	foreign  func(n, of int) bool // the slices whose parts vouch for other shards; nil: none
	outline  *Manifest            // for reading a shard with its sidecar before there is a manifest

	mu   sync.Mutex
	made []made // by shard
	done int    // images
}

// made is a finished shard.
type made struct {
	file     File
	at       string // where it lies now: under its name, or in nextFolder
	index    *index
	failures []Failure
	heif     string    // what converted HEIC and AVIF images; "" if there are none
	rows     *partRows // in a part; nil: they are read from the shard
	kept     bool
}

// shard returns the finished shard for reading.
func (m *made) shard(dir folder) *shard {
	return &shard{file: m.file, dir: dir, name: m.at, index: m.index, rows: m.rows, sound: true}
}

// run builds those of the given shards that are missing.
func (b *builder) run(ctx context.Context, shards []int) error {
	total := 0
	for _, i := range shards {
		total += b.plan.shards[i].count
	}
	if err := b.reuse(ctx, shards, total); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(shardsAtOnce)
	for _, i := range shards {
		if b.made[i].kept {
			continue
		}
		g.Go(func() error {
			defer crash.Guard()
			m, err := b.shard(ctx, &b.plan.shards[i])
			if err != nil {
				return fmt.Errorf("%s: %w", b.plan.shards[i].name, err)
			}
			b.made[i] = m
			b.report(i, total)
			return nil
		})
	}
	return g.Wait()
}

// listed returns a view of the folder to look at its shards: see withList. What is known of their sidecars is what the
// parts and a finished data set say.
func (b *builder) listed() folder {
	r, is := b.dir.(*remote)
	if !is {
		return b.dir
	}
	var files []File
	if m, err := readSound(r); err == nil {
		files = m.Files
	}
	for _, list := range b.vouchers {
		for _, v := range list {
			files = append(files, v.File)
		}
	}
	return withList(r, files)
}

// reuse finds those of the given shards that are there. It hashes as many at once as there are workers.
func (b *builder) reuse(ctx context.Context, shards []int, total int) (err error) {
	if b.vouchers, err = b.readVouchers(); err != nil {
		return err
	}
	there := b.listed()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.o.Workers)
	for _, i := range shards {
		g.Go(func() error {
			defer crash.Guard()
			m, ok, err := b.reuseShard(ctx, there, &b.plan.shards[i])
			if err != nil {
				return err
			}
			b.made[i] = m
			if ok {
				b.report(i, total)
			}
			return nil
		})
	}
	return g.Wait()
}

func (b *builder) report(shard, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += b.plan.shards[shard].count
	if b.o.Progress != nil {
		b.o.Progress(b.done, total, b.plan.shards[shard].name)
	}
}

// footer is the value of the footer key "hgld".
type footer struct {
	Version  int       `json:"hgld_shards"`
	Tool     string    `json:"tool"`
	Plan     Hash      `json:"plan"`
	Failures []Failure `json:"failures"`
	HEIF     string    `json:"heif,omitempty"` // Version of the decoder, if images were converted by it
}

// shard builds one shard. It prepares items in parallel and writes them in order.
func (b *builder) shard(ctx context.Context, p *planned) (made, error) {
	at := p.name
	if b.aside {
		at = waitingPath(p.name)
	}
	if err := b.dir.checkPlace(at, indexName(at)); err != nil {
		return made{}, err
	}
	w, err := createShard(b.dir, at, b.o.Scratch, b.plan.schema)
	if err != nil {
		return made{}, err
	}
	defer w.Close()
	note := footer{Version: shardVersion, Tool: b.o.Tool, Plan: p.key, Failures: []Failure{}}
	err = b.inOrder(ctx, p, func(r prepared) error {
		if r.failure != nil {
			r.failure.Shard = p.name
			note.Failures = append(note.Failures, *r.failure)
			return nil
		}
		if r.heif {
			note.HEIF = b.o.HEIF.Version()
		}
		return w.Write(r.row)
	})
	if err != nil {
		return made{}, err
	}
	text, err := json.Marshal(note)
	if err != nil {
		return made{}, err
	}
	file, err := w.Finish(string(text))
	if err != nil {
		return made{}, err
	}
	file.Name, file.Split, file.Plan = p.name, p.split, p.key
	return made{file: file, at: at, index: w.index, failures: note.Failures, heif: note.HEIF}, nil
}

// inOrder prepares the items of a shard, at most Workers at a time over all shards, and
// passes the results to use in the order of the items.
func (b *builder) inOrder(ctx context.Context, p *planned, use func(prepared) error) error {
	g, ctx := errgroup.WithContext(ctx)
	queue := make(chan chan prepared, b.o.Workers)
	g.Go(func() error {
		defer crash.Guard()
		defer close(queue)
		for i := range p.items {
			slot := make(chan prepared, 1)
			select {
			case queue <- slot:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := b.preparer.workers.Acquire(ctx, 1); err != nil {
				return err
			}
			g.Go(func() error {
				defer crash.Guard()
				defer b.preparer.workers.Release(1)
				r, err := b.preparer.prepare(ctx, &p.items[i], p.paths[i])
				slot <- r
				return err
			})
		}
		return nil
	})
	g.Go(func() error {
		defer crash.Guard()
		for slot := range queue {
			select {
			case r := <-slot:
				if r.row == nil && r.failure == nil {
					return ctx.Err() // cancelled while it was prepared
				}
				if err := use(r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}
