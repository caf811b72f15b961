package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/launcher"
	"hgld/internal/mpi"
	"hgld/internal/regular"
	"hgld/internal/rendezvous"
	"hgld/train"
)

// tokenVariable holds a secret that all processes of a training must know, beside the one that rank 0 makes.
const tokenVariable = "HGLD_RANKS_TOKEN"

// patienceVariable holds how long the others wait for a process that lives and does not go on.
const patienceVariable = "HGLD_RANKS_PATIENCE"

func patienceOf(text string) (time.Duration, error) {
	if text == "" {
		return 10 * time.Minute, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usagef("%s is %.80q, want a time such as 10m or 1h", patienceVariable, text)
	}
	return d, nil
}

// ranks is a process's part in a training by several processes.
type ranks struct {
	place  *launcher.Place
	copies *copies           // started by this process; nil: by a launcher
	world  *mpi.World        // nil until join, and if the processes met without MPI
	group  *rendezvous.Group // nil until join
	failed bool              // this process's training

	mu   sync.Mutex
	lost error // a process that is gone
}

// findRanks finds the place of this process among those that a launcher started. Only rank 0 prints.
func (j *job) findRanks() error {
	place, err := launcher.Find(os.Getenv)
	if err != nil {
		return withHint(withCode(exitUsage, err), "%s=off trains in this process alone", launcher.Variable)
	}
	if place == nil {
		return nil
	}
	j.ranks = &ranks{place: place}
	if place.Rank > 0 {
		j.quiet, j.stdout = true, io.Discard
	}
	return nil
}

// follows reports whether another process writes the files of the training.
func (j *job) follows() bool { return j.ranks != nil && j.ranks.place.Rank > 0 }

// count returns the number of processes.
func (r *ranks) count() int {
	if r == nil {
		return 1
	}
	return r.place.Ranks
}

// join connects this process with the others by MPI.
func (j *job) join() error {
	r := j.ranks
	patience, err := patienceOf(os.Getenv(patienceVariable))
	if err != nil {
		return err
	}
	if err := r.connect(j.ctx, nil); err != nil {
		return err
	}
	r.group.Watch(r.world.Calls, patience)
	r.watchOthers(j.stderr)
	j.say("%d processes train together, started by %s; %s", r.place.Ranks, r.place.Launcher, r.world.Version)
	return nil
}

// watchOthers ends this process when another is gone.
func (r *ranks) watchOthers(stderr io.Writer) {
	go func() {
		defer crash.Guard()
		r.watch(stderr)
	}()
}

// hello is how this process introduces itself.
func (r *ranks) hello(note []byte) rendezvous.Hello {
	return rendezvous.Hello{Rank: r.place.Rank, Ranks: r.place.Ranks, Version: thisTool(), Note: note}
}

// startMPI starts MPI with as many processes as the launcher says.
func (r *ranks) startMPI() error {
	l, err := mpi.Open(os.Getenv)
	if err != nil {
		return withHint(err, "processors train together by MPI: install Open MPI or MPICH, or name its library in %s",
			mpi.Variable)
	}
	if r.world, err = l.Start(); err != nil {
		return err
	}
	if rank, n := r.world.Rank(); rank != r.place.Rank || n != r.place.Ranks {
		return withHint(fmt.Errorf("%s (%s) says that this is rank %d of %d, and %s rank %d of %d", l.Path, l.Version,
			rank, n, r.place.Launcher, r.place.Rank, r.place.Ranks), "%s", mpiHint(r.place.Launcher))
	}
	return nil
}

// mpiHint says what to do where MPI knows nothing of the other processes of a launcher.
func mpiHint(name string) string {
	if name == "torchrun" || name == "Kubernetes" {
		return name + " starts no MPI, by which processors train together: use mpirun or srun; cards need none: --device cuda"
	}
	return "name the library of that launcher in " + mpi.Variable + "; with srun, choose its interface with --mpi"
}

// machine is what a process says of the machine that it runs on.
type machine struct{ Host, Processors string }

// invitation is what rank 0 tells the others.
type invitation struct {
	Addresses []string
	Token     []byte
}

// connect starts MPI, and connects the processes once more over TCP, where each notices that another is gone.
func (r *ranks) connect(ctx context.Context, note []byte) error {
	if err := r.startMPI(); err != nil {
		return err
	}
	machines, err := r.machines()
	if err != nil {
		return err
	}
	r.shareProcessors(machines)
	var l net.Listener
	var invite invitation
	if r.place.Rank == 0 {
		l, invite = listen(machines)
	}
	text := make([]byte, 4096)
	packed, err := json.Marshal(invite)
	if err != nil {
		return err
	}
	copy(text, packed)
	if err := r.world.Broadcast(text); err != nil {
		return err
	}
	if err := json.Unmarshal(bytes.TrimRight(text, "\x00"), &invite); err != nil {
		return err
	}
	token := append(invite.Token, os.Getenv(tokenVariable)...)
	switch {
	case len(invite.Addresses) == 0:
		err = errors.New("rank 0 cannot listen on any port")
	case r.place.Rank == 0:
		r.group, err = rendezvous.Accept(ctx, l, r.hello(note), token)
	default:
		r.group, err = rendezvous.Join(ctx, invite.Addresses, r.hello(note), token)
	}
	return err
}

