package predict

import (
	"hgld/train/device"
	"hgld/train/device/testing/nulldriver"
)

// Group is what a step spends on the link between the GPUs of a group.
type Group struct {
	Cards int    // at least 2
	Nodes int    // machines
	Link  string // between the GPUs of a machine

	// Network is the bits that a machine sends to others in a second. 0: there are no others.
	Network float64

	// Seconds are those of all sums and gathers of a step, and Exposed those that the GPU waits for: the others pass
	// while it computes. Both may be half or twice as long.
	Seconds float64
	Exposed float64 // see Seconds
}

// timeline is the time of a step on a GPU and on its link.
type timeline struct {
	card, link    float64 // seconds from the begin of the step until what is queued so far has ended
	busy, exposed float64 // seconds of the link, and those that the GPU waited for it
}

// aside queues seconds of the link, beside what the GPU computes from now on.
func (t *timeline) aside(seconds float64) {
	t.link = max(t.link, t.card) + seconds
	t.busy += seconds
}

// settle lets the GPU wait for the link.
func (t *timeline) settle() {
	if t.link > t.card {
		t.exposed += t.link - t.card
		t.card = t.link
	}
}

// grouped is a device in a group of GPUs that are not there. It counts the time of their link.
type grouped struct {
	device.Backend
	group nulldriver.Group
	times *timeline
}

var _ device.Overlapping = grouped{}

// Rank returns 0 and the number of GPUs.
func (g grouped) Rank() (rank, ranks int) { return 0, g.group.Cards }

// Overlaps is true, as with NCCL.
func (g grouped) Overlaps() bool { return true }

// AllReduce counts a sum that the GPU waits for.
func (g grouped) AllReduce(a device.Array) {
	g.AllReduceAside(a)
	g.Settle()
}

// AllReduceAside counts a sum beside what the GPU computes.
func (g grouped) AllReduceAside(a device.Array) { g.times.aside(g.group.AllReduce(bytesOf(a))) }

// Settle lets the GPU wait for the sums.
func (g grouped) Settle() { g.times.settle() }

// AllGather counts a gather that the GPU waits for.
func (g grouped) AllGather(dst, _ device.Array) {
	g.times.aside(g.group.AllGather(bytesOf(dst)))
	g.times.settle()
}

// Broadcast counts a broadcast that the GPU waits for.
func (g grouped) Broadcast(a device.Array) {
	g.times.aside(g.group.Broadcast(bytesOf(a)))
	g.times.settle()
}

// OwnMemory forwards the call.
func (g grouped) OwnMemory() bool { return device.OwnMemory(g.Backend) }

// Room forwards the call.
func (g grouped) Room(bytes int, t device.DType) error {
	return g.Backend.(device.Crowded).Room(bytes, t)
}

// HostBuffer forwards the call.
func (g grouped) HostBuffer(bytes int) device.HostBuffer {
	if p, able := g.Backend.(device.Pinned); able {
		return p.HostBuffer(bytes)
	}
	return nil
}

func bytesOf(a device.Array) int { return a.Len() * a.Type.Size() }

// predicted returns what the timeline says about a group.
func (t *timeline) predicted(g nulldriver.Group) *Group {
	p := &Group{Cards: g.Cards, Nodes: g.Nodes, Link: g.Link.Name, Seconds: t.busy, Exposed: t.exposed}
	if g.Nodes > 1 {
		p.Network = g.Network
	}
	return p
}

// bounds returns the least and the greatest time of a step whose GPU and link are off by their errors. The GPU waits
// for all of a longer time of the link, and a shorter one saves no more than what it waited.
func (p *Prediction) bounds() (least, most float64) {
	card, link := p.StepTime, Group{}
	if p.Group != nil {
		link = *p.Group
		card -= link.Exposed
	}
	least = card*(1-p.Error) + max(0, link.Exposed-link.Seconds*(1-1./nulldriver.LinkError))
	return least, card*(1+p.Error) + link.Exposed + link.Seconds*(nulldriver.LinkError-1)
}
