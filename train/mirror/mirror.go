// Package mirror keeps a copy of a run directory in an object store: each checkpoint after it is saved, and the small
// files beside it. A run whose directory is gone, or has only older checkpoints, continues from there.
//
//	checkpoints/step-00000500/…           its files; SHA256SUMS is written last and says that it is complete
//	run.yaml events.jsonl best.json eval.json
package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/objectstore"
	"hgld/internal/regular"
	"hgld/train"
	"hgld/train/history"
)

const sumsFile = "SHA256SUMS"

// most is the size of the largest small file.
const most = 1 << 30

func smallFiles() []string {
	return []string{history.SettingsFile, history.EventsFile, train.BestFile, history.EvaluationFile}
}

// Mirror is the copy of one run directory.
type Mirror struct {
	store *objectstore.Store
	dir   string
}

// Open returns the copy of the run directory dir at an address. It sends no request.
func Open(address, dir string) (*Mirror, error) {
	s, err := objectstore.Open(address)
	if err != nil {
		return nil, err
	}
	return &Mirror{s, dir}, nil
}

// OtherRunError says that a run directory and its copy are of different runs.
type OtherRunError struct {
	Dir   string // the run directory
	Store string // the address of the copy
}

// Error names both.
func (e *OtherRunError) Error() string {
	return fmt.Sprintf("%s and its copy %s are of different runs: their %s differ, and the copy has the newer checkpoint",
		e.Dir, e.Store, history.SettingsFile)
}

// DamagedError says that a checkpoint of the copy differs from its checksums.
type DamagedError struct {
	URL  string // of the file
	What string // what differs
}

// Error names the file.
func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.URL, e.What) }

// Fetched is the outcome of Fetch.
type Fetched struct {
	Checkpoint string  // name of the checkpoint that was brought; "": none is newer than those of the directory
	Damaged    []error // newer ones that were left out
}

