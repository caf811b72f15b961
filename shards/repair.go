package shards

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
)

// Repair makes anew, from the shards, what is missing or damaged of the sidecars, of
// failures.jsonl and of the companions, and returns the names of the files. taxonomy
// writes the tree of classes, as for Build. A shard that is damaged itself is left
// alone, a *DamageError; so is a file that does not come out as the manifest says, and
// BUILD.json, which tells what no shard knows.
func Repair(ctx context.Context, dir string, taxonomy TaxonomyWriter) ([]string, error) {
	fixed, err := repair(ctx, dir, taxonomy)
	if err != nil {
		return fixed, fmt.Errorf("shards: %s: %w", dir, err)
	}
	return fixed, nil
}

func repair(ctx context.Context, dir string, taxonomy TaxonomyWriter) (fixed []string, err error) {
	m, _, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	classes, err := readClasses(dir, m)
	if err != nil {
		return nil, err
	}
	set := &Set{dir: dir, manifest: m, classes: classes}
	for _, f := range m.Files {
		v := &verifier{dir: dir}
		good, err := v.hash(ctx, indexName(f.Name), f.IndexBytes, f.IndexSHA256)
		if err != nil {
			return fixed, err
		}
		if good {
			continue
		}
		whole, err := v.hash(ctx, f.Name, f.Bytes, f.SHA256)
		if err != nil {
			return fixed, err
		}
		if !whole {
			return fixed, v.result.Damage[len(v.result.Damage)-1]
		}
		if err := set.rewriteIndex(ctx, f); err != nil {
			return fixed, err
		}
		fixed = append(fixed, indexName(f.Name))
	}
	made, err := set.repairBeside(ctx, taxonomy)
	return append(fixed, made...), err
}

// repairBeside makes what stands beside the shards anew, where it is not as the
// manifest says.
func (s *Set) repairBeside(ctx context.Context, taxonomy TaxonomyWriter) (fixed []string, err error) {
	bad, err := s.badBeside(ctx)
	if err != nil || len(bad) == 0 {
		return nil, err
	}
	to := &beside{dir: s.dir}
	defer func() { err = errors.Join(err, to.close()) }()
	var failures []Failure
	for _, f := range s.manifest.Files {
		x, err := readIndex(s.dir, f, s.manifest)
		if err != nil {
			return nil, err
		}
		sh := &shard{file: f, path: filepath.Join(s.dir, f.Name), index: x}
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
		if err := s.describe(ctx, to, failures); err != nil {
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
			damage = append(damage, &DamageError{name, -1, "cannot be made from the shards; `hgld shards build` with the same inputs writes it"})
		case f.hash() != s.wanted(name).SHA256:
			damage = append(damage, &DamageError{name, -1, "made anew, it differs from " + ManifestFile})
		default:
			if err := f.file.Commit(); err != nil {
				return fixed, err
			}
			fixed = append(fixed, name)
		}
	}
	return fixed, errors.Join(damage...)
}

// badBeside names the files that are not as the manifest says.
func (s *Set) badBeside(ctx context.Context) (map[string]bool, error) {
	bad := map[string]bool{}
	for _, name := range append([]string{FailuresFile}, companionFiles()...) {
		want := s.wanted(name)
		if want == nil {
			continue
		}
		good, err := (&verifier{dir: s.dir}).hash(ctx, name, want.Bytes, want.SHA256)
		if err != nil {
			return nil, err
		}
		if !good {
			bad[name] = true
		}
	}
	return bad, nil
}

// wanted is what the manifest says of a file beside the shards, nil where it has none.
func (s *Set) wanted(name string) *Sum {
	if name == FailuresFile {
		return &s.manifest.Failures
	}
	if c := s.manifest.companion(name); c != nil {
		return &Sum{c.Rows, c.Bytes, c.SHA256}
	}
	return nil
}

// failures reads what is missing of the shard from its footer.
func (sh *shard) failures() ([]Failure, error) {
	f, err := os.Open(sh.path)
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

// rewriteIndex writes the sidecar of a shard whose hash is right.
func (s *Set) rewriteIndex(ctx context.Context, f File) error {
	sh := &shard{file: f, path: filepath.Join(s.dir, f.Name), sound: true}
	x, err := s.reindex(ctx, sh, func(int, *Row) {})
	if sh.handle != nil {
		defer sh.handle.Close()
	}
	if err != nil {
		return err
	}
	data := x.encode()
	if sha256.Sum256(data) != f.IndexSHA256 {
		return &DamageError{indexName(f.Name), -1, "made anew, it differs from " + ManifestFile}
	}
	return atomicfile.WriteFile(filepath.Join(s.dir, indexName(f.Name)), data)
}
