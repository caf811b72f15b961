package device

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/registry"
)

// The names of devices that are not GPUs. Auto is the first usable GPU, or else the CPU.
const (
	Auto = "auto"
	CPU  = "cpu"
)

// kinds lists all kinds of GPUs, including those that this build does not support.
var kinds = []string{"cuda"}

// ErrNoGPU is wrapped by the error of Kind.Probe if there is no GPU. Any other error is about one that is there
// and cannot be used.
var ErrNoGPU = errors.New("there is no GPU")

// Kind is a kind of GPUs that this build supports.
type Kind struct {
	// Name is the name of the kind.
	Name string

	// Probe returns the first usable GPU and its name, or an error that says what is
	// missing.
	Probe func() (first int, name string, err error)

	// Open opens GPU n, counted from 0.
	Open func(n int) (Backend, error)

	// Usable returns the numbers of all usable GPUs, or an error that says what is missing.
	Usable func() ([]int, error)
}

// Place is a parsed name of a device.
type Place struct {
	Kind string // Auto, CPU or a kind of GPUs
	Card int    // number of the GPU, from 0
}

// ParsePlace parses the name of a device: auto, cpu, or a kind of GPUs, optionally with a
// number as in cuda:1. A name that is not known is a *registry.UnknownError.
func ParsePlace(name string) (Place, error) {
	kind, number, numbered := strings.Cut(name, ":")
	known := append([]string{Auto, CPU}, kinds...)
	if !slices.Contains(known, kind) {
		return Place{}, registry.Unknown("device", name, known)
	}
	p := Place{Kind: kind}
	if !numbered {
		return p, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || kind == Auto || kind == CPU {
		return Place{}, fmt.Errorf("device %.80q: want one of %s, a GPU optionally with its number, such as cuda:1", name,
			strings.Join(known, ", "))
	}
	p.Card = n
	return p, nil
}

// Group is several GPUs of one machine.
type Group struct {
	Kind  string // such as cuda
	Cards []int  // their numbers; nil: all that are usable
}

// mostCards bounds the GPUs of a Group.
const mostCards = 64

// ParseGroup parses a name that may stand for several GPUs: cuda:0-3, cuda:0,2,5-7 or cuda:all. It returns nil for any
// other name, which ParsePlace parses.
func ParseGroup(name string) (*Group, error) {
	kind, list, _ := strings.Cut(name, ":")
	if !slices.Contains(kinds, kind) || list != "all" && strings.IndexAny(list, ",-") < 1 {
		return nil, nil
	}
	g := &Group{Kind: kind}
	if list == "all" {
		return g, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 16)
		last, failed := strconv.ParseUint(to, 10, 16)
		if err != nil || failed != nil || last < first || last-first >= mostCards {
			return nil, fmt.Errorf("device %.80q: want numbers and ranges such as %s:0-3 or %s:0,2, or %s:all", name, kind, kind,
				kind)
		}
		for n := int(first); n <= int(last); n++ {
			if slices.Contains(g.Cards, n) {
				return nil, fmt.Errorf("device %.80q names GPU %d twice", name, n)
			}
			g.Cards = append(g.Cards, n)
		}
	}
	return g, nil
}

// UnusableError says that a requested GPU cannot be used.
type UnusableError struct {
	// Device is the name of the GPU.
	Device string

	// Err says what is missing.
	Err error
}

// Error names the device and the cause.
func (e *UnusableError) Error() string { return fmt.Sprintf("device %s: %v", e.Device, e.Err) }

// Unwrap returns the cause.
func (e *UnusableError) Unwrap() error { return e.Err }

// Opener opens devices by place.
type Opener struct {
	// Kinds are the kinds of GPUs in this build, in the order in which auto tries them.
	Kinds []Kind

	// CPU returns the backend of the processor.
	CPU func() Backend

	// Opened is called with the GPU that auto opened; name is what its probe returned.
	Opened func(kind string, card int, name string)

	// Skipped is called with a GPU, or a kind of GPUs, that is there but that auto could not use.
	Skipped func(name string, err error)
}

// Open opens the device at p. Auto opens the first GPU that can be opened, or else the CPU. If a
// named GPU cannot be used, the error is an *UnusableError with that name.
func (o Opener) Open(name string, p Place) (Backend, error) {
	switch p.Kind {
	case CPU:
		return o.CPU(), nil
	case Auto:
		return o.auto(), nil
	}
	at := slices.IndexFunc(o.Kinds, func(k Kind) bool { return k.Name == p.Kind })
	if at < 0 {
		return nil, &UnusableError{name, errors.New("this build of hgld does not support it")}
	}
	_, _, err := o.Kinds[at].Probe()
	if err != nil {
		return nil, &UnusableError{name, err}
	}
	b, err := o.Kinds[at].Open(p.Card)
	if err != nil {
		return nil, &UnusableError{name, err}
	}
	return b, nil
}

func (o Opener) auto() Backend {
	for _, kind := range o.Kinds {
		first, found, err := kind.Probe()
		if err != nil {
			if !errors.Is(err, ErrNoGPU) {
				o.Skipped(kind.Name, err)
			}
			continue
		}
		b, err := kind.Open(first)
		if err != nil {
			o.Skipped(found, err)
			continue
		}
		o.Opened(kind.Name, first, found)
		return b
	}
	return o.CPU()
}
