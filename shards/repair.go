package shards

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"hgld/internal/atomicfile"
)

// Repair makes missing and damaged sidecars anew from their shards, and returns
// their names. A shard that is damaged itself is left alone, a *DamageError; so is
// a sidecar that does not come out as the manifest says.
func Repair(ctx context.Context, dir string) ([]string, error) {
	fixed, err := repair(ctx, dir)
	if err != nil {
		return fixed, fmt.Errorf("shards: %s: %w", dir, err)
	}
	return fixed, nil
}

func repair(ctx context.Context, dir string) (fixed []string, err error) {
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
	return fixed, nil
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
