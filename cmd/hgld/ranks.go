package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/ranks"
	"hgld/internal/ranks/launch"
	"hgld/internal/ranks/meet"
	"hgld/internal/ranks/mpi"
	"hgld/internal/ranks/nccl"
	"hgld/train"
	"hgld/train/collective"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/evaluation"
	"hgld/train/external"
)

// findRanks finds the place of this process among those that a launcher started. Only rank 0 prints.
func (j *job) findRanks() error {
	place, err := launch.Find(os.Getenv)
	if err != nil {
		return withHint(withCode(exitUsage, err), "%s=off trains in this process alone", launch.Variable)
	}
	if place == nil {
		return nil
	}
	j.ranks = ranks.New(place, j.program())
	if place.Rank > 0 {
		j.quiet, j.stdout = true, io.Discard
	}
	return nil
}

// together lists the commands that the processes of a launcher share, or that each of them may run.
var together = []string{"train run", "train resume", "train bench", "embed-images", "eval run", "doctor", "version",
	"completion"}

// checkAlone refuses a launcher for a command that works in one process: all would write the same files.
func checkAlone(c *cli.Context) error {
	if c.IsSet("slice") || slices.Contains(together, commandPath(c)) {
		return nil
	}
	return refuseLauncher("hgld " + commandPath(c))
}

// refuseLauncher returns a usage error if a launcher started several processes.
func refuseLauncher(what string) error {
	place, err := launch.Find(os.Getenv)
	if err != nil || place == nil {
		return nil
	}
	return withHint(usagef("%s works in one process, and %s started %d", what, place.Launcher, place.Ranks),
		"start it once; %s=off runs it in every process", launch.Variable)
}

// program describes hgld to the processes that train together.
func (j *job) program() ranks.Program {
	return ranks.Program{
		Version: thisTool(), Args: os.Args, Separate: external.Separate, Stderr: j.stderr, Complete: trainedTogether,
		Unexplained: func(err error) bool { return exitCode(err) == exitFailed },
		Stopped:     func(code int) bool { return code == exitOK || code == exitInterrupted },
		Failed:      exitTemporary,
		Log:         func(text string) { j.log("%s", text) },
		End:         func(err error) { os.Exit(reportError(err, j.stderr)) },
	}
}

// trainedTogether reports whether a process whose work ends so has gone on as long as the others.
func trainedTogether(err error) bool {
	return err == nil || errors.As(err, new(*collective.StopError)) || exitCode(err) == exitSomeFailed
}

// follows reports whether another process writes the files of the training.
func (j *job) follows() bool { return j.ranks != nil && j.ranks.Place.Rank > 0 }

// works says what the processes compute together, so that no process of another command joins them.
func (j *job) works(command, out string) {
	if j.ranks != nil {
		j.ranks.Work = command + " " + out
	}
}

// join connects this process with the others by MPI.
func (j *job) join() error {
	if err := j.ranks.Join(j.ctx); err != nil {
		return err
	}
	p := j.ranks.Place
	j.log("%d processes work together, started by %s; %s", p.Ranks, p.Launcher, j.ranks.World.Version)
	return nil
}

// joinCards makes the GPU of this process a rank.
func (j *job) joinCards(b *cuda.Backend) (device.Backend, error) {
	patience, err := ranks.Patience()
	if err != nil {
		return nil, err
	}
	lib, err := cuda.FindNCCL()
	if err != nil {
		return nil, withHint(withCode(exitNoGPU, err),
			"training on several GPUs needs NCCL: pip install nvidia-nccl-cu12, or name "+
				"the folder of %s in %s; --device cpu trains on the processors, by MPI", nccl.Name, cuda.LibrariesVariable)
	}
	own, place := ranks.Note{NCCL: lib.Version}, j.ranks.Place
	if place.Rank == 0 {
		id, err := lib.NewID()
		if err != nil {
			return nil, err
		}
		own.ID = id[:]
	}
	notes, err := j.ranks.Meet(j.ctx, own)
	if err != nil {
		return nil, err
	}
	id, differences, err := ranks.GroupID(notes)
	if len(differences) > 0 {
		err = &train.RanksError{Differences: differences}
	}
	if err != nil {
		return nil, err
	}
	joined, err := cuda.Join(b, lib, place.Rank, place.Ranks, id)
	if err != nil {
		return nil, withHint(err, "each process needs a GPU of its own; NCCL_DEBUG=INFO prints more")
	}
	j.ranks.Group.Watch(joined.Calls, patience)
	j.opened[slices.Index(j.opened, io.Closer(b))] = rankCard{joined, j.ranks}
	j.log("%d GPUs work together, started by %s; NCCL %v, %s", place.Ranks, place.Launcher, lib.Version, lib.Path)
	return joined, nil
}

