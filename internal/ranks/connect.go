package ranks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"hgld/internal/ranks/launch"
	"hgld/internal/ranks/meet"
	"hgld/internal/ranks/mpi"
	"hgld/internal/regular"
)

// NoMPIError reports that no library of MPI can be opened.
type NoMPIError struct{ caused }

// caused is an error with the text of its cause.
type caused struct{ err error }

func (e caused) Error() string { return e.err.Error() }
func (e caused) Unwrap() error { return e.err }

// OtherPlaceError reports that MPI gives this process another place than the launcher does.
type OtherPlaceError struct {
	Library     *mpi.Library  // which gives another place
	Rank, Ranks int           // according to it
	Place       *launch.Place // according to the launcher
}

// Error names both places.
func (e *OtherPlaceError) Error() string {
	return fmt.Sprintf("%s (%s) says that this is rank %d of %d, and %s rank %d of %d", e.Library.Path, e.Library.Version,
		e.Rank, e.Ranks, e.Place.Launcher, e.Place.Rank, e.Place.Ranks)
}

// Join connects this process with the others by MPI, and ends it from then on when another is gone.
func (p *Process) Join(ctx context.Context) error {
	patience, err := Patience()
	if err != nil {
		return err
	}
	if err := p.connect(ctx, nil); err != nil {
		return err
	}
	p.Group.Watch(p.World.Calls, patience)
	p.watchOthers()
	return nil
}

// startMPI starts MPI with as many processes as the launcher says.
func (p *Process) startMPI() error {
	l, err := mpi.Open(os.Getenv)
	if err != nil {
		return &NoMPIError{caused{err}}
	}
	if p.World, err = l.Start(); err != nil {
		return err
	}
	if rank, n := p.World.Rank(); rank != p.Place.Rank || n != p.Place.Ranks {
		return &OtherPlaceError{l, rank, n, p.Place}
	}
	return nil
}

// machine is what a process says of the machine that it runs on.
type machine struct{ Host, Processors string }

// invitation is what rank 0 tells the others.
type invitation struct {
	Addresses []string
	Token     []byte
}

// connect starts MPI, and connects the processes once more over TCP, where each notices that another is gone.
func (p *Process) connect(ctx context.Context, note []byte) error {
	if err := p.startMPI(); err != nil {
		return err
	}
	machines, err := p.machines()
	if err != nil {
		return err
	}
	p.shareProcessors(machines)
	var l net.Listener
	var invite invitation
	if p.Place.Rank == 0 {
		l, invite = listen(machines)
	}
	text := make([]byte, 4096)
	packed, err := json.Marshal(invite)
	if err != nil {
		return err
	}
	copy(text, packed)
	if err := p.World.Broadcast(text); err != nil {
		return err
	}
	if err := json.Unmarshal(bytes.TrimRight(text, "\x00"), &invite); err != nil {
		return err
	}
	if len(invite.Addresses) == 0 {
		return errors.New("rank 0 cannot listen on any port")
	}
	token := append(invite.Token, os.Getenv(TokenVariable)...)
	return p.join(ctx, l, invite.Addresses, p.hello(note), token)
}

// join connects this process with the others: rank 0 at l, the others at one of its addresses.
func (p *Process) join(ctx context.Context, l net.Listener, addresses []string, own meet.Hello, token []byte) error {
	longest, err := wait()
	if err != nil {
		return err
	}
	if p.Place.Rank == 0 {
		p.Group, err = meet.Accept(ctx, l, own, token, longest, p.program.Log)
	} else {
		p.Group, err = meet.Join(ctx, addresses, own, token, longest)
	}
	return err
}

func thisMachine() machine {
	m := machine{Processors: allowedProcessors()}
	m.Host, _ = os.Hostname()
	return m
}

// machines gathers what the processes say of their machines.
func (p *Process) machines() ([]machine, error) {
	const room = 1024
	text, err := json.Marshal(thisMachine())
	if err != nil || len(text) > room {
		text = []byte("{}")
	}
	all := make([]byte, room*p.Place.Ranks)
	if err := p.World.AllGather(all, append(text, make([]byte, room-len(text))...)); err != nil {
		return nil, err
	}
	list := make([]machine, p.Place.Ranks)
	for i := range list {
		if err := json.Unmarshal(bytes.TrimRight(all[i*room:(i+1)*room], "\x00"), &list[i]); err != nil {
			return nil, fmt.Errorf("rank %d described its machine: %w", i, err)
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
func (p *Process) shareProcessors(all []machine) {
	sharing := 0
	for _, m := range all {
		if m == all[p.Place.Rank] {
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
