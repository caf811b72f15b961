package filelock

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Owner is a process that holds a lock or writes a file. A process id alone says nothing in a folder that several
// machines share.
type Owner struct {
	PID   int    // 0 if it is unknown
	Host  string // name of its machine
	Space string // what tells its process ids from others of a machine of that name: on Linux, the PID namespace
	Job   string // of a scheduler, such as "SLURM 12_3"; "" outside one
}

// Self returns this process.
func Self() Owner { return self() }

var self = sync.OnceValue(func() Owner {
	o := Owner{PID: os.Getpid(), Job: job(os.Getenv)}
	if name, err := os.Hostname(); err == nil {
		o.Host = strings.Join(strings.Fields(name), "-")
	}
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		o.Space = strings.Trim(space, "pid:[]")
	}
	return o
})

// job returns the job that a scheduler says this process belongs to.
func job(getenv func(string) string) string {
	for _, s := range [][]string{{"SLURM", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"}, {"SLURM", "SLURM_JOB_ID"},
		{"LSF", "LSB_JOBID", "LSB_JOBINDEX"}, {"PBS", "PBS_JOBID"}, {"AWS Batch", "AWS_BATCH_JOB_ID"},
		{"Grid Engine", "JOB_ID", "SGE_TASK_ID"}} {
		var ids []string
		for _, name := range s[1:] {
			if id := strings.Join(strings.Fields(getenv(name)), "-"); id != "" {
				ids = append(ids, id)
			}
		}
		if len(ids) == len(s)-1 {
			return s[0] + " " + strings.Join(ids, "_")
		}
	}
	return ""
}

// Near reports whether the process ids of o are those of this process's own machine, so that Alive can tell.
func (o Owner) Near() bool {
	return o.Host != "" && o.Host == self().Host && o.Space == self().Space
}

// Alive reports whether the process runs, or may run: it is true for a process of another machine.
func (o Owner) Alive() bool { return !o.Near() || o.PID <= 0 || alive(o.PID) }

// Tag is a word of 8 hexadecimal digits for the machine of o.
func (o Owner) Tag() string {
	h := fnv.New32a()
	io.WriteString(h, o.Host+"\n"+o.Space)
	return fmt.Sprintf("%08x", h.Sum32())
}

// String names the process as a message does; a process of this machine by its id alone.
func (o Owner) String() string {
	switch {
	case o.PID == 0:
		return "another process"
	case o.Host == "" || o.Near():
		return fmt.Sprintf("process %d", o.PID)
	case o.Job == "":
		return fmt.Sprintf("process %d on %s", o.PID, o.Host)
	}
	return fmt.Sprintf("process %d on %s (%s)", o.PID, o.Host, o.Job)
}

// maxOwner is the length of the longest text of a lock file.
const maxOwner = 512

// text is what a lock file contains: "123 on node7 in 4026531836 for SLURM 12_3".
func (o Owner) text() []byte {
	text := fmt.Sprintf("%d on %.255s", o.PID, o.Host)
	if o.Space != "" {
		text += fmt.Sprintf(" in %.30s", o.Space)
	}
	if o.Job != "" {
		text += fmt.Sprintf(" for %.150s", o.Job)
	}
	return []byte(text + "\n")
}

// ownerText matches the text of a lock file, and tornText what a power cut may have left of it.
var (
	ownerText = regexp.MustCompile(`^(\d{1,19}) on (\S*)(?: in (\S*))?(?: for ([^\n]*))?\n?\x00*$`)
	tornText  = regexp.MustCompile(`^\d{0,19}(?: o?| on[^\n\x00]*)?\n?\x00*$`)
)

// readOwner reads the owner from a lock file. It returns false if the file has another content.
func readOwner(f io.ReaderAt) (Owner, bool, error) {
	text := make([]byte, maxOwner+1)
	n, err := f.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return Owner{}, false, err
	}
	m := ownerText.FindSubmatch(text[:n])
	if m == nil || n == len(text) {
		return Owner{}, n < len(text) && tornText.Match(text[:n]), nil
	}
	o := Owner{Host: string(m[2]), Space: string(m[3]), Job: string(m[4])}
	o.PID, _ = strconv.Atoi(string(m[1])) // 0 if its owner has not written it yet
	return o, true, nil
}

// lockedBy is the error for a lock at path that another process holds.
func lockedBy(path string, o Owner) *LockedError {
	return &LockedError{Path: path, PID: o.PID, By: o}
}

// parts splits a path into its folder, "." if there is none, and its name.
func parts(path string) (dir, base string) {
	dir, base = filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return dir, base
}
