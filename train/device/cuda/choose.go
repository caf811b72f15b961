package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hgld/train/device"
	"hgld/train/device/cuda/vendor"
)

// choices replace what the rules choose by shape. Zeros leave the rules. Tests set tiles and splits, for large tiles
// of small shapes.
type choices struct {
	Tile   int // side of the tile of a block, 64 or 128; it changes no bytes
	Splits int // parts into which a sum is cut; they change the order of the sum
	Way    way // what computes
}

// way says what computes an operation: what the rules say, this package, or plan n of a library, such as "cudnn 1".
type way string

const (
	byRules way = ""
	byOurs  way = "hgld"

	byDnn  = "cudnn"
	byBlas = "cublaslt"
)

// by returns the library of a way, and which of its suitable algorithms is taken.
func (w way) by() (library string, plan int) {
	library, number, _ := strings.Cut(string(w), " ")
	plan, _ = strconv.Atoi(number)
	return library, plan
}

// plan returns the plan by which a library computes an operation, and whether it may.
func (c *choices) plan(library string) (plan int, may bool) {
	by, plan := c.Way.by()
	return plan, c.Way == byRules || by == library
}

// forced reports whether a library computes all that it can, where a rule takes our kernel too.
func (c *choices) forced() bool { return c.Way != byRules && c.Way != byOurs }

// tiling returns how a product is cut: as productTiles says, unless it is chosen otherwise.
func (c *choices) tiling(filling, rows, cols, inner, batch int) (t tiling) {
	t.tile, t.splits = productTiles(filling, rows, cols, inner, batch)
	if c.Tile != 0 {
		t.tile, t.splits = c.Tile, productSplits(filling, c.Tile, rows, cols, inner, batch)
	}
	if c.Splits != 0 {
		t.splits = max(1, min(c.Splits, blocks(inner, splitUnit)))
	}
	return t
}

// tile is the tile of an operation that does not split its sums.
func (c *choices) tile(filling, rows, cols, batch int) int {
	if c.Tile != 0 {
		return c.Tile
	}
	tile, _ := productTiles(filling, rows, cols, leastSplit, batch)
	return tile
}

// Choices implements device.Choosing.
func (b *Backend) Choices() device.Choices {
	if len(b.vendor.ways) == 0 {
		return device.Choices{}
	}
	return device.Choices{On: b.vendor.on, Ways: maps.Clone(b.vendor.ways)}
}

// Repeat implements device.Choosing.
func (b *Backend) Repeat(c device.Choices) {
	if len(c.Ways) == 0 {
		return
	}
	if b.library(device.BF16); b.vendor.on == c.On {
		b.vendor.ways = maps.Clone(c.Ways)
		return
	}
	b.tell(fmt.Sprintf("the choices of algorithms for %s are not used on %s", c.On, cmp.Or(b.vendor.on, b.Name())))
}

// choosable is an operation that can be computed in several ways.
type choosable struct {
	shape     func() string   // names the operation and what its time depends on
	libraries []string        // that compute it, too
	writes    []device.Array  // some may be absent
	run       func(to writes) // computes it
}

// writes returns the array that an operation writes in place of one of its own: while it is timed, another.
type writes func(device.Array) device.Array

// choose runs an operation on arrays of a type as was chosen for its shape.
func (b *Backend) choose(t device.DType, o choosable) {
	if t == device.BF16 && b.chosen.Way == byRules && (b.vendor.measures || len(b.vendor.ways) > 0) {
		if l, real := b.library(t).(*vendor.Libraries); real && l != nil {
			b.chosen.Way = wayOf(b.choice(l, o))
			defer func() { b.chosen.Way = byRules }()
		}
	}
	o.run(func(a device.Array) device.Array { return a })
}

// rulesText is byRules in the text of a choice.
const rulesText = "rules"

// wayOf reads the text of a choice, such as "cudnn 1: 0.0784 ms, 0.0925 by the rules".
func wayOf(text string) way {
	if name, _, _ := strings.Cut(text, ":"); name != rulesText {
		return way(name)
	}
	return byRules
}

// choice returns the choice for an operation: what it was, what is kept, or what is the fastest now.
func (b *Backend) choice(l *vendor.Libraries, o choosable) string {
	shape := o.shape()
	text, known := b.vendor.ways[shape]
	if known || !b.vendor.measures || b.capture != nil {
		return text
	}
	text, err := l.Choice(shape)
	if err != nil {
		b.tell(fmt.Sprintf("%v: hgld measures again", err))
	}
	if text == "" {
		if text = b.fastest(l, o); text != "" {
			l.KeepChoice(shape, text)
		}
	}
	if b.vendor.ways == nil {
		b.vendor.ways = map[string]string{}
	}
	b.vendor.ways[shape] = cmp.Or(text, rulesText) // also where there was no memory, so that a resumed run repeats
	return text
}

