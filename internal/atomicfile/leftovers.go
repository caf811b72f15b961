package atomicfile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"hgld/internal/filelock"
)

// A temporary file is named for its target, the machine and the process that write it, and a random number:
//
//	.NAME.tmp-1f09a2c3-1234-567890
//
// Several machines may write one folder, and on some file systems a lock is unknown to the other machines. Each
// therefore removes what its own killed processes left, and what nobody has written for a day.

// temporarySuffix separates the name of a file from the rest of the name of its temporary file.
const temporarySuffix = ".tmp-"

// leftoverAge is the age from which on the temporary files of other machines are removed.
const leftoverAge = 24 * time.Hour

// unfinished are the names of the temporary files that this process is writing.
var unfinished sync.Map

// writer is the part of the name of a temporary file that says who writes it.
func writer() string {
	self := filelock.Self()
	return fmt.Sprintf("%s-%d-%d", self.Tag(), self.PID, rand.Uint32())
}

// writers matches what writer returns, and a number alone, whose writer is unknown.
var writers = regexp.MustCompile(`^(?:([0-9a-f]{8})-(\d+)-)?(\d+)$`)

// leftover is a temporary file, and who writes it: see removeLeft.
type leftover struct{ path, machine, process string }

// manyFiles is the size from which on a folder is large.
const manyFiles = 1000

// large has the temporary files of large folders, by the path of the folder and the name of their target, as they were
// when this process first wrote there. To list a folder at each write would take the square of its size.
var large sync.Map

// RemoveLeftovers removes the temporary files in dir whose processes were killed. Files that cannot be removed
// stay, and do no harm.
func RemoveLeftovers(dir string) {
	list, _ := temporaries(dir)
	for _, of := range list {
		removeAll(of)
	}
}

// RemoveLeftoversOf is RemoveLeftovers for the temporary files of one path. In a large folder, it knows those that were
// there when it first looked, and the next process removes the others.
func RemoveLeftoversOf(path string) {
	dir, base := filepath.Split(path)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	if list, known := large.Load(dir); known {
		removeAll(list.(map[string][]leftover)[temporaryName(base)])
		return
	}
	list, files := temporaries(dir)
	if files > manyFiles {
		large.Store(dir, list)
	}
	removeAll(list[temporaryName(base)])
}

func removeAll(list []leftover) {
	for _, l := range list {
		removeLeft(l.path, l.machine, l.process)
	}
}

// temporaries returns the temporary files in a folder by the beginnings of their names, and the number of all files.
func temporaries(dir string) (list map[string][]leftover, files int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0
	}
	list = map[string][]leftover{}
	for _, e := range entries {
		of, by, found := cutLast(e.Name(), temporarySuffix)
		if !found || !e.Type().IsRegular() || !strings.HasPrefix(of, ".") {
			continue
		}
		if m := writers.FindStringSubmatch(by); m != nil {
			if _, err := strconv.ParseUint(m[3], 10, 32); err == nil {
				list[of] = append(list[of], leftover{filepath.Join(dir, e.Name()), m[1], m[2]})
			}
		}
	}
	return list, len(entries)
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// removeLeft removes a temporary file unless a process may be writing it. machine is the tag of its machine, and
// process the process id, both "" if they are unknown.
func removeLeft(path, machine, process string) {
	if machine != "" && machine != filelock.Self().Tag() {
		if age, err := filelock.Age(path); err == nil && age > leftoverAge {
			os.Remove(path)
		}
		return
	}
	if _, ours := unfinished.Load(filepath.Base(path)); ours {
		return
	}
	self := filelock.Self()
	if pid, err := strconv.Atoi(process); err == nil && pid != self.PID {
		self.PID = pid
		if self.Alive() {
			return
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	err = filelock.TakeItself(f)
	if errors.As(err, new(*filelock.LockedError)) || err != nil && machine == "" {
		return
	}
	if os.Remove(path) == nil && err == nil {
		_ = filelock.Release(f)
	}
}