// Fetch brings the newest complete checkpoint of the copy into the run directory, and the best one, if the directory
// has only older ones or none. It also brings the files beside them.
func (m *Mirror) Fetch(ctx context.Context) (*Fetched, error) {
	f := &Fetched{}
	steps, err := m.steps(ctx)
	if err != nil || len(steps) == 0 {
		return f, err
	}
	here, err := m.local()
	if err != nil {
		return nil, err
	}
	for _, step := range slices.Backward(steps) {
		if len(here) > 0 && step <= here[len(here)-1] {
			return f, nil
		}
		if err := m.checkSame(ctx, len(here) > 0); err != nil {
			return nil, err
		}
		err := m.fetchCheckpoint(ctx, step)
		if errors.As(err, new(*DamagedError)) {
			f.Damaged = append(f.Damaged, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		f.Checkpoint = step
		return f, m.fetchSmall(ctx, steps)
	}
	return nil, errors.Join(f.Damaged...)
}

// checkSame compares the settings of the run directory with those of the copy.
func (m *Mirror) checkSame(ctx context.Context, used bool) error {
	if !used {
		return nil
	}
	mine, err := regular.ReadFile(filepath.Join(m.dir, history.SettingsFile))
	if err != nil {
		return err
	}
	theirs, err := m.store.Read(ctx, history.SettingsFile, most)
	if err == nil && !bytes.Equal(mine, theirs) {
		err = &OtherRunError{m.dir, m.store.URL("")}
	}
	return err
}

var stepNames = regexp.MustCompile(`^step-\d{8,}$`)

// steps returns the names of the complete checkpoints of the copy, oldest first.
func (m *Mirror) steps(ctx context.Context) (list []string, err error) {
	names, err := m.store.Folders(ctx, history.CheckpointsFolder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !stepNames.MatchString(name) {
			continue
		}
		_, err := m.store.Stat(ctx, path.Join(history.CheckpointsFolder, name, sumsFile))
		if err == nil {
			list = append(list, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	slices.Sort(list)
	return list, nil
}

// local returns the names of the checkpoints of the run directory, oldest first.
func (m *Mirror) local() (list []string, err error) {
	entries, err := os.ReadDir(filepath.Join(m.dir, history.CheckpointsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && stepNames.MatchString(e.Name()) {
			list = append(list, e.Name())
		}
	}
	return list, nil
}

// fetchCheckpoint downloads a checkpoint. It appears in the run directory when it is complete and was compared with its
// checksums.
func (m *Mirror) fetchCheckpoint(ctx context.Context, step string) error {
	root := filepath.Join(m.dir, history.CheckpointsFolder)
	if err := atomicfile.MkdirAll(root, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // does nothing after the rename
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	at := path.Join(history.CheckpointsFolder, step)
	text, err := m.store.Read(ctx, path.Join(at, sumsFile), most)
	if err != nil {
		return asDamage(err)
	}
	sums, err := parseSums(text)
	if err != nil {
		return &DamagedError{m.store.URL(path.Join(at, sumsFile)), err.Error()}
	}
	for _, s := range sums {
		err := atomicfile.Write(filepath.Join(tmp, s.name), func(w io.Writer) error {
			h := sha256.New()
			if _, err := m.store.Download(ctx, path.Join(at, s.name), io.MultiWriter(w, h)); err != nil {
				return err
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != s.sum {
				return &DamagedError{m.store.URL(path.Join(at, s.name)), fmt.Sprintf("its sha256 is %s, want %s", got, s.sum)}
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return &DamagedError{m.store.URL(path.Join(at, s.name)), "it is missing"}
		}
		if err != nil {
			return asDamage(err)
		}
	}
	if err := atomicfile.WriteFile(filepath.Join(tmp, sumsFile), text); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(root, step)); err != nil {
		return err
	}
	return atomicfile.SyncDir(root)
}

// asDamage turns the error for bytes that are not those written into a *DamagedError.
func asDamage(err error) error {
	var sum *objectstore.SumError
	if errors.As(err, &sum) {
		return &DamagedError{sum.URL, fmt.Sprintf("its sha256 is %s, want %s", sum.SHA256, sum.Recorded)}
	}
	return err
}

// fetchSmall brings the files beside the checkpoints, and the best checkpoint.
func (m *Mirror) fetchSmall(ctx context.Context, steps []string) error {
	for _, name := range smallFiles() {
		text, err := m.store.Read(ctx, name, most)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(filepath.Join(m.dir, name), text); err != nil {
			return err
		}
	}
	best, err := m.best()
	if err != nil || best == "" || !slices.Contains(steps, best) {
		return err
	}
	if _, err := os.Stat(filepath.Join(m.dir, history.CheckpointsFolder, best)); err == nil {
		return nil
	}
	if err := m.fetchCheckpoint(ctx, best); err != nil && !errors.As(err, new(*DamagedError)) {
		return err
	}
	return nil
}

// best returns the name of the best checkpoint, "" if the run has none yet.
func (m *Mirror) best() (string, error) {
	b, err := train.ReadBest(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path.Base(filepath.ToSlash(b.Checkpoint)), err
}

// sum is a line of SHA256SUMS.
type sum struct{ sum, name string }

var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  ([a-z0-9.]+)$`)

func parseSums(text []byte) (list []sum, err error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		found := sumLine.FindStringSubmatch(line)
		if found == nil {
			return nil, fmt.Errorf("%.80q is no line of a SHA-256 and the name of a file", line)
		}
		list = append(list, sum{found[1], found[2]})
	}
	return list, nil
}

// Save writes a checkpoint of the run directory to the copy, SHA256SUMS last, then the files beside it. It then removes
// those older checkpoints of the copy that the directory has not, but never the best.
func (m *Mirror) Save(ctx context.Context, checkpoint string) error {
	step := filepath.Base(checkpoint)
	at := path.Join(history.CheckpointsFolder, step)
	text, err := regular.ReadFile(filepath.Join(checkpoint, sumsFile))
	if err != nil {
		return err
	}
	sums, err := parseSums(text)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(checkpoint, sumsFile), err)
	}
	for _, s := range sums {
		if err := m.upload(ctx, checkpoint, at, s); err != nil {
			return err
		}
	}
	if err := m.store.Write(ctx, path.Join(at, sumsFile), text); err != nil {
		return err
	}
	return errors.Join(m.SaveSmall(ctx), m.tidy(ctx, step))
}

// upload writes a file of a checkpoint, unless the copy has it.
func (m *Mirror) upload(ctx context.Context, checkpoint, at string, s sum) error {
	name := path.Join(at, s.name)
	if there, err := m.store.Stat(ctx, name); err == nil && there.SHA256 == s.sum {
		return nil
	}
	f, err := regular.Open(filepath.Join(checkpoint, s.name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var hash [sha256.Size]byte
	if _, err := hex.Decode(hash[:], []byte(s.sum)); err != nil {
		return err
	}
	return m.store.Upload(ctx, name, f, info.Size(), hash)
}

// SaveSmall writes the files beside the checkpoints to the copy.
func (m *Mirror) SaveSmall(ctx context.Context) error {
	for _, name := range smallFiles() {
		text, err := regular.ReadAtMost(filepath.Join(m.dir, name), most)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := m.store.Write(ctx, name, text); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes checkpoints before a step.
func (m *Mirror) tidy(ctx context.Context, before string) error {
	here, err := m.local()
	if err != nil {
		return err
	}
	best, err := m.best()
	if err != nil {
		return err
	}
	names, err := m.store.Folders(ctx, history.CheckpointsFolder)
	if err != nil {
		return err
	}
	for _, step := range names {
		if !stepNames.MatchString(step) || step >= before || step == best || slices.Contains(here, step) {
			continue
		}
		at := path.Join(history.CheckpointsFolder, step)
		files, err := m.store.List(ctx, at)
		if err != nil {
			return err
		}
		gone := []string{path.Join(at, sumsFile)} // first: without it, the checkpoint is not complete
		for _, f := range files {
			gone = append(gone, f.Name)
		}
		if err := m.store.Remove(ctx, gone...); err != nil {
			return err
		}
	}
	return nil
}
