// Package launch finds a process's place among those that a launcher started together: mpirun, srun, torchrun,
// an Indexed Job of Kubernetes, or another process of this program.
package launch

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Variable turns launchers off: with the value off, a process works alone.
const Variable = "HGLD_RANKS"

// Place is the place of a process in its group.
type Place struct {
	Rank, Ranks int    // number of the process, from 0, and how many there are
	Local       int    // number of the process on its machine
	Address     string // host:port at which rank 0 may listen; "": the launcher names none
	Launcher    string // mpirun, mpiexec, srun, torchrun, Kubernetes or Own
	Job         string // what the launcher calls the group, the same for all its processes; "": nothing
}

// Own is the launcher of processes that one of them has started on its machine.
const Own = "hgld"

// The variables of such a process.
const (
	ownRank    = "HGLD_RANK"
	ownRanks   = "HGLD_RANK_COUNT"
	ownAddress = "HGLD_RANK_ADDRESS"
)

// Variables returns the environment of a process that this program starts, as NAME=value.
func (p *Place) Variables() []string {
	return []string{
		ownRank + "=" + strconv.Itoa(p.Rank), ownRanks + "=" + strconv.Itoa(p.Ranks), ownAddress + "=" + p.Address,
	}
}

// kind lists the variables of a launcher.
type kind struct{ name, rank, ranks, local string }

// The most explicit come first: torchrun may run in a pod of an Indexed Job, which JOB_COMPLETION_INDEX numbers, and
// mpirun below srun. A batch script of SLURM without srun has SLURM_PROCID=0 and SLURM_NTASKS, but no step.
var kinds = []kind{
	{Own, ownRank, ownRanks, ownRank},
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "WORLD_SIZE", "LOCAL_RANK"},
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
	{"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
}

// Ports at which rank 0 listens if no variable names one.
const (
	masterPort = 29500 // torchrun's
	firstPort  = 20000 // of SLURM's jobs and their steps: two on one node do not meet
	jobPorts   = 10000
)

// Find reads the variables of the launchers. It returns nil for a process that was started alone.
func Find(getenv func(string) string) (*Place, error) {
	switch v := getenv(Variable); v {
	case "", "auto":
	case "off":
		return nil, nil
	default:
		return nil, fmt.Errorf("%s is %.80q, want auto or off", Variable, v)
	}
	for _, k := range kinds {
		p, err := k.place(getenv)
		if err != nil || p != nil {
			return p, err
		}
	}
	return nil, nil
}

func (k kind) place(getenv func(string) string) (*Place, error) {
	if getenv(k.rank) == "" || getenv(k.ranks) == "" {
		return nil, nil
	}
	if pmi := getenv("PMI_RANK"); k.name == "srun" && pmi != "" && pmi != getenv(k.rank) {
		return nil, nil // mpiexec, which starts a process a node by srun
	}
	p := &Place{Launcher: k.name}
	for _, v := range []struct {
		to   *int
		name string
	}{{&p.Rank, k.rank}, {&p.Ranks, k.ranks}, {&p.Local, k.local}} {
		text := getenv(v.name)
		if text == "" && v.to == &p.Local {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s is %.80q, want a whole number", v.name, text)
		}
		*v.to = n
	}
	if p.Ranks < 2 {
		return nil, nil
	}
	if p.Rank >= p.Ranks {
		return nil, fmt.Errorf("%s is %d and %s is %d, want a smaller number", k.rank, p.Rank, k.ranks, p.Ranks)
	}
	for _, name := range []string{"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID"} {
		if id := getenv(name); id != "" {
			p.Job = strings.TrimSpace(p.Job + " " + name + "=" + id)
		}
	}
	var err error
	p.Address, err = k.address(getenv)
	return p, err
}

// address returns where rank 0 listens.
func (k kind) address(getenv func(string) string) (string, error) {
	if k.name == Own {
		return getenv(ownAddress), nil
	}
	host, port := strings.Trim(getenv("MASTER_ADDR"), "[]"), masterPort
	if k.name == "srun" {
		job, _ := strconv.Atoi(getenv("SLURM_JOB_ID"))
		step, _ := strconv.Atoi(getenv("SLURM_STEP_ID"))
		port = firstPort + (job+1009*step)%jobPorts
		if nodes := getenv("SLURM_STEP_NODELIST"); host == "" && nodes != "" {
			var err error
			if host, err = FirstHost(nodes); err != nil {
				return "", err
			}
		}
	}
	if host == "" {
		return "", nil
	}
	if text := getenv("MASTER_PORT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 65535 {
			return "", fmt.Errorf("MASTER_PORT is %.80q, want a port", text)
		}
		port = n
	}
	if k.name == "torchrun" && getenv("TORCHELASTIC_RUN_ID") != "" {
		port++ // torchrun listens on the port that it names
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// FirstHost returns the first host of a list as SLURM writes it: n01 of n[01-03,7],m2.
func FirstHost(list string) (string, error) {
	head, rest, ranged := strings.Cut(list, "[")
	if comma := strings.IndexByte(head, ','); !ranged || comma >= 0 {
		head, _, _ = strings.Cut(list, ",")
		if head == "" {
			return "", fmt.Errorf("the list of nodes is %.80q", list)
		}
		return head, nil
	}
	inside, after, closed := strings.Cut(rest, "]")
	first := inside[:len(inside)-len(strings.TrimLeft(inside, "0123456789"))]
	if !closed || first == "" {
		return "", fmt.Errorf("the list of nodes is %.80q", list)
	}
	tail, _, _ := strings.Cut(after, ",")
	return head + first + tail, nil
}
