package cuda

import (
	"errors"
	"fmt"
)

// Report describes the driver and the cards of a machine.
type Report struct {
	Driver  string // path of the library, or the name of the built-in driver
	Version int    // 12040 is CUDA 12.4
	Cards   []Card // all cards that the driver lists

	drv Driver
}

// First returns the first usable card. Without an error, a report has one.
func (r Report) First() Card {
	for _, c := range r.Cards {
		if c.fit() == nil {
			return c
		}
	}
	return Card{}
}

// Free returns the unused bytes of Cards[i], or −1 if they are unknown. It makes a context on the
// card, which takes a few hundred milliseconds and as many MB of the card's memory.
func (r Report) Free(i int) int { return freeMemory(r.drv, r.Cards[i].Ordinal) }

// Probe looks for a driver and its cards, and makes no context on them. The error wraps ErrNoCard
// and says what is missing. The report still holds what was found.
func Probe() (Report, error) {
	drv, path, err := openDriver()
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrNoCard, err)
	}
	r := Report{Driver: path, drv: drv}
	if r.Version, err = drv.Version(); err != nil {
		return r, fmt.Errorf("%w: %w", ErrNoCard, err)
	}
	n, err := drv.Devices()
	if err != nil || n == 0 {
		return r, fmt.Errorf("%w: the driver has no card%s", ErrNoCard, because(err))
	}
	var unfit error
	for i := range n {
		card, err := drv.Device(i)
		if err != nil {
			return r, fmt.Errorf("%w: card %d: %w", ErrNoCard, i, err)
		}
		r.Cards = append(r.Cards, card)
		if err := card.fit(); err != nil {
			unfit = errors.Join(unfit, err)
		}
	}
	if r.First().Name != "" {
		return r, nil
	}
	return r, unfit
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// fit returns an error if the kernels cannot run on a card.
func (c Card) fit() error {
	if c.Major >= leastMajor {
		return nil
	}
	return fmt.Errorf("%w: %s has compute capability %d.%d, at least %d.0 is needed (Ampere, 2020)",
		ErrNoCard, c.Name, c.Major, c.Minor, leastMajor)
}

// Precisions names the types that activations can have on the card.
func (c Card) Precisions() string {
	if c.fit() == nil { // the capability that the kernels need is the one that has bfloat16
		return "float32 and bfloat16"
	}
	return "no kernels for it"
}

// freeMemory returns the unused bytes of a card, or −1.
func freeMemory(drv Driver, ordinal int) int {
	ctx, err := drv.Retain(ordinal)
	if err != nil {
		return -1
	}
	defer drv.Release(ordinal)
	unpin := pin()
	defer unpin()
	if drv.SetCurrent(ctx) != nil {
		return -1
	}
	free, _, err := drv.MemInfo()
	if err != nil {
		return -1
	}
	return free
}
