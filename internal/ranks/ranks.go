// Package ranks lets several processes compute together, each with a rank: a number from 0. A launcher starts them, or
// rank 0 starts one for each other GPU of its machine. They find one another, tell one another when one fails, and
// leave together. Rank 0 alone prints and writes files.
package ranks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/ranks/launch"
	"hgld/internal/ranks/meet"
	"hgld/internal/ranks/mpi"
	"hgld/internal/usage"
)

// TokenVariable holds a secret that all processes must know, beside the one that rank 0 makes.
const TokenVariable = "HGLD_RANKS_TOKEN"

// PatienceVariable holds how long the others wait for a process that lives and does not go on, and WaitVariable how
// long they wait for all to come.
const (
	PatienceVariable = "HGLD_RANKS_PATIENCE"
	WaitVariable     = "HGLD_RANKS_WAIT"
)

// Patience returns how long the others wait for a process that lives and does not go on.
func Patience() (time.Duration, error) { return duration(PatienceVariable, 10*time.Minute) }

// wait returns how long the processes wait for one another to come: an image of a container may take minutes.
func wait() (time.Duration, error) { return duration(WaitVariable, 15*time.Minute) }

func duration(variable string, otherwise time.Duration) (time.Duration, error) {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usage.Errorf("%s is %.80q, want a time such as 10m or 1h", variable, text)
	}
	return d, nil
}

// Program is what a [Process] must know of the program that it runs.
type Program struct {
	// Version must be the same in all processes.
	Version string

	// Args are the arguments of this process. The processes that it starts get the same.
	Args []string

	// Separate keeps the signals of a terminal from a process that is about to start.
	Separate func(*exec.Cmd)

	// Stderr gets the last words of a process that has ended.
	Stderr io.Writer

	// Log tells the user which processes are missing.
	Log func(text string)

	// Complete reports whether a process whose work ends with an error has gone on as long as the others.
	Complete func(error) bool

	// Unexplained reports whether an error may be the consequence of the end of another process.
	Unexplained func(error) bool

	// Stopped reports whether an exit code is the code of a process that has not failed.
	Stopped func(code int) bool

	// Failed is the exit code for a process that a signal has killed.
	Failed int

	// End reports that another process is gone, and ends this one.
	End func(error)
}

// Process is one of several processes that compute together. A nil Process computes alone.
type Process struct {
	Place  *launch.Place // its rank, and the number of ranks
	World  *mpi.World    // nil until [Process.Join], and if the processes met without MPI
	Group  *meet.Group   // nil until [Process.Join] or [Process.Meet]
	Failed bool          // the work of this process, see [Process.Note]

	// Work says what the processes compute, such as "train run runs/a". Those that meet at an address let in nobody who
	// computes something else.
	Work string

	program Program
	copies  *copies // started by this process; nil: by a launcher

	mu   sync.Mutex
	lost error // a process that is gone
}

// New returns the process at a place that a launcher gave it.
func New(place *launch.Place, program Program) *Process {
	return &Process{Place: place, program: program}
}

// Start starts the other processes of n, of which this one is rank 0.
func Start(n int, program Program) (*Process, error) {
	p := New(&launch.Place{Ranks: n, Launcher: launch.Own}, program)
	var err error
	if p.copies, err = startCopies(p.Place, program); err != nil {
		return nil, err
	}
	return p, nil
}

// Count returns the number of processes.
func (p *Process) Count() int {
	if p == nil {
		return 1
	}
	return p.Place.Ranks
}

// hello is how this process introduces itself.
func (p *Process) hello(note []byte) meet.Hello {
	return meet.Hello{Rank: p.Place.Rank, Ranks: p.Place.Ranks, Version: p.program.Version, Note: note}
}

// Busy says that this process does work of its own while the others wait for it, until the returned function is called.
func (p *Process) Busy(what string) (end func()) {
	if p == nil || p.Group == nil {
		return func() {}
	}
	return p.Group.Busy(what)
}

// watchOthers ends this process when another is gone.
func (p *Process) watchOthers() {
	go func() {
		defer crash.Guard()
		p.watch()
	}()
}

// grace is how long a process goes on that hears why another has failed: it may find the same itself.
const grace = time.Second

// watch ends the process when another is gone. A call of MPI that waits for it returns late or never.
func (p *Process) watch() {
	err := <-p.Group.Lost()
	p.mu.Lock()
	p.lost = err
	p.mu.Unlock()
	var e *meet.GoneError
	if errors.As(err, &e) && e.Reason != "" {
		time.Sleep(grace)
	} else {
		p.copies.lastWords(p.program.Stderr)
	}
	p.program.End(p.named(err))
}

// named returns an error of this process as one of several.
func (p *Process) named(err error) error {
	if err == nil || p.Place.Rank == 0 {
		return err
	}
	return fmt.Errorf("rank %d: %w", p.Place.Rank, err)
}

// Leave ends this process's part with the error of its work. Rank 0 calls it when everything is written.
func (p *Process) Leave(err error) error {
	if p == nil {
		return err
	}
	complete := p.program.Complete(err)
	if !complete && p.Group != nil {
		p.Group.Leave(err)
	}
	p.mu.Lock()
	if p.lost != nil && p.program.Unexplained(err) {
		err = p.lost // which is why a call of MPI failed
	}
	p.mu.Unlock()
	if complete && p.Group != nil {
		if p.World != nil {
			err = errors.Join(err, p.World.Close())
		}
		p.Group.Leave(nil)
	}
	p.copies.close(p.Group != nil)
	return p.named(err)
}

// Note keeps whether the work has failed, which decides how the devices are closed.
func (p *Process) Note(err error) {
	if p != nil {
		p.Failed = !p.program.Complete(err)
	}
}
