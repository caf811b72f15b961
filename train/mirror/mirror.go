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

	"hgld/internal/atomicfile"
	"hgld/internal/objectstore"
	"hgld/internal/regular"
	"hgld/train/checkpoint"
	"hgld/train/experiment/runs"
)

// most is the size of the largest small file.
const most = 1 << 30

func smallFiles() []string {
	return []string{runs.SettingsFile, runs.EventsFile, checkpoint.BestFile, runs.EvaluationFile, runs.BeforeFile}
}

// Mirror is the copy of one run directory.
type Mirror struct {
	store *objectstore.Store
	dir   string
	saved map[string]bool // checkpoints that the copy is known to have
}

// Open returns the copy of the run directory dir at an address. It sends no request.
func Open(address, dir string) (*Mirror, error) {
	s, err := objectstore.Open(address)
	if err != nil {
		return nil, err
	}
	return &Mirror{s, dir, map[string]bool{}}, nil
}

// OtherRunError says that a run directory and its copy are of different runs.
type OtherRunError struct {
	Dir   string // the run directory
	Store string // the address of the copy
}

// Error names both.
func (e *OtherRunError) Error() string {
	return fmt.Sprintf("%s and its copy %s are of different runs: their %s differ, and the copy has the newer checkpoint",
		e.Dir, e.Store, runs.SettingsFile)
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
	mine, err := regular.ReadFile(filepath.Join(m.dir, runs.SettingsFile))
	if err != nil {
		return err
	}
	theirs, err := m.store.Read(ctx, runs.SettingsFile, most)
	if err == nil && !bytes.Equal(mine, theirs) {
		err = &OtherRunError{m.dir, m.store.URL("")}
	}
	return err
}

var stepNames = regexp.MustCompile(`^step-\d{8,}$`)

