package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hgld/train/device"
)

// Digest is the SHA-256 of the bytes that a call writes.
type Digest struct {
	Call        string // names of its operations
	SHA256      string // in hexadecimal
	CardsDiffer bool   // another kind of GPU may write other bytes: products and attention on tensor cores
}

// Digests calls every operation of b once on fixed arrays, each in a subtest. Backends with the
// same arithmetic have equal digests. A NaN result fails the test, because no standard defines its
// bits. The list is shorter than the number of calls if the pattern of -run selects some of them.
func Digests(t *testing.T, b device.Backend) (all []Digest, calls int) {
	s := &suite{T: t, b: b, dtype: device.F32, r: rand.New(rand.NewPCG(4, 1))}
	list := s.calls(b)
	for i, c := range list {
		name := fmt.Sprintf("%d:%s", i, strings.Join(c.ops, "+"))
		t.Run(name, func(t *testing.T) {
			s.T = t
			all = append(all, s.digest(name, &c))
		})
	}
	s.T = t
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, buf := range s.buffers {
		b.Free(buf)
	}
	return all, len(list)
}

func (s *suite) digest(name string, c *call) Digest {
	c.run()
	sum := sha256.New()
	for k, data := range s.results(c) {
		sum.Write(data)
		if out := c.out[k]; slices.ContainsFunc(decode(out.Type, data), func(v float64) bool { return v != v }) {
			s.Errorf("%v: result %d, %v, has a NaN", c.ops, k, out)
		}
	}
	return Digest{name, hex.EncodeToString(sum.Sum(nil)), c.cardsDiffer}
}

// Call is a call of operations on fixed arrays.
type Call struct {
	Name    string          // numbered, of its operations
	Run     func()          // allocates nothing of its own
	Results func() [][]byte // the arrays that it writes
}

// Calls returns calls that cover every operation of b, large enough for several spans of a processor's threads.
// Equal backends get equal arrays.
func Calls(t *testing.T, b device.Backend) (all []Call) {
	s := &suite{T: t, b: b, dtype: device.F32, r: rand.New(rand.NewPCG(4, 1))}
	for i, c := range s.callsOf(b, manyImages) {
		all = append(all, Call{fmt.Sprintf("%d:%s", i, strings.Join(c.ops, "+")), c.run,
			func() [][]byte { return s.results(&c) }})
	}
	return all
}

// Outcome is what a call wrote.
type Outcome struct {
	Ops         []string // the operations
	CardsDiffer bool     // another kind of GPU may write other bytes: see products
	Results     [][]byte // each array that was written
}

// ShortOutcomes calls every operation on activations in BF16 once, on fixed arrays.
func ShortOutcomes(t *testing.T, b device.Backend) (all []Outcome) {
	s := &suite{T: t, b: b, dtype: device.BF16, r: rand.New(rand.NewPCG(5, 1))}
	c := &caller{suite: s, b: b, n: fewImages}
	c.activations()
	for i := range c.list {
		c.list[i].run()
		all = append(all, Outcome{c.list[i].ops, c.list[i].cardsDiffer, s.results(&c.list[i])})
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, buf := range s.buffers {
		b.Free(buf)
	}
	return all
}
