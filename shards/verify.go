package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"hgld/internal/crash"
)

// VerifyOptions configure Verify. With a Slice n of Of (1 ≤ n ≤ Of), it reads every
// Of-th shard, so that Of runs together read everything. The zero value reads
// everything.
type VerifyOptions struct {
	// Slice and Of choose every Of-th shard, from Slice on, counted from 1. Zeros choose
	// all.
	Slice, Of int
	// Report, if not nil, is called for every difference, in the order of the files.
	Report func(*DamageError)
	// Progress, if not nil, is called after every shard.
	Progress func(done, total int, shard string)
}

// Verified is the outcome of Verify.
type Verified struct {
	Files  int            `json:"files"`  // compared
	Rows   int            `json:"rows"`   // compared
	Bytes  int64          `json:"bytes"`  // read
	Damage []*DamageError `json:"damage"` // what differs, in the order of the files
}

// Verify compares a data set with its hashes: MANIFEST.json with SHA256SUMS, every file
// with the manifest, and in intact files every row with its sidecar and every image
// with its own SHA-256. It finds one changed byte anywhere. Missing and unreadable
// files are damage too, and Verify continues after them; if the manifest cannot be
// read, it uses SHA256SUMS. A data set without rows is damaged. The error is that of
// ctx, or says that dir is not a data set.
func Verify(ctx context.Context, dir string, o VerifyOptions) (result *Verified, err error) {
	defer nameFolder(&err, dir)
	at, err := folderAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	view, release := at.snapshot()
	defer release()
	v := &verifier{dir: view, o: o}
	if err := v.run(ctx); err != nil {
		return nil, err
	}
	return &v.result, nil
}

type verifier struct {
	dir    folder
	o      VerifyOptions
	result Verified
}

func (v *verifier) report(d *DamageError) {
	v.result.Damage = append(v.result.Damage, d)
	if v.o.Report != nil {
		v.o.Report(d)
	}
}

func (v *verifier) run(ctx context.Context) error {
	if v.o.Of == 0 {
		v.o.Slice, v.o.Of = 1, 1
	}
	if v.o.Slice < 1 || v.o.Slice > v.o.Of {
		return fmt.Errorf("slice %d of %d", v.o.Slice, v.o.Of)
	}
	sums, unread := v.dir.read(SumsFile, maxManifest)
	m, data, err := readManifest(v.dir)
	if err != nil {
		noSet := errors.Is(err, fs.ErrNotExist) && errors.Is(unread, fs.ErrNotExist)
		if noSet || errors.Is(err, errNewer) {
			return err
		}
		if err := v.damaged(ManifestFile, err); err != nil {
			return err
		}
		return v.bySums(ctx, sums, unread)
	}
	v.result.Files, v.result.Bytes = 2, int64(len(data)+len(sums))
	if unread != nil {
		if err := v.damaged(SumsFile, unread); err != nil {
			return err
		}
	} else if !bytes.Equal(sums, m.sums(data)) {
		v.report(&DamageError{SumsFile, -1, "does not agree with " + ManifestFile + ", or that one is damaged"})
	}
	return v.byManifest(ctx, m)
}

