package nulldriver

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"hgld/train/device/observe"
)

// Card is what the model knows of a GPU.
type Card struct {
	Name            string  // as the driver reports it
	Major, Minor    int     // compute capability
	Multiprocessors int     // number of them
	Memory          int     // bytes
	Clock           float64 // cycles a second
	Bytes           float64 // of memory that kernels move in a second: 93 % of what a copy does
	Doubles         float64 // operations in float64 a second
	Conversions     float64 // to float64 or from it, a second
	ProductCycles   float64 // of one mma.sync.m16n8k16 of a quarter of a multiprocessor
	Cache           float64 // bytes a cycle that a multiprocessor reads from the L2 cache, when all do: assumed
	Library         float64 // floating-point operations a second of NVIDIA's libraries in bfloat16
	Error           float64 // share of a step's time by which the model may be off
	Link            string  // that usually joins such GPUs: a key of Links
}

// H200 is the GPU that the rates below were measured on. Its mma.sync has 62 % of the rate of its libraries' wgmma.
var H200 = Card{
	Name: "NVIDIA H200", Major: 9, Multiprocessors: 132, Memory: 141 << 30, Clock: 1.755e9, Bytes: 3.9e12,
	Doubles: 14.8e12, Conversions: 3.7e12, ProductCycles: 6.5, Cache: 29, Library: 600e12, Error: 0.25, Link: "nvlink4",
}

// H100 is NVIDIA's H100 SXM at the clock of long runs.
var H100 = Card{
	Name: "NVIDIA H100", Major: 9, Multiprocessors: 132, Memory: 80 << 30, Clock: 1.7e9, Bytes: 2.8e12, Doubles: 14.4e12,
	Conversions: 3.6e12, ProductCycles: 6.5, Cache: 29, Library: 580e12, Error: 0.3, Link: "nvlink4",
}

// RTX4090 is a GPU whose rate in float64 is a 64th of that in float32.
var RTX4090 = Card{
	Name: "NVIDIA GeForce RTX 4090", Major: 8, Minor: 9, Multiprocessors: 128, Memory: 24 << 30,
	Clock: 2.5e9, Bytes: 0.93e12, Doubles: 0.64e12, Conversions: 0.64e12, ProductCycles: 32, Cache: 16, Library: 140e12,
	Error: 0.5, Link: "pcie4",
}

// A100 is NVIDIA's A100 SXM with 80 GB.
var A100 = Card{
	Name: "NVIDIA A100", Major: 8, Multiprocessors: 108, Memory: 80 << 30, Clock: 1.41e9, Bytes: 1.65e12, Doubles: 9.7e12,
	Conversions: 2.4e12, ProductCycles: 8, Cache: 33, Library: 230e12, Error: 0.5, Link: "nvlink3",
}

// L4 is NVIDIA's L4, whose 72 W hold its clock below the boost under load.
var L4 = Card{
	Name: "NVIDIA L4", Major: 8, Minor: 9, Multiprocessors: 58, Memory: 24 << 30,
	Clock: 1.5e9, Bytes: 0.25e12, Doubles: 0.35e12, Conversions: 0.17e12, ProductCycles: 16, Cache: 20, Library: 60e12,
	Error: 0.5, Link: "pcie4",
}

// sharedPerBlock returns the bytes of shared memory that a block may have. 99 KiB are the least of the GPUs
// from compute capability 8.0 on.
func (c Card) sharedPerBlock() int {
	if c.Major == 9 {
		return 227 << 10
	}
	return 99 << 10
}

// Cards are the GPUs of the model by short names.
var Cards = map[string]Card{"h200": H200, "h100": H100, "a100": A100, "4090": RTX4090, "l4": L4}

const (
	launchSeconds = 2.6e-6 // of a kernel in a graph that waits for the one before it

	// Instructions a cycle of a quarter of a multiprocessor.
	issueRate  = 0.8 // in loops without memory, as of rank losses
	streamRate = 0.5 // of a kernel that streams through memory, as GELU on an H200
)

// productRate is that of products with tiles of 64 and 128. With it the model predicts 102 times of products and
// convolutions that an H200 was measured with, of kernels with the instructions of that day, within 9 % (root mean
// square): scripts/results/gpu/model.md.
var productRate = map[int]float64{64: 0.56, 128: 0.48}

// stepInstructions are the instructions of a warp in a step of 32 columns, counted in what ptxas
// makes for sm_90.
var stepInstructions = map[string]map[int]float64{
	"nt": {128: 118, 64: 62}, "nn": {128: 136, 64: 74}, "tn": {128: 127, 64: 71}, "tt": {128: 134, 64: 76},
	"conv": {128: 141, 64: 89}, "gradx": {128: 184, 64: 104}, "gradw": {128: 176, 64: 91},
}