// rankCard closes the GPU of a rank.
type rankCard struct {
	*cuda.Joined
	of *ranks.Process
}

// Close leaves the group and releases the GPU.
func (c rankCard) Close() error {
	var err error
	if !c.of.Failed {
		err = c.Sync()
	}
	return errors.Join(err, c.Leave(c.of.Failed || err != nil), c.Backend.Close())
}

// cardOf returns the name of the GPU of this process, for a name that leaves the choice: of several GPUs that it
// may use, the one with its number on this machine.
func (j *job) cardOf(name string) (string, error) {
	p, err := device.ParsePlace(name)
	if err != nil || j.ranks == nil || p.Kind == device.CPU || name != p.Kind {
		return name, err
	}
	for _, kind := range j.cards {
		if kind.Usable == nil || p.Kind != device.Auto && p.Kind != kind.Name {
			continue
		}
		cards, err := kind.Usable()
		if err != nil || len(cards) < 2 { // none, or the one that the launcher gives each process
			continue
		}
		local := j.ranks.Place.Local
		if local >= len(cards) {
			return "", usagef("rank %d is process %d of its machine, which has %d GPUs: start a process for each GPU",
				j.ranks.Place.Rank, local, len(cards))
		}
		return fmt.Sprintf("%s:%d", kind.Name, cards[local]), nil
	}
	return name, nil
}

// spread starts a process for each other GPU of a device that names several, such as cuda:0-7. This process is then
// rank 0. A process that was started so takes its GPU of the list.
func (j *job) spread(name string) error {
	group, err := device.ParseGroup(name)
	if err != nil || group == nil {
		return err
	}
	cards := group.Cards
	if at := slices.IndexFunc(j.cards, func(k device.Kind) bool { return k.Name == group.Kind }); cards == nil {
		if at < 0 {
			err = errors.New("this build of hgld does not support it")
		} else {
			cards, err = j.cards[at].Usable()
		}
		if err != nil {
			return withHint(withCode(exitNoGPU, &device.UnusableError{Device: name, Err: err}),
				"hgld doctor lists the devices of this machine; --device cpu uses the CPU")
		}
	}
	own := 0
	switch {
	case j.ranks != nil:
		if own = j.ranks.Place.Local; own >= len(cards) {
			return usagef("rank %d is process %d of its machine, and device %s has %d GPUs", j.ranks.Place.Rank, own, name,
				len(cards))
		}
	case len(cards) > 1 && os.Getenv(launch.Variable) == "off":
		return usagef("device %s starts a process for each GPU, and %s is off", name, launch.Variable)
	case len(cards) > 1:
		if j.ranks, err = ranks.Start(len(cards), j.program()); err != nil {
			return err
		}
	}
	j.card = fmt.Sprintf("%s:%d", group.Kind, cards[own])
	return nil
}

// ranksAdvice has the exit codes and next steps for errors of a training by several processes.
var ranksAdvice = []advice{
	kind[*train.RanksError](exitUsage, nil),
	kind[*evaluation.RanksError](exitUsage, nil),
	kind(exitIntegrity, func(*train.DivergedError) string {
		return "processors of different kinds may round differently: start all processes on machines of one kind; the run " +
			"continues from its last checkpoint"
	}),
	kind(exitTemporary, func(*meet.GoneError) string {
		return "run the same command again to resume from the newest checkpoint"
	}),
	kind(exitTemporary, func(*meet.AbsentError) string {
		return "start all processes again; " + ranks.WaitVariable + "=1h waits longer for those that come late"
	}),
	kind(exitOK, func(*ranks.NoMPIError) string {
		return "processors train together by MPI: install Open MPI or MPICH, or name its library in " + mpi.Variable
	}),
	kind(exitOK, func(e *ranks.OtherPlaceError) string {
		if name := e.Place.Launcher; name == "torchrun" || name == "Kubernetes" {
			return name + " starts no MPI, which CPUs need to train together: use mpirun or srun; GPUs do not need MPI: " +
				"--device cuda"
		}
		return "name the library of that launcher in " + mpi.Variable + "; with srun, choose its interface with --mpi"
	}),
	kind(exitOK, func(*ranks.NoAddressError) string {
		return "the processes meet without MPI at the address of rank 0, MASTER_ADDR or the first node of SLURM's list: it " +
			"must be known, and " + ranks.TokenVariable + " must hold the same secret for all"
	}),
	kind(exitUsage, func(e *ranks.ListenError) string {
		return fmt.Sprintf("rank 0 listens at %s; MASTER_PORT names another port", e.Address)
	}),
	func(err error) (code int, hint string, ok bool) {
		e, ok := err.(*ranks.EndedError)
		if !ok {
			return 0, "", false
		}
		return e.Code, "", true
	},
}