// bySums compares the files with SHA256SUMS, if there is no manifest to compare them
// with.
func (v *verifier) bySums(ctx context.Context, sums []byte, unread error) error {
	if unread != nil {
		return v.damaged(SumsFile, unread)
	}
	v.result.Files, v.result.Bytes = 1, int64(len(sums))
	for n, line := range strings.Split(strings.TrimSuffix(string(sums), "\n"), "\n") {
		sum, name, ok := strings.Cut(line, "  ")
		var want Hash
		if !ok || want.UnmarshalText([]byte(sum)) != nil || !fs.ValidPath(name) {
			v.report(&DamageError{SumsFile, -1, fmt.Sprintf("line %d is no SHA-256 with the name of a file", n+1)})
			continue
		}
		if name == ManifestFile {
			continue // reported already
		}
		if _, err := v.hash(ctx, name, -1, want); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) byManifest(ctx context.Context, m *Manifest) error {
	if !slices.ContainsFunc(m.Files, func(f File) bool { return f.Rows > 0 }) {
		v.report(&DamageError{ManifestFile, -1, "names no image: the data set is empty"})
	}
	if _, err := v.hash(ctx, FailuresFile, m.Failures.Bytes, m.Failures.SHA256); err != nil {
		return err
	}
	if err := v.companions(ctx, m); err != nil {
		return err
	}
	known, err := v.hash(ctx, HierarchyFile, m.Hierarchy.Bytes, m.Hierarchy.SHA256)
	if err != nil {
		return err
	}
	if err := v.reportUnlisted(m); err != nil {
		return err
	}
	set := &Set{dir: v.dir, manifest: m}
	if known {
		if set.classes, err = readClasses(v.dir, m); err != nil {
			if err := v.damaged(HierarchyFile, err); err != nil {
				return err
			}
		}
	}
	return v.shards(ctx, set)
}

// shards verifies the shards, one on each processor at a time, and reports what it finds in the order of the files.
func (v *verifier) shards(ctx context.Context, set *Set) error {
	type verified struct {
		number int
		of     *verifier
		err    error
	}
	files := set.manifest.Files
	queue := make(chan chan verified, runtime.GOMAXPROCS(0)-1) // one more is being waited for
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer crash.Guard()
		defer close(queue)
		for i := v.o.Slice - 1; i < len(files); i += v.o.Of {
			done := make(chan verified, 1)
			select {
			case queue <- done:
			case <-ctx.Done():
				return
			}
			go func() {
				defer crash.Guard()
				view, release := v.dir.snapshot()
				defer release()
				one := &verifier{dir: view}
				err := one.shard(ctx, set, files[i])
				done <- verified{i, one, err}
			}()
		}
	}()
	for done := range queue {
		d := <-done
		v.result.Files += d.of.result.Files
		v.result.Bytes += d.of.result.Bytes
		v.result.Rows += d.of.result.Rows
		for _, damage := range d.of.result.Damage {
			v.report(damage)
		}
		if d.err != nil {
			return d.err
		}
		if v.o.Progress != nil {
			v.o.Progress(d.number+1, len(files), files[d.number].Name)
		}
	}
	return ctx.Err()
}

// companions compares the companion files with their hashes.
func (v *verifier) companions(ctx context.Context, m *Manifest) error {
	for _, name := range companionFiles() {
		if c := m.companion(name); c != nil {
			if _, err := v.hash(ctx, name, c.Bytes, c.SHA256); err != nil {
				return err
			}
		} else if v.dir.mayExist(name) {
			v.report(&DamageError{name, -1, "is not in " + ManifestFile})
		}
	}
	return nil
}

// hash compares a file with its size and hash and reports whether they are right. A
// size of −1 is unknown. The error is that of ctx.
func (v *verifier) hash(ctx context.Context, name string, size int64, want Hash) (bool, error) {
	err := v.compare(ctx, name, size, want)
	if err == nil {
		return true, nil
	}
	return false, v.damaged(name, err)
}

// damaged reports an error in reading a file as damage, unless it is none: then it returns the error.
func (v *verifier) damaged(name string, err error) error {
	damage := asDamage(name, err)
	if damage == nil {
		return err
	}
	v.report(damage)
	return nil
}

func (v *verifier) compare(ctx context.Context, name string, size int64, want Hash) error {
	f, there, err := v.dir.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	v.result.Files++
	v.result.Bytes += there
	if size >= 0 && there != size {
		return &DamageError{name, -1, fmt.Sprintf("%d bytes, want %d", there, size)}
	}
	h := sha256.New()
	if err := hashFile(ctx, f, there, h); err != nil {
		return err
	}
	if got := Hash(h.Sum(nil)); got != want {
		return &DamageError{name, -1, fmt.Sprintf("sha256 %s, want %s", got, want)}
	}
	return nil
}

