package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"hgld/internal/nccl"
	"hgld/internal/rendezvous"
	"hgld/train"
	"hgld/train/device"
	"hgld/train/device/cuda"
)

// rankNote is what a process with a card tells the others before they join their cards.
type rankNote struct {
	Machine machine
	NCCL    nccl.Version
	ID      []byte // of the group, from rank 0
}

// joinCards makes the card of this process a rank.
func (j *job) joinCards(b *cuda.Backend) (device.Backend, error) {
	r := j.ranks
	patience, err := patienceOf(os.Getenv(patienceVariable))
	if err != nil {
		return nil, err
	}
	lib, err := cuda.FindNCCL()
	if err != nil {
		return nil, withHint(withCode(exitNoGPU, err), "cards train together by NCCL: pip install nvidia-nccl-cu12, or name "+
			"the folder of %s in %s; --device cpu trains on the processors, by MPI", nccl.Name, cuda.LibrariesVariable)
	}
	own := rankNote{Machine: thisMachine(), NCCL: lib.Version}
	if r.place.Rank == 0 {
		id, err := lib.NewID()
		if err != nil {
			return nil, err
		}
		own.ID = id[:]
	}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	if err := r.meet(j.ctx, text, j.stderr); err != nil {
		return nil, err
	}
	id, err := r.readNotes()
	if err != nil {
		return nil, err
	}
	r.watchOthers(j.stderr) // joining waits for all
	joined, err := cuda.Join(b, lib, r.place.Rank, r.place.Ranks, id)
	if err != nil {
		return nil, withHint(err, "each process needs a card of its own; NCCL_DEBUG=INFO lets NCCL say more")
	}
	r.group.Watch(joined.Calls, patience)
	j.opened[slices.Index(j.opened, io.Closer(b))] = rankCard{joined, r}
	j.say("%d cards train together, started by %s; NCCL %v, %s", r.place.Ranks, r.place.Launcher, lib.Version, lib.Path)
	return joined, nil
}

// rankCard closes the card of a rank.
type rankCard struct {
	*cuda.Joined
	of *ranks
}

// Close leaves the group and releases the card.
func (c rankCard) Close() error {
	var err error
	if !c.of.failed {
		err = c.Sync()
	}
	return errors.Join(err, c.Leave(c.of.failed || err != nil), c.Backend.Close())
}

// readNotes returns the ID that rank 0 has made, and takes this process's share of the processors.
func (r *ranks) readNotes() (id nccl.ID, err error) {
	all := make([]rankNote, r.place.Ranks)
	var machines []machine
	var differences []string
	for i, text := range r.group.Notes() {
		if err := json.Unmarshal(text, &all[i]); err != nil {
			return id, fmt.Errorf("the note of rank %d: %w", i, err)
		}
		machines = append(machines, all[i].Machine)
		if a, b := all[i].NCCL, all[0].NCCL; a != b {
			differences = append(differences,
				fmt.Sprintf("rank %d (%s) has NCCL %v, rank 0 has %v", i, all[i].Machine.Host, a, b))
		}
	}
	if len(differences) > 0 {
		return id, &train.RanksError{Differences: differences}
	}
	if len(all[0].ID) != len(id) {
		return id, errors.New("rank 0 has sent no ID of NCCL")
	}
	r.shareProcessors(machines)
	return nccl.ID(all[0].ID), nil
}

// meet connects the processes: at the address of rank 0, or else by MPI.
func (r *ranks) meet(ctx context.Context, note []byte, stderr io.Writer) error {
	if r.meetsByAddress() {
		return r.meetByAddress(ctx, note, stderr)
	}
	return withHint(r.connect(ctx, note), "the processes meet without MPI at the address of rank 0, MASTER_ADDR or the "+
		"first node of SLURM's list: it must be known, and %s must hold the same secret for all", tokenVariable)
}

// meetsByAddress reports whether the processes can meet without MPI: others than those of this machine need a secret.
func (r *ranks) meetsByAddress() bool {
	host, _, _ := net.SplitHostPort(r.place.Address)
	return isLoopback(host) || host != "" && os.Getenv(tokenVariable) != ""
}

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

func (r *ranks) meetByAddress(ctx context.Context, note []byte, stderr io.Writer) (err error) {
	own, token := r.hello(note), []byte(os.Getenv(tokenVariable))
	if r.place.Rank > 0 {
		r.group, err = rendezvous.Join(ctx, []string{r.place.Address}, own, token)
		return err
	}
	if r.copies != nil {
		r.group, err = r.copies.accept(ctx, own, token, stderr)
		return err
	}
	host, port, _ := net.SplitHostPort(r.place.Address)
	if !isLoopback(host) {
		host = "" // of which this machine may not know the address
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return withHint(withCode(exitUsage, err), "rank 0 listens at %s; MASTER_PORT names another port", r.place.Address)
	}
	r.group, err = rendezvous.Accept(ctx, l, own, token)
	return err
}

// cardOf returns the name of the card of this process, for a name that leaves the choice: of several cards that it
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
		local := j.ranks.place.Local
		if local >= len(cards) {
			return "", usagef("rank %d is process %d of its machine, which has %d cards: start a process for each card",
				j.ranks.place.Rank, local, len(cards))
		}
		return fmt.Sprintf("%s:%d", kind.Name, cards[local]), nil
	}
	return name, nil
}