// smallPieces are the same where eight elements of an operand cannot be copied together.
var smallPieces = map[string]map[int]float64{
	"nt": {128: 188, 64: 115}, "nn": {128: 209, 64: 128}, "tn": {128: 213, 64: 136}, "tt": {128: 209, 64: 132},
	"conv": {128: 220, 64: 136}, "gradx": {128: 272, 64: 160}, "gradw": {128: 276, 64: 182},
}

// kernelRate says how a kernel uses a GPU, as it was counted and estimated: the share of the rate of
// memory that it reaches, and the work of each two bytes that it moves.
type kernelRate struct {
	share                float64
	conversions, doubles float64 // to and from float64, and operations there
	instructions         float64
}

// prefixRate is the rate of kernels whose names begin so.
type prefixRate struct {
	prefix string
	kernelRate
}

// kernelRates are those of operations by the beginning of the name of their first kernel.
var kernelRates = []prefixRate{
	// counted in what ptxas makes for sm_90, with what one run of 256 results in eight settles in double
	{"layernorm_grad_held", kernelRate{share: 0.77, conversions: 0.8, doubles: 1.2, instructions: 10.8}},
	{"layernorm_held", kernelRate{share: 0.8, conversions: 1.1, doubles: 1.7, instructions: 14.1}},
	// and layernorm_grad, which reads again
	{"layernorm_sums", kernelRate{share: 0.48, conversions: 1.4, doubles: 2, instructions: 26}},
	{"layernorm", kernelRate{share: 0.8, conversions: 2, doubles: 2, instructions: 24}},
	{"sums_columns", kernelRate{share: 0.8, instructions: 10}},
	{"sums_all", kernelRate{share: 0.8, instructions: 10}},
	{"relugrad_sums", kernelRate{share: 0.8, instructions: 6}},
	{"relugrad_along", kernelRate{share: 0.8, instructions: 8}}, // in NormGrad, norm_back follows
	{"relugrad", kernelRate{share: 0.9}},
	{"norm_moments", kernelRate{share: 0.75, instructions: 12}}, // norm_apply follows
	{"norm", kernelRate{share: 0.92}},
	{"act_table", kernelRate{share: 0.85, instructions: 6}},
	{"act", kernelRate{share: 0.85, instructions: 28}},
	{"axpby", kernelRate{share: 0.9}},
	{"adam", kernelRate{share: 0.8, instructions: 4}},
	{"guard", kernelRate{share: 0.8}},
	{"gem_grad", kernelRate{share: 0.5, conversions: 2.5, doubles: 2.5, instructions: 50}},
	{"gem", kernelRate{share: 0.5, conversions: 3, doubles: 4, instructions: 50}},
	{"pool_firsts", kernelRate{share: 0.72}}, // and pool_grad, which reads the places
	{"pool_grad", kernelRate{share: 0.8}},
	{"pool", kernelRate{share: 0.8, instructions: 16.5}},
	{"pixels", kernelRate{share: 0.75, instructions: 11.3}}, // counted in what ptxas makes for sm_90
	{"copy_convert", kernelRate{share: 0.75}},
	{"copy", kernelRate{share: 0.9}},
	{"fill", kernelRate{share: 0.9}},
	{"", kernelRate{share: 0.4}},
}

// Seconds predicts the time of an operation, of which launches are the kernels.
func (c Card) Seconds(call observe.Call, launches []Launch) float64 {
	seconds := 0.0
	for _, l := range launches {
		seconds += launchSeconds + joinSeconds(l)
	}
	isProduct := func(l Launch) bool { return l.Product.Tile > 0 }
	switch {
	case len(launches) == 0:
		return 0
	case slices.ContainsFunc(launches, func(l Launch) bool { return l.Work.FLOPs > 0 }):
		return seconds + c.library(launches)
	case slices.ContainsFunc(launches, isProduct): // behind it, or ahead, are what few channels need, or joins
		rows := 0 // of all phases of a gradient
		for _, l := range launches {
			rows += l.Product.Rows
		}
		for _, l := range launches {
			if l.Product.Tile > 0 {
				seconds += c.product(call.Bytes*float64(l.Product.Rows)/float64(rows), l.Product)
			}
			if strings.HasPrefix(l.Kernel, "sums_columns") { // of its first factor
				p := launches[slices.IndexFunc(launches, isProduct)].Product
				seconds += 2 * float64(p.Inner) * float64(p.Rows) / c.Bytes / rateOf(l.Kernel).share
			}
		}
		return seconds
	case strings.HasPrefix(launches[0].Kernel, "attention"):
		return seconds + c.attention(call, launches)
	case call.FLOPs > 0: // a product in F32, at half the rate of all lanes
		return seconds + max(call.FLOPs/(float64(c.Multiprocessors)*128*c.Clock), call.Bytes/c.Bytes)
	}
	r, elements, quarters := rateOf(launches[0].Kernel), call.Bytes/2, float64(4*c.Multiprocessors)
	return seconds + max(call.Bytes/c.Bytes/r.share, elements*r.conversions/c.Conversions,
		elements*r.doubles/c.Doubles, elements*r.instructions/32/(quarters*c.Clock*streamRate))
}