// reportUnlisted reports shards that are not in the manifest, because other readers take all
// of data/*.parquet.
func (v *verifier) reportUnlisted(m *Manifest) error {
	known := map[string]bool{}
	for _, f := range m.Files {
		known[f.Name], known[indexName(f.Name)] = true, true
	}
	names, err := v.dir.list("data")
	if err != nil {
		if err := v.damaged("data", err); err != nil {
			return err
		}
	}
	for _, name := range names {
		name = "data/" + name
		if ext := path.Ext(name); !known[name] && (ext == ".parquet" || ext == ".idx") {
			v.report(&DamageError{name, -1, "is not in " + ManifestFile})
		}
	}
	return nil
}

// shard verifies a shard with its sidecar. If the shard is damaged, or there is no tree
// of classes, it still reports which images are damaged.
func (v *verifier) shard(ctx context.Context, set *Set, f File) error {
	known, err := v.hash(ctx, indexName(f.Name), f.IndexBytes, f.IndexSHA256)
	if err != nil {
		return err
	}
	whole, err := v.hash(ctx, f.Name, f.Bytes, f.SHA256)
	if err != nil {
		return err
	}
	v.result.Rows += f.Rows
	x, err := readIndex(v.dir, f, set.manifest)
	if err != nil {
		name := indexName(f.Name)
		if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == f.Name {
			name = f.Name // it is looked at once more, for its size
		}
		if known && whole { // else it was found already as a wrong hash, size or missing file
			return v.damaged(name, err)
		}
		return nil
	}
	sh := &shard{file: f, dir: v.dir, name: f.Name, index: x}
	defer func() {
		if sh.handle != nil {
			sh.handle.Close()
		}
	}()
	if !whole || set.classes == nil {
		return v.images(ctx, sh)
	}
	sh.sound = true
	if err := v.rows(ctx, set, sh); err != nil {
		return v.damaged(f.Name, err)
	}
	return nil
}

// images reports the damaged images of a damaged shard.
func (v *verifier) images(ctx context.Context, sh *shard) error {
	var buf []byte
	if _, err := sh.open(); err != nil {
		return nil // found already
	}
	for r := range sh.index.rows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		buf = append(buf[:0], make([]byte, sh.index.lengths[r])...)
		if err := sh.read(ctx, buf, r, r+1); err != nil {
			damage := asDamage(sh.file.Name, err)
			if damage == nil {
				return err
			}
			damage.Row = r
			v.report(damage)
		}
	}
	return nil
}

// rows compares every row of an intact shard with its sidecar and its own hash.
func (v *verifier) rows(ctx context.Context, set *Set, sh *shard) error {
	fresh, err := set.reindex(ctx, sh, func(at int, row *Row) {
		if sum := sha256.Sum256(row.Image); sum != row.SHA256 {
			v.report(&DamageError{sh.file.Name, at, fmt.Sprintf("image %s: sha256 %x, want %x", row.ID, sum, row.SHA256)})
		}
		if row.Split != sh.file.Split {
			v.report(&DamageError{sh.file.Name, at, fmt.Sprintf("split %.80q in a shard of %.80q", row.Split, sh.file.Split)})
		}
	})
	if err != nil {
		return err
	}
	if !fresh.equal(sh.index) {
		v.report(&DamageError{indexName(sh.file.Name), -1, "does not agree with its shard"})
	}
	return nil
}

// reindex rebuilds the index of an intact shard from its rows, and passes each to see.
func (s *Set) reindex(ctx context.Context, sh *shard, see func(at int, row *Row)) (*index, error) {
	x := &index{levels: len(s.manifest.Levels), shardBytes: sh.file.Bytes, shardSHA: sh.file.SHA256}
	err := s.eachRow(ctx, sh, true, func(at int, row *Row) error {
		see(at, row)
		x.add(row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if x.shardCRC, err = crcFile(ctx, sh.handle, sh.file.Bytes); err != nil {
		return nil, err
	}
	if err := x.locate(sh.handle); err != nil {
		return nil, &DamageError{sh.file.Name, -1, err.Error()}
	}
	return x, nil
}