func thisMachine() machine {
	m := machine{Processors: allowedProcessors()}
	m.Host, _ = os.Hostname()
	return m
}

// machines gathers what the processes say of their machines.
func (r *ranks) machines() ([]machine, error) {
	const room = 1024
	text, err := json.Marshal(thisMachine())
	if err != nil || len(text) > room {
		text = []byte("{}")
	}
	all := make([]byte, room*r.place.Ranks)
	if err := r.world.AllGather(all, append(text, make([]byte, room-len(text))...)); err != nil {
		return nil, err
	}
	list := make([]machine, r.place.Ranks)
	for i := range list {
		if err := json.Unmarshal(bytes.TrimRight(all[i*room:(i+1)*room], "\x00"), &list[i]); err != nil {
			return nil, fmt.Errorf("what rank %d says of its machine: %w", i, err)
		}
	}
	return list, nil
}

// allowedProcessors returns the processors that this process may use, as Linux lists them, or "".
func allowedProcessors() string {
	status, _ := regular.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if list, is := strings.CutPrefix(line, "Cpus_allowed_list:"); is {
			return strings.TrimSpace(list)
		}
	}
	return ""
}

// shareProcessors divides the processors among the processes that may use the same ones, unless GOMAXPROCS says how
// many to use.
func (r *ranks) shareProcessors(all []machine) {
	sharing := 0
	for _, m := range all {
		if m == all[r.place.Rank] {
			sharing++
		}
	}
	if os.Getenv("GOMAXPROCS") == "" && sharing > 1 {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/sharing, 1))
	}
}

// listen opens a port for the others: on the loopback interface if all are on one machine.
func listen(all []machine) (net.Listener, invitation) {
	host := "127.0.0.1"
	for _, m := range all {
		if m.Host != all[0].Host {
			host = ""
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, invitation{}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	i := invitation{Token: make([]byte, 32)}
	rand.Read(i.Token)
	if host != "" {
		i.Addresses = []string{net.JoinHostPort(host, port)}
		return l, i
	}
	const most = 16 // addresses of a machine
	found, _ := net.InterfaceAddrs()
	for _, a := range found {
		if n, is := a.(*net.IPNet); is && n.IP.IsGlobalUnicast() && len(i.Addresses) < most {
			i.Addresses = append(i.Addresses, net.JoinHostPort(n.IP.String(), port))
		}
	}
	i.Addresses = append(i.Addresses, net.JoinHostPort(all[0].Host, port))
	return l, i
}

// grace is how long a process goes on that hears why another has failed: it may find the same itself.
const grace = time.Second

// watch ends the process when another is gone. A call of MPI that waits for it returns late or never.
func (r *ranks) watch(stderr io.Writer) {
	err := <-r.group.Lost()
	r.mu.Lock()
	r.lost = err
	r.mu.Unlock()
	var e *rendezvous.GoneError
	if errors.As(err, &e) && e.Reason != "" {
		time.Sleep(grace)
	} else {
		r.copies.lastWords(stderr)
	}
	os.Exit(reportError(r.named(err), stderr))
}

// named returns an error of this process as one of several.
func (r *ranks) named(err error) error {
	if err == nil || r.place.Rank == 0 {
		return err
	}
	return fmt.Errorf("rank %d: %w", r.place.Rank, err)
}

// leave ends this process's part with the error of its training. Rank 0 calls it when everything is written.
func (r *ranks) leave(err error) error {
	if r == nil {
		return err
	}
	together := trainedTogether(err)
	if !together && r.group != nil {
		r.group.Leave(err)
	}
	r.mu.Lock()
	if r.lost != nil && exitCode(err) == exitFailed {
		err = r.lost // which is why a call of MPI failed
	}
	r.mu.Unlock()
	if together && r.group != nil {
		if r.world != nil {
			err = errors.Join(err, r.world.Close())
		}
		r.group.Leave(nil)
	}
	r.copies.close(r.group != nil)
	return r.named(err)
}

// trainedTogether reports whether a process whose work ends so has gone on as long as the others.
func trainedTogether(err error) bool {
	return err == nil || errors.As(err, new(*train.StopError)) || exitCode(err) == exitSomeFailed
}

// note keeps whether the training has failed, which decides how the devices are closed.
func (r *ranks) note(err error) {
	if r != nil {
		r.failed = !trainedTogether(err)
	}
}