const (
	// triedPlans is the number of a library's plans that are timed. An H200 ran the convolutions of a ResNet-50 and
	// the products of a DeiT-S 1 to 2 % faster by the best of four than by the first.
	triedPlans = 3

	// trialRounds is how often each way is timed; the least counts.
	trialRounds = 4

	// hopeless is how many times as long as the fastest a way takes that is not timed again.
	hopeless = 2

	// leastGain is the part of the time by the rules that another way must save: times are known to a few percent.
	leastGain = 0.05
)

// trial is a way with its time.
type trial struct {
	way     way
	program device.Program
	ms      float64
}

// fastest times the ways to compute an operation, each as a graph, as in a step, and returns the choice. What they
// write goes to memory of its own. The text is empty if there is too little of it, or if the GPU fails.
func (b *Backend) fastest(l *vendor.Libraries, o choosable) string {
	room, others := 0, map[device.Array]device.Array{}
	for _, a := range o.writes {
		room += extent(a) + scratchAlign
	}
	if b.Room(room, device.BF16) != nil {
		return ""
	}
	for _, a := range o.writes {
		if !a.Absent() {
			others[a] = b.beside(a)
			defer b.Free(others[a].Buf)
		}
	}
	run := func() { o.run(func(a device.Array) device.Array { return others[a] }) }
	ways := []way{byRules, byOurs}
	for _, name := range o.libraries {
		for plan := range triedPlans {
			ways = append(ways, way(fmt.Sprintf("%s %d", name, plan)))
		}
	}
	l.Try()
	b.vendor.trying = true
	var trials []trial
	for _, w := range ways {
		b.chosen.Way, b.vendor.used = w, false
		if run(); b.chosen.forced() && !b.vendor.used {
			continue // the library has no such plan
		}
		if p, err := b.Record(run); err == nil {
			trials = append(trials, trial{w, p, math.Inf(1)})
		}
	}
	b.chosen.Way, b.vendor.trying = byRules, false
	best := math.Inf(1)
	for range trialRounds {
		for i := range trials {
			if t := &trials[i]; math.IsInf(t.ms, 1) || t.ms < hopeless*best {
				t.ms = min(t.ms, b.milliseconds(t.program.Run))
				best = min(best, t.ms)
			}
		}
	}
	for _, t := range trials {
		t.program.Close()
	}
	return b.endTrials(l, trials)
}

// endTrials frees the plans that were not chosen, and returns the choice.
func (b *Backend) endTrials(l *vendor.Libraries, trials []trial) string {
	if b.Sync() != nil {
		return ""
	}
	rules := trials[0]
	won := slices.MinFunc(trials, func(a, b trial) int { return cmp.Compare(a.ms, b.ms) })
	if won.ms > (1-leastGain)*rules.ms {
		won = rules
	}
	library, plan := won.way.by()
	if library != byDnn {
		plan = 0
	}
	b.op("EndTry").queue(func() (bool, error) { return true, l.EndTry(plan) })
	if won.way == byRules {
		return fmt.Sprintf("%s: %.4f ms", rulesText, rules.ms)
	}
	return fmt.Sprintf("%s: %.4f ms, %.4f by the rules", won.way, won.ms, rules.ms)
}

// milliseconds returns the time of f on the GPU.
func (b *Backend) milliseconds(f func()) (ms float64) {
	var from, to Event
	stamp := func(e *Event) {
		b.op("NewEvent").queue(func() (_ bool, err error) {
			if *e, err = b.drv.NewEvent(Timed); err == nil {
				err = b.drv.Record(*e, b.compute)
			}
			return true, err
		})
	}
	stamp(&from)
	f()
	stamp(&to)
	b.op("Elapsed").queue(func() (bool, error) {
		waited := b.drv.SyncEvent(to)
		elapsed, err := b.drv.Elapsed(from, to)
		ms = float64(elapsed)
		return true, errors.Join(waited, err, b.drv.FreeEvent(from), b.drv.FreeEvent(to))
	})
	return ms
}

// extent returns the bytes from the first element of an array to the end of the last; 0 if it is absent.
func extent(a device.Array) int {
	if a.Len() == 0 || a.Absent() {
		return 0
	}
	return a.Type.Size() * ((a.Rows()-1)*stride(a) + a.Cols())
}

// location is the address of an array.
func location(a device.Array) Address {
	return a.Buf.(*buffer).addr + Address(a.Off*a.Type.Size())
}

// beside allocates an array like another, whose address is as much aligned.
func (b *Backend) beside(a device.Array) device.Array {
	at := int(location(a) % scratchAlign)
	a.Buf, a.Off = b.Part(b.Alloc(at+extent(a)), at, extent(a)), 0
	return a
}

// shapeText names an operation by its arrays, with what their addresses are aligned to if that is not 16 bytes, and
// by other arguments.
func shapeText(op string, arguments ...any) string {
	text := op
	for _, v := range arguments {
		a, is := v.(device.Array)
		switch {
		case !is:
			text += fmt.Sprintf(" %v", v)
		case a.Absent():
			text += " -"
		default:
			text += fmt.Sprintf(" %v", a)
			if !a.Contiguous() {
				text += fmt.Sprintf("/%d", a.Ld)
			}
			if at := location(a) % 16; at != 0 {
				text += fmt.Sprintf("@%d", at)
			}
		}
	}
	return text
}