// library predicts the time of a call of NVIDIA's libraries with the kernels behind it. What an H200 was measured
// with, of channels that are multiples of eight, takes 0.74 to 1.74 times the prediction.
func (c Card) library(launches []Launch) (seconds float64) {
	var w Work
	for _, l := range launches {
		if l.Work.FLOPs > 0 {
			w = l.Work
			seconds += max(w.FLOPs/(c.Library*cmp.Or(w.Share, 1)), w.Bytes/c.Bytes) + float64(w.Behind)*launchSeconds
			continue
		}
		for _, p := range passes {
			if strings.HasPrefix(l.Kernel, p.prefix) {
				times := p.others
				if w.Left {
					times = p.masked
				}
				seconds += times * w.Result / c.Bytes / rateOf(l.Kernel).share
				break
			}
		}
	}
	return seconds
}

// rateOf returns the rate of a kernel.
func rateOf(kernel string) kernelRate {
	i := slices.IndexFunc(kernelRates, func(r prefixRate) bool { return strings.HasPrefix(kernel, r.prefix) })
	return kernelRates[i].kernelRate
}

// joinSeconds is the time of a join: warps of eight read the parts in a row, eight at a time.
func joinSeconds(l Launch) float64 { return float64(l.Parts) / 64 * 0.8e-6 }

// product predicts the time of a kernel for tensor cores. The slowest of these decides: its
// instructions, the tensor cores, shared memory, the cache, and memory. bytes are those of the operation.
func (c Card) product(bytes float64, p Product) float64 {
	if p.Splits > 1 { // the sums are written, and read by the join at half the rate
		bytes += 4 * 3 * float64(p.Splits*p.Batch) * float64(p.Rows) * float64(p.Cols)
	}
	side := float64(p.Tile)
	tiles := math.Ceil(float64(p.Rows)/side) * math.Ceil(float64(p.Cols)/side) * float64(p.Batch*p.Splits)
	rounds := tiles / float64(c.Multiprocessors)
	if rounds < 2 {
		rounds = math.Ceil(rounds)
	}
	return max(rounds*c.tileCycles(p)/c.Clock, bytes/c.Bytes)
}

// tileCycles returns the cycles that a multiprocessor takes for a block's part of a product.
func (c Card) tileCycles(p Product) float64 {
	end, latency := c.epilogue(p)
	t := float64(p.Tile)
	steps := math.Ceil(float64(p.Span) / 32)
	instructions := stepInstructions
	if p.Each < 8 {
		instructions = smallPieces
	}
	issue := instructions[p.Kind][p.Tile] * 2 / productRate[p.Tile] // a quarter has two of a block's eight warps
	tensor := (t / 32) * (t / 32) * 2 * 2 * c.ProductCycles
	shared := (t/32+t/64)*2*4*8 + 2*t*32*2/128 // fragments read, pieces written
	cache := 2 * t * 32 * 2 / c.Cache
	return max(issue, tensor, shared, cache)*steps + end + latency/2 // two blocks of a multiprocessor overlap
}

// epilogue returns the cycles in which a tile is written, and those that it waits. Eight elements
// of a lane are two accesses to shared memory of eight cycles each.
func (c Card) epilogue(p Product) (cycles, latency float64) {
	words, instructions, waits := 16.0, 70.0, 0.0
	add := func(has bool, more float64) {
		if has {
			instructions += more
		}
	}
	add(p.Masks, 25)
	add(p.Sums, 40)
	add(p.Along, 25)
	add(p.Curved, 8*63)
	if p.Masks || p.Adds || p.Along {
		waits = 300
	}
	t := float64(p.Tile)
	chunks := t * t / 8 / 32
	return max(t*t*4/128+chunks*words, chunks*instructions/4/productRate[p.Tile]), 1400 + waits*max(1, t*t/8/256)/2
}
