package loss_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/reference"
	"hgld/train/grad"
	"hgld/train/loss"
)

// The batches that scripts/bench_losses measures: 256 queries of 512 dimensions,
// which are the first rows of their gallery; beyond them it takes no gradient. Rows
// of a class stand together, and there are 12 coarse ones. Losses as released, as
// the peers compute.
const (
	benchQueries = 256
	benchDim     = 512
	coarse       = 12
)

var (
	benchRows      = []int{256, 4096, 60000}
	benchPositives = []int{4, 16, 200} // rows of a class, the query among them
)

// BenchmarkLoss is a step of the loss, forward and backward, from embeddings to
// their gradient.
func BenchmarkLoss(b *testing.B) {
	for _, name := range []string{"smooth-ap", "sup-ap", "sup-h-ap", "softbin-ap", "fast-ap", "multi-similarity",
		"triplet", "calibration", "rambo-recall"} {
		for _, rows := range benchRows {
			for _, positives := range benchPositives {
				for _, threads := range []int{1, 2} {
					b.Run(fmt.Sprintf("%s/%dx%d/%d/threads=%d", name, benchQueries, rows, positives, threads), func(b *testing.B) {
						benchmarkLoss(b, name, rows, positives, threads)
					})
				}
			}
		}
	}
}

func benchmarkLoss(b *testing.B, name string, rows, positives, threads int) {
	backend := cpu.New(threads)
	k, err := loss.Presets[1].Value.Get("loss", name)
	must.Do(b, err)
	l, err := k.New(loss.Facts{Classes: []int{rows, coarse}, Dim: benchDim, Batch: benchQueries})
	must.Do(b, err)
	tape := grad.NewTape(backend, device.NewArena(backend))
	gallery, labels := benchGallery(backend, rows, positives)
	query := tape.Leaf(gallery.RowRange(0, benchQueries), device.New(backend, device.F32, benchQueries, benchDim))
	batch := &loss.Batch{
		Query: query, QueryLabels: labels.RowRange(0, benchQueries),
		Gallery: query, GalleryLabels: labels, Self: vector(backend, firstRows(benchQueries)),
	}
	if rows > benchQueries {
		batch.Gallery = tape.Leaf(gallery, device.Array{})
	}
	tape.Backward(l.Forward(tape, batch), device.Array{})
	b.ReportAllocs()
	for b.Loop() {
		tape.Replay()
	}
	reportPeak(b)
}

// BenchmarkRank is the op alone, on scores: fused, and by its plain definition on one
// core, for the number of queries in the name.
func BenchmarkRank(b *testing.B) {
	for _, name := range []string{"smooth-ap", "sup-ap", "sup-h-ap"} {
		for _, rows := range []int{256, 4096, 60000} {
			for _, algorithm := range []string{"fused", "plain"} {
				queries := benchQueries
				if algorithm == "plain" && rows > 256 {
					queries = 1
				}
				b.Run(fmt.Sprintf("%s/%dx%d/%s", name, queries, rows, algorithm), func(b *testing.B) {
					benchmarkRank(b, name, queries, rows, algorithm == "plain")
				})
			}
		}
	}
}

