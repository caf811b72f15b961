package ranks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"hgld/internal/ranks/nccl"
	"hgld/internal/usage"
)

// Note is what a process tells the others when they meet.
type Note struct {
	Machine machine      // set by [Process.Meet]
	NCCL    nccl.Version // 0 without GPUs
	ID      []byte       // of the group, from rank 0
}

// GroupID returns the ID of NCCL that rank 0 has made, or how the libraries of the others differ.
func GroupID(notes []Note) (id nccl.ID, differences []string, err error) {
	for i, n := range notes {
		if n.NCCL != notes[0].NCCL {
			differences = append(differences, fmt.Sprintf("rank %d (%s) has NCCL %v, rank 0 has %v", i, n.Machine.Host,
				n.NCCL, notes[0].NCCL))
		}
	}
	if len(differences) > 0 {
		return id, differences, nil
	}
	if len(notes[0].ID) != len(id) {
		return id, nil, errors.New("rank 0 has sent no ID of NCCL")
	}
	return nccl.ID(notes[0].ID), nil, nil
}

// NoAddressError reports that processes that have no address of rank 0 did not meet by MPI either.
type NoAddressError struct{ caused }

// ListenError reports that rank 0 cannot listen at its address.
type ListenError struct {
	caused
	Address string // host:port
}

// Meet connects the processes, at the address of rank 0 or else by MPI, and returns the notes of all. The process takes
// its share of the processors, and ends from then on when another is gone.
func (p *Process) Meet(ctx context.Context, own Note) ([]Note, error) {
	own.Machine = thisMachine()
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	switch l := p.Place.Launcher; {
	case p.meetsByAddress():
		err = p.meetByAddress(ctx, text)
	case p.Place.Address != "" && (l == "torchrun" || l == "Kubernetes"): // which start no MPI
		return nil, usage.Errorf("the processes meet at %s, which is not this machine alone: set %s to the same secret "+
			"for all of them", p.Place.Address, TokenVariable)
	default:
		if err = p.connect(ctx, text); err != nil {
			err = &NoAddressError{caused{err}}
		}
	}
	if err != nil {
		return nil, err
	}
	p.watchOthers()
	notes, machines := make([]Note, p.Place.Ranks), make([]machine, p.Place.Ranks)
	for i, text := range p.Group.Notes() {
		if err := json.Unmarshal(text, &notes[i]); err != nil {
			return nil, fmt.Errorf("the note of rank %d: %w", i, err)
		}
		machines[i] = notes[i].Machine
	}
	if p.World == nil {
		p.shareProcessors(machines)
	}
	return notes, nil
}

// meetsByAddress reports whether the processes can meet without MPI: others than those of this machine need a secret.
func (p *Process) meetsByAddress() bool {
	host, _, _ := net.SplitHostPort(p.Place.Address)
	return isLoopback(host) || host != "" && os.Getenv(TokenVariable) != ""
}

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

func (p *Process) meetByAddress(ctx context.Context, note []byte) (err error) {
	own, token := p.hello(note), []byte(os.Getenv(TokenVariable))
	own.Job = strings.TrimSpace(p.Place.Job + " " + p.Work)
	var l net.Listener
	switch {
	case p.copies != nil:
		return p.copies.accept(ctx, func(ctx context.Context, l net.Listener) error {
			return p.join(ctx, l, nil, own, token)
		})
	case p.Place.Rank == 0:
		host, port, _ := net.SplitHostPort(p.Place.Address)
		if !isLoopback(host) {
			host = "" // of which this machine may not know the address
		}
		if l, err = net.Listen("tcp", net.JoinHostPort(host, port)); err != nil {
			return &ListenError{caused{err}, p.Place.Address}
		}
	}
	return p.join(ctx, l, []string{p.Place.Address}, own, token)
}