// steps returns the names of the complete checkpoints of the copy, oldest first.
func (m *Mirror) steps(ctx context.Context) (list []string, err error) {
	names, err := m.store.Folders(ctx, runs.CheckpointsFolder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !stepNames.MatchString(name) {
			continue
		}
		_, err := m.store.Stat(ctx, path.Join(runs.CheckpointsFolder, name, checkpoint.SumsFile))
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
	folders, err := checkpoint.List(m.dir)
	for _, folder := range folders {
		list = append(list, filepath.Base(folder))
	}
	return list, err
}

// fetchCheckpoint downloads a checkpoint. It appears in the run directory when it is complete and was compared with its
// checksums.
func (m *Mirror) fetchCheckpoint(ctx context.Context, step string) error {
	at := path.Join(runs.CheckpointsFolder, step)
	text, err := m.store.Read(ctx, path.Join(at, checkpoint.SumsFile), most)
	if err != nil {
		return asDamage(err)
	}
	sums, err := checkpoint.ParseSums(text)
	if err != nil {
		return &DamagedError{m.store.URL(path.Join(at, checkpoint.SumsFile)), err.Error()}
	}
	return checkpoint.Create(filepath.Join(m.dir, runs.CheckpointsFolder, step), func(folder string) error {
		for _, s := range sums {
			if err := m.download(ctx, path.Join(at, s.Name), filepath.Join(folder, s.Name), s.SHA256); err != nil {
				return err
			}
		}
		return atomicfile.WriteFile(filepath.Join(folder, checkpoint.SumsFile), text)
	})
}

// download brings a file with the given SHA-256.
func (m *Mirror) download(ctx context.Context, name, to, sum string) error {
	err := atomicfile.Write(to, func(w io.Writer) error {
		h := sha256.New()
		if _, err := m.store.Download(ctx, name, io.MultiWriter(w, h)); err != nil {
			return err
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != sum {
			return &DamagedError{m.store.URL(name), fmt.Sprintf("its sha256 is %s, want %s", got, sum)}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{m.store.URL(name), "it is missing"}
	}
	return asDamage(err)
}

// asDamage turns the error for bytes that are not those written into a *DamagedError.
func asDamage(err error) error {
	var sum *objectstore.ChecksumError
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
	if _, err := os.Stat(filepath.Join(m.dir, runs.CheckpointsFolder, best)); err == nil {
		return nil
	}
	if err := m.fetchCheckpoint(ctx, best); err != nil && !errors.As(err, new(*DamagedError)) {
		return err
	}
	return nil
}

// best returns the name of the best checkpoint, "" if the run has none yet.
func (m *Mirror) best() (string, error) {
	b, err := checkpoint.ReadBest(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path.Base(filepath.ToSlash(b.Checkpoint)), err
}

// Snapshot is what a run directory has at a moment, and so what its copy is to have. Its checkpoints stay in the
// directory until it is saved.
type Snapshot struct {
	steps []string // names of the checkpoints, oldest first
	best  string   // the best of them; "": none yet
	small []file
}

type file struct {
	name string
	text []byte
}

// Look looks at the run directory.
func (m *Mirror) Look() (*Snapshot, error) {
	steps, err := m.local()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{steps: steps}
	if s.best, err = m.best(); err != nil {
		return nil, err
	}
	for _, name := range smallFiles() {
		text, err := regular.ReadAtMost(filepath.Join(m.dir, name), most)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.small = append(s.small, file{name, text})
	}
	return s, nil
}

// Save makes the copy what a snapshot shows, in whatever state a killed process has left it: it writes the checkpoints
// that the copy lacks, SHA256SUMS of each last, then the files beside them, and removes older checkpoints but the best.
func (m *Mirror) Save(ctx context.Context, s *Snapshot) error {
	for _, step := range s.steps {
		if m.saved[step] {
			continue
		}
		if err := m.saveCheckpoint(ctx, step); err != nil {
			return err
		}
		m.saved[step] = true
	}
	for _, f := range s.small {
		if err := m.store.Write(ctx, f.name, f.text); err != nil {
			return err
		}
	}
	return errors.Join(m.tidy(ctx, s), m.store.AbortUploads(ctx)) // those of killed processes
}

func (m *Mirror) saveCheckpoint(ctx context.Context, step string) error {
	at, folder := path.Join(runs.CheckpointsFolder, step), filepath.Join(m.dir, runs.CheckpointsFolder, step)
	sumsFile := filepath.Join(folder, checkpoint.SumsFile)
	text, err := regular.ReadFile(sumsFile)
	if err != nil {
		return err
	}
	sums, err := checkpoint.ParseSums(text)
	if err != nil {
		return fmt.Errorf("%s: %w", sumsFile, err)
	}
	for _, s := range sums {
		if err := m.upload(ctx, folder, at, s); err != nil {
			return err
		}
	}
	return m.store.Write(ctx, path.Join(at, checkpoint.SumsFile), text)
}

// upload writes a file of a checkpoint, unless the copy has it.
func (m *Mirror) upload(ctx context.Context, folder, at string, s checkpoint.Sum) error {
	name := path.Join(at, s.Name)
	if there, err := m.store.Stat(ctx, name); err == nil && there.SHA256 == s.SHA256 {
		return nil
	}
	f, err := regular.Open(filepath.Join(folder, s.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var hash [sha256.Size]byte
	if _, err := hex.Decode(hash[:], []byte(s.SHA256)); err != nil {
		return err
	}
	return m.store.Upload(ctx, name, f, info.Size(), hash)
}

// tidy removes the checkpoints before the newest of a snapshot that it has not, but never the best.
func (m *Mirror) tidy(ctx context.Context, s *Snapshot) error {
	if len(s.steps) == 0 {
		return nil
	}
	names, err := m.store.Folders(ctx, runs.CheckpointsFolder)
	if err != nil {
		return err
	}
	for _, step := range names {
		newer := step >= s.steps[len(s.steps)-1]
		if !stepNames.MatchString(step) || newer || step == s.best || slices.Contains(s.steps, step) {
			continue
		}
		at := path.Join(runs.CheckpointsFolder, step)
		files, err := m.store.List(ctx, at)
		if err != nil {
			return err
		}
		gone := []string{path.Join(at, checkpoint.SumsFile)} // first: without it, the checkpoint is not complete
		for _, f := range files {
			gone = append(gone, f.Name)
		}
		if err := m.store.Remove(ctx, gone...); err != nil {
			return err
		}
	}
	return nil
}
