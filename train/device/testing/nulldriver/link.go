package nulldriver

// Link is what joins the GPUs of a training, as NCCL's own model of times sees it (src/graph of NCCL 2.18 and later):
// rings, whose GPUs all send at once. No link has been measured by hgld.
type Link struct {
	Name  string  // for people
	Bytes float64 // that a GPU sends in a second, while it receives as many: the bus bandwidth of nccl-tests
	kind  linkKind
}

// LinkError is the factor by which a time on a link may be too short or too long.
const LinkError = 2

// Links are those between GPUs of one machine, by short names. NVLink 4 has 18 links of 20.6 GB/s, NVLink 3 has 12 of
// 20. PCIe has 80 % of its rate: 16 lanes of 16 or 32 Gbit/s.
var Links = map[string]Link{
	"nvlink4": {"NVLink 4", 370e9, nvlink}, "nvlink3": {"NVLink 3", 240e9, nvlink},
	"pcie5": {"PCIe 5", 51e9, pcie}, "pcie4": {"PCIe 4", 25e9, pcie},
}

type linkKind int

const (
	nvlink linkKind = iota
	pcie
	network
	linkKinds
)

// protocol is a way in which NCCL sends: the seconds before the first step and of a step from GPU to GPU, by kind of
// link, and the share of the link's rate. It takes the one that is faster for the size of an array.
type protocol struct {
	base  float64
	steps [linkKinds]float64
	share float64
}

// protocols are NCCL's Simple and, for small arrays, LL.
var protocols = []protocol{
	{8.4e-6, [linkKinds]float64{3.4e-6, 5.7e-6, 14e-6}, 1},
	{6.6e-6, [linkKinds]float64{0.6e-6, 1e-6, 2.7e-6}, 0.25},
}

// Group is several GPUs that train one model together.
type Group struct {
	Cards   int     // at least 2, equally many in every machine
	Nodes   int     // machines, at least 1
	Link    Link    // between the GPUs of one machine
	Network float64 // bits that a machine sends in a second, while it receives as many, by all its adapters together
}

// networkShare is the share of a network's bits that are data, with RDMA (InfiniBand or RoCE): NCCL counts 12 GB/s for
// 100 Gbit/s.
const networkShare = 0.96

// AllReduce returns the seconds of the sum of an array: a ring sends it all around twice, but for the own part.
func (g Group) AllReduce(bytes int) float64 {
	n := float64(g.Cards)
	return g.ring(2*(g.Cards-1), 2*(g.Nodes-1), 2*(n-1)/n*float64(bytes))
}

// AllGather returns the seconds until all GPUs have the arrays of all, of bytes together.
func (g Group) AllGather(bytes int) float64 {
	n := float64(g.Cards)
	return g.ring(g.Cards-1, g.Nodes-1, (n-1)/n*float64(bytes))
}

// Broadcast returns the seconds until all GPUs have an array of one of them.
func (g Group) Broadcast(bytes int) float64 { return g.ring(g.Cards-1, g.Nodes-1, float64(bytes)) }

// ring returns the seconds of the faster protocol for a number of steps one after another, of which some are from
// machine to machine, and bytes that every GPU sends.
func (g Group) ring(steps, between int, bytes float64) float64 {
	rate := g.Link.Bytes
	if g.Nodes > 1 {
		rate = min(rate, g.Network/8*networkShare)
	}
	var least float64
	for i, p := range protocols {
		t := p.base + float64(steps-between)*p.steps[g.Link.kind] + float64(between)*p.steps[network] + bytes/(rate*p.share)
		if i == 0 || t < least {
			least = t
		}
	}
	return least
}
