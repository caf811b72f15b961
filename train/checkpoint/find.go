package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/regular"
	"hgld/train/config"
	"hgld/train/device"
)

// WeightsSum returns the SHA-256 of the weights that an evaluation of a checkpoint uses.
func WeightsSum(folder string, s *State) (string, error) {
	sums, err := regular.ReadFile(filepath.Join(folder, SumsFile))
	if err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	list, _ := ParseSums(sums)
	for _, line := range list {
		if line.Name == WeightsFile(&s.Config) {
			return line.SHA256, nil
		}
	}
	return "", &DamagedError{filepath.Join(folder, SumsFile), "it does not name " + WeightsFile(&s.Config)}
}

// Find finds the newest checkpoint of a run directory, or takes path as a checkpoint, and
// reads its state.
func Find(path string) (folder string, s State, err error) {
	list, err := List(path)
	if err != nil {
		return "", s, err
	}
	if folder = path; len(list) > 0 {
		folder = list[len(list)-1]
	}
	s, err = ReadState(folder)
	if err != nil && !errors.As(err, new(*DamagedError)) {
		err = fmt.Errorf("train: %s is neither a run directory with a checkpoint nor a checkpoint: %w", path, err)
	}
	return folder, s, err
}

// WeightsFile returns the name of the file with the weights that an evaluation uses.
func WeightsFile(c *config.Config) string {
	if c.EMA.Decay > 0 {
		return AverageFile
	}
	return ModelFile
}

// ResolvePrecision replaces auto by the precision of the run in dir. In a new run it chooses bfloat16 if
// the device computes in it, and float32 otherwise. The checkpoint stores the choice, so that a
// run can resume on another device.
func ResolvePrecision(a *config.Architecture, b device.Backend, dir string) {
	if a.Precision != config.PrecisionAuto {
		return
	}
	if a.Precision = chosenPrecision(dir); a.Precision != "" {
		return
	}
	a.Precision = config.PrecisionFloat32
	if b.Supports(device.BF16) {
		a.Precision = config.PrecisionBFloat16
	}
}

// chosenPrecision returns the precision in the newest sound checkpoint of a run, or "" if there
// is none. It ignores damaged checkpoints; resuming reports them.
func chosenPrecision(dir string) string {
	if dir == "" {
		return ""
	}
	list, _ := List(dir)
	for _, path := range slices.Backward(list) {
		if s, err := ReadState(path); err == nil {
			return s.Config.Model.Precision
		}
	}
	return ""
}

// QuarantinedCheckpoint is a damaged checkpoint that was moved aside.
type QuarantinedCheckpoint struct {
	Path string // where it is now
	Err  error  // the damage, as a *DamagedError
}

// Quarantine renames a damaged checkpoint to a name that no run looks for, and returns that name.
func Quarantine(path string) (string, error) {
	for n := 1; ; n++ {
		aside := filepath.Join(filepath.Dir(path), fmt.Sprintf("damaged-%s.%d", filepath.Base(path), n))
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return "", fmt.Errorf("train: %s is damaged and cannot be moved aside: %w", path, err)
		}
		return aside, atomicfile.SyncDir(filepath.Dir(path))
	}
}

// LockFile is the file in a run directory that names the process using it.
const LockFile = "lock"

// WaitForLock waits while the lock of a run directory may be that of a process that has died on another machine: on a
// file system without locks, that takes until its lease ends. It returns a *filelock.LockedError if the process
// lives.
func WaitForLock(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); atomicfile.IsMissing(err) {
		return nil
	}
	l, err := filelock.AcquireOrWait(ctx, filepath.Join(dir, LockFile))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return l.Close()
}

// TakenOverError says that another process may have used the run directory of a training that lost its lock: the
// lock file was removed, or its lease ended while the process was suspended.
type TakenOverError struct {
	Dir string // the run directory
	Err error  // what the other process left
}

// Error names the run directory.
func (e *TakenOverError) Error() string {
	return fmt.Sprintf("train: the lock of %s was lost, and %v", e.Dir, e.Err)
}

// Unwrap returns what the other process left.
func (e *TakenOverError) Unwrap() error { return e.Err }