func benchmarkRank(b *testing.B, name string, queries, rows int, plain bool) {
	be := cpu.New(2)
	gallery, labels := benchGallery(be, rows, benchPositives[0])
	f := func(dims ...int) device.Array { return device.New(be, device.F32, dims...) }
	s, ds, lossOf, weight := f(queries, rows), f(queries, rows), f(queries), f(queries)
	sh := device.New(be, device.U8, queries, rows)
	kind, rel := device.SharedKind{To: 1}, device.RelKind{}
	levels := 1
	if name == "sup-h-ap" {
		kind, levels = device.SharedKind{}, 2
		rel = device.RelKind{Mode: device.RelPop, Alpha: 1, Divisor: 1}
	}
	table, count := f(queries, levels+1), device.New(be, device.I32, queries, levels+1)
	be.Scores(s, gallery.RowRange(0, queries), gallery)
	be.Shared(sh, labels.RowRange(0, queries), labels, device.Array{}, kind)
	be.Relevance(table, count, weight, sh, rel)
	h, o := benchSteps(name), &device.Score{}
	b.ReportAllocs()
	if !plain {
		for b.Loop() {
			be.RankLoss(lossOf, ds, s, sh, table, count, h, o)
		}
	} else {
		plain := plainRank(b, be, s, sh, table, count, h, o)
		for b.Loop() {
			for q := range queries {
				plain(q)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*queries), "µs/query")
	reportPeak(b)
}

// plainRank returns the definition of the op for a query.
func plainRank(b *testing.B, be device.Backend, s, sh, rel, count device.Array, h *device.Steps,
	o *device.Score) func(q int) {
	queries, rows := s.Dims[0], s.Dims[1]
	scores, relevances := make([]float32, queries*rows), make([]float64, rel.Len())
	levels, counts := make([]uint8, queries*rows), make([]int32, count.Len())
	read := func(a device.Array) []byte {
		data := make([]byte, a.Len()*a.Type.Size())
		must.Do(b, be.Wait(be.Download(data, a)))
		return data
	}
	copy(levels, read(sh))
	for i, data := 0, read(s); i < len(scores); i++ {
		scores[i] = math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))
	}
	table, numbers := read(rel), read(count)
	for i := range relevances {
		relevances[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(table[4*i:])))
		counts[i] = int32(binary.NativeEndian.Uint32(numbers[4*i:]))
	}
	var work [5][]float64
	for i := range work {
		work[i] = make([]float64, rows)
	}
	rank, plus, drank, dplus, ds, steps, n := work[0], work[1], work[2], work[3], work[4], reference.NewSteps(h),
		rel.Dims[1]
	return func(q int) {
		s, sh, rel := scores[q*rows:(q+1)*rows], levels[q*rows:(q+1)*rows], relevances[q*n:(q+1)*n]
		reference.PairRank(rank, plus, s, sh, rel, steps)
		reference.RankScore(drank, dplus, rank, plus, sh, rel, counts[q*n:(q+1)*n], o)
		reference.PairRankGrad(ds, drank, dplus, s, sh, rel, steps)
	}
}

func benchSteps(name string) *device.Steps {
	sigmoid, exact := device.Step{Kind: device.Sigmoid, Tau: 0.01}, device.Step{Kind: device.Heaviside}
	upper := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Offset: 1.44, Zero: 0.5}
	if name == "smooth-ap" {
		return &device.Steps{Rank: [3]device.Step{sigmoid, sigmoid, sigmoid}, Plus: [3]device.Step{sigmoid, sigmoid, sigmoid}}
	}
	return &device.Steps{Rank: [3]device.Step{exact, exact, upper}, Plus: [3]device.Step{exact, exact, exact}}
}

// benchGallery draws rows around the centres of their classes and those around the
// centres of 12 coarse ones, near enough that classes mix. Centres are drawn again
// for each row, so that the peak of memory is that of what is measured.
func benchGallery(b device.Backend, rows, positives int) (embeddings, labels device.Array) {
	embeddings, labels = device.New(b, device.F32, rows, benchDim), device.New(b, device.I32, rows, 2)
	paths, v, row := make([]int32, 0, 2*rows), make([]float64, benchDim), make([]byte, 0, 4*benchDim)
	source := rand.NewPCG(0, 0)
	draws := rand.New(source)
	for i := range rows {
		c := i / positives
		paths = append(paths, int32(c), int32(c%coarse))
		clear(v)
		for level, id := range []int{c % coarse, c, i} { // coarse centre, centre, row
			source.Seed(uint64(level), uint64(id))
			for j := range v {
				v[j] += []float64{0.2, 0.35, 1}[level] * draws.NormFloat64()
			}
		}
		n := math.Sqrt(dot(v, v))
		row = row[:0]
		for _, x := range v {
			row = binary.NativeEndian.AppendUint32(row, math.Float32bits(float32(x/n)))
		}
		b.Upload(embeddings.RowRange(i, i+1), row)
	}
	b.Copy(labels.Reshape(labels.Len()), vector(b, paths))
	return embeddings, labels
}

func firstRows(n int) (rows []int32) {
	for i := range n {
		rows = append(rows, int32(i))
	}
	return rows
}

// reportPeak reports the most memory that the process has had, where /proc tells.
// It is the benchmark's own only if it runs alone.
func reportPeak(b *testing.B) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err == nil {
				b.ReportMetric(float64(kB)/1024, "MiB-peak")
			}
		}
	}
}
