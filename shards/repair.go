package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
)

// Repair rebuilds, from the shards, the sidecars, failures.jsonl and companion files
// that are missing or damaged, and returns their names. taxonomy writes the tree of
// classes, as for Build. Repair leaves a damaged shard alone and returns a
// *DamageError; the same holds for a file that does not come out as the manifest says,
// and for BUILD.json, which cannot be derived from the shards.
//
// suspects are files that Verify found damaged. A sidecar among them is rebuilt
// although its hash is right. If the result differs, the hash in the manifest belonged
// to a wrong sidecar, so MANIFEST.json and SHA256SUMS get the right one, provided that
// they agreed with each other.
func Repair(ctx context.Context, address string, taxonomy TaxonomyWriter, suspects ...string) (fixed []string,
	err error) {
	defer nameFolder(&err, address)
	dir, err := folderAt(ctx, address)
	if err != nil {
		return nil, err
	}
	m, data, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	sums, err := dir.read(SumsFile, maxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	classes, err := readClasses(dir, m)
	if err != nil {
		return nil, err
	}
	set := &Set{dir: dir, manifest: m, classes: classes}
	sound := bytes.Equal(sums, m.sums(data))
	mended := false // the manifest
	for i := range m.Files {
		f := &m.Files[i]
		_, bad := readIndex(dir, *f, m)
		if bad == nil && !slices.Contains(suspects, indexName(f.Name)) {
			continue
		}
		if err := compareAnew(ctx, dir, f); err != nil {
			return fixed, orDamage(f.Name, err)
		}
		was := *f
		if err := set.rewriteIndex(ctx, f, sound); err != nil {
			return fixed, err
		}
		mended = mended || was != *f
		fixed = append(fixed, indexName(f.Name))
	}
	if mended {
		if err := m.write(dir, dir.write); err != nil {
			return fixed, err
		}
		fixed = append(fixed, ManifestFile, SumsFile)
	}
	made, err := set.repairCompanions(ctx, taxonomy)
	return append(fixed, made...), err
}

// compareAnew compares a shard with its hash.
func compareAnew(ctx context.Context, dir folder, f *File) error {
	view, release := dir.snapshot()
	defer release()
	return (&verifier{dir: view}).compare(ctx, f.Name, f.Bytes, f.SHA256)
}

// orDamage turns an error in reading a file into a *DamageError, unless the reading was
// cancelled.
func orDamage(name string, err error) error {
	if damage := asDamage(name, err); damage != nil {
		return damage
	}
	return err
}

// repairCompanions rebuilds the companion files that are not as the manifest says.
func (s *Set) repairCompanions(ctx context.Context, taxonomy TaxonomyWriter) (fixed []string, err error) {
	bad, err := s.damagedCompanions(ctx)
	if err != nil || len(bad) == 0 {
		return nil, err
	}
	to := &companionWriter{dir: s.dir}
	defer func() { err = errors.Join(err, to.close()) }()
	var failures []Failure
	for _, f := range s.manifest.Files {
		x, err := readIndex(s.dir, f, s.manifest)
		if err != nil {
			return nil, err
		}
		sh := &shard{file: f, dir: s.dir, name: f.Name, index: x}
		s.shards = append(s.shards, sh)
		of, err := sh.failures()
		if err != nil {
			return nil, err
		}
		failures = append(failures, of...)
	}
	lines, err := encodeFailures(failures)
	if err != nil {
		return nil, err
	}
	if err := to.put(FailuresFile, lines); err != nil {
		return nil, err
	}
	if bad[AttributionFile] || bad[StatsFile] {
		if _, err := s.describe(ctx, to, failures); err != nil {
			return nil, err
		}
	}
	if bad[TaxonomyFile] {
		if err := s.writeTaxonomy(to, taxonomy); err != nil {
			return nil, err
		}
	}
	var damage []error
	for _, name := range append([]string{FailuresFile}, companionFiles()...) {
		if !bad[name] {
			continue // what was made of it goes with to.close
		}
		switch f := to.file(name); {
		case f == nil:
			damage = append(damage, &DamageError{name, -1,
				"cannot be rebuilt from the shards; build the data set again with the same inputs"})
		case f.hash() != s.companionSum(name).SHA256:
			damage = append(damage, &DamageError{name, -1, "made anew, it differs from " + ManifestFile})
		default:
			if err := f.file.Commit(f.hash()); err != nil {
				return fixed, err
			}
			fixed = append(fixed, name)
		}
	}
	return fixed, errors.Join(damage...)
}

// damagedCompanions returns the companion files that are not as the manifest says.
func (s *Set) damagedCompanions(ctx context.Context) (map[string]bool, error) {
	bad := map[string]bool{}
	for _, name := range append([]string{FailuresFile}, companionFiles()...) {
		want := s.companionSum(name)
		if want == nil {
			continue
		}
		view, release := s.dir.snapshot()
		good, err := (&verifier{dir: view}).hash(ctx, name, want.Bytes, want.SHA256)
		release()
		if err != nil {
			return nil, err
		}
		if !good {
			bad[name] = true
		}
	}
	return bad, nil
}

// companionSum returns the manifest's entry of a companion file, nil if there is none.
func (s *Set) companionSum(name string) *Sum {
	if name == FailuresFile {
		return &s.manifest.Failures
	}
	if c := s.manifest.companion(name); c != nil {
		return &Sum{c.Rows, c.Bytes, c.SHA256}
	}
	return nil
}

// failures reads the failures of a shard from its footer.
func (sh *shard) failures() ([]Failure, error) {
	f, _, err := sh.dir.open(sh.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	note, err := readFooter(f, sh.file.Bytes)
	if err != nil {
		return nil, &DamageError{sh.file.Name, -1, err.Error()}
	}
	return note.Failures, nil
}

// rewriteIndex writes the sidecar of a shard whose hash is right. With amend it also
// sets the sidecar's hash in f.
func (s *Set) rewriteIndex(ctx context.Context, f *File, amend bool) error {
	sh := &shard{file: *f, dir: s.dir, name: f.Name, sound: true}
	x, err := s.reindex(ctx, sh, func(int, *Row) {})
	if sh.handle != nil {
		defer sh.handle.Close()
	}
	if err != nil {
		return err
	}
	data := x.encode()
	if sum := Hash(sha256.Sum256(data)); sum != f.IndexSHA256 {
		if !amend {
			return &DamageError{indexName(f.Name), -1, "made anew, it differs from " + ManifestFile}
		}
		f.IndexBytes, f.IndexSHA256 = int64(len(data)), sum
	}
	if err := s.dir.checkPlace(indexName(f.Name)); err != nil {
		return err
	}
	return s.dir.write(indexName(f.Name), data)
}
