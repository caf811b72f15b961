package retrieval

import (
	"cmp"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"time"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
)

// ranker ranks a block of queries and measures the rankings. If the scores are in host memory, it
// counts the items ahead of each positive; otherwise the device sorts.
type ranker struct {
	b     device.Backend
	host  device.Host // nil: the device sorts
	e     *Evaluation
	block int // number of queries

	queries, gallery *panels

	scores  device.Array // F32 [block,G]
	values  []float32    // of scores; nil: the device sorts
	sorted  *sorter      // nil: the host counts
	readers []*itemReader
	views   []view // what is measured
}

const (
	// defaultMemory is a quarter of the bound that is documented beyond the vectors.
	defaultMemory = 256 << 20

	// cachedMemory of scores fits in the L3 cache of most processors. Blocks of more than
	// cachedRows queries gain less than they lose by leaving the cache.
	cachedMemory = 32 << 20
	cachedRows   = 5 * tileRows

	// tileRows is the number of queries whose products are computed together. With fewer in a
	// block the gallery would be packed more often.
	tileRows = 192

	perElement = 4 // bytes of a score or of an element of a vector
)

// blockSize returns the number of queries that are ranked together: a multiple of tileRows, and at
// least one tile unless e.Memory is smaller.
func (e *Evaluation) blockSize(perItem int) int {
	memory, least := e.Memory, 1
	if memory <= 0 {
		memory, least = defaultMemory, tileRows
	}
	perQuery := perItem * len(e.Gallery.Labels)
	if e.Query.Stored != nil {
		perQuery += perElement * e.Query.Stored.cols
	}
	n := max(memory/perQuery, least)
	if e.Memory <= 0 {
		n = min(n, max(cachedMemory/perQuery, cachedRows))
	}
	if n > tileRows {
		n -= n % tileRows
	}
	return min(n, len(e.Query.Labels))
}

func newRanker(b device.Backend, e *Evaluation) *ranker {
	m := &ranker{b: b, e: e}
	m.host, _ = b.(device.Host)
	perItem := perElement
	if m.host == nil {
		perItem += perSorted
	}
	m.block = e.blockSize(perItem)
	m.queries, m.gallery = newPanels(b, &e.Query, m.block), newPanels(b, &e.Gallery, 0)
	m.scores = device.New(b, device.F32, m.block, len(e.Gallery.Labels))
	if m.host == nil {
		m.sorted = newSorter(m)
	}
	rows := classRowsOf(e)
	m.views = e.views()
	for range cmp.Or(e.Threads, runtime.GOMAXPROCS(0)) {
		r := &itemReader{m: m, marks: newRelevance(e, rows, e.truth())}
		for _, v := range m.views {
			of := reading{list: metric.NewList(v.levels, e.Ties), marks: r.marks}
			if len(m.views) > 1 {
				of.marks = newRelevance(e, nil, v.truth)
			}
			r.views = append(r.views, of)
		}
		m.readers = append(m.readers, r)
	}
	return m
}

// Rehearse_ allocates and frees the arrays in which Evaluate ranks a block of queries, so that a
// backend can count them. Only the numbers of rows and levels of e are read.
func CheckMemory(b device.Backend, e *Evaluation) { newRanker(b, e).free() }

func (m *ranker) free() {
	m.queries.free()
	m.gallery.free()
	m.b.Free(m.scores.Buf)
	if m.sorted != nil {
		m.sorted.free()
	}
}

func (m *ranker) upload() error {
	if m.sorted != nil {
		m.sorted.upload()
	}
	return m.b.Sync()
}

// rank computes the scores of queries [lo, hi). If the host does not count, the device sorts
// them.
func (m *ranker) rank(lo, hi int) error {
	if err := m.score(lo, hi); err != nil || m.sorted == nil {
		return err
	}
	return m.sorted.rank(m.scores.RowRange(0, hi-lo), lo, hi)
}

// score computes the scores of queries [lo, hi), and the shared levels that a device needs to
// sort them.
func (m *ranker) score(lo, hi int) error {
	scores, begin, products := m.scores.RowRange(0, hi-lo), time.Now(), time.Duration(0)
	err := m.queries.panels(lo, hi, func(_, _ int, queries device.Array) error {
		return m.gallery.panels(0, len(m.e.Gallery.Labels), func(lo, hi int, gallery device.Array) error {
			start := time.Now()
			m.b.Scores(scores.ColRange(lo, hi), queries, gallery)
			products += time.Since(start)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if p := m.e.Timing; p != nil {
		p.Products += products.Seconds()
		p.Reading += (time.Since(begin) - products).Seconds()
	}
	if m.sorted != nil {
		m.sorted.level(lo, hi)
	} else {
		m.values = m.host.Floats(scores)
	}
	return m.b.Sync()
}

// row returns the scores of query i of the block, on the host.
func (m *ranker) row(i int) []float32 {
	gallery := len(m.e.Gallery.Labels)
	return m.values[i*gallery : (i+1)*gallery]
}

// perSorted is the bytes per gallery item and query, beside the score, if the device sorts:
// shared, ranked, and its copy on the host.
const perSorted = 1 + 1 + 1

// sorter holds the arrays of a device that sorts.
type sorter struct {
	m                                *ranker
	truth                            Truth        // nil: the labels on the device decide
	queryLabels, galleryLabels, self device.Array // I32
	shared, ranked                   device.Array // U8 [block,G]
	bytes                            []byte       // copy of ranked on the host
}

func newSorter(m *ranker) *sorter {
	gallery, levels := len(m.e.Gallery.Labels), len(m.e.Levels)
	truth := m.e.truth()
	if truth == nil && m.e.mixedDepth() { // the device would not show items of unknown relation
		truth = newLabelsBut(m.e)
	}
	return &sorter{
		m: m, truth: truth,
		queryLabels:   device.New(m.b, device.I32, m.block, levels),
		galleryLabels: device.New(m.b, device.I32, gallery, levels),
		self:          device.New(m.b, device.I32, m.block),
		shared:        device.New(m.b, device.U8, m.block, gallery),
		ranked:        device.New(m.b, device.U8, m.block, gallery),
		bytes:         make([]byte, m.block*gallery),
	}
}

func (s *sorter) free() {
	for _, a := range []device.Array{s.queryLabels, s.galleryLabels, s.self, s.shared, s.ranked} {
		s.m.b.Free(a.Buf)
	}
}

// distractor is the coarsest class of a gallery item without labels, which is a negative for
// every query, and nothing that of a query without labels, to which every item is one. Without any
// class, Shared would leave the items out of the ranking.
const (
	distractor = math.MaxInt32
	nothing    = distractor - 1
)

func (s *sorter) upload() {
	s.m.b.Upload(s.galleryLabels, labelBytes(classed(s.m.e.Gallery.Labels, distractor)))
}

// classed gives the rows without labels a coarsest class.
func classed(rows []labels.Path, class int32) []labels.Path {
	list := make([]labels.Path, len(rows))
	for i, p := range rows {
		list[i] = p
		if p.Depth() == 0 {
			list[i] = slices.Clone(p)
			list[i][len(p)-1] = class
		}
	}
	return list
}

// level fills shared for queries [lo, hi).
func (s *sorter) level(lo, hi int) {
	n, b := hi-lo, s.m.b
	own := make([]byte, 0, 4*n)
	for q := lo; q < hi; q++ {
		row := int32(-1)
		if s.m.e.Self != nil {
			row = s.m.e.Self[q]
		}
		own = binary.LittleEndian.AppendUint32(own, uint32(row))
	}
	queryLabels, self, shared := s.queryLabels.RowRange(0, n), s.self.RowRange(0, n), s.shared.RowRange(0, n)
	b.Upload(queryLabels, labelBytes(classed(s.m.e.Query.Labels[lo:hi], nothing)))
	b.Upload(self, own)
	if s.truth != nil {
		s.share(shared, lo, hi)
	} else {
		b.Shared(shared, queryLabels, s.galleryLabels, self, device.SharedKind{Self: device.SelfAbsent})
	}
}

// turn ranks queries [lo, hi) again, by another truth.
func (s *sorter) turn(truth Truth, scores device.Array, lo, hi int) error {
	before := s.truth
	defer func() { s.truth = before }()
	s.truth = truth
	s.share(s.shared.RowRange(0, hi-lo), lo, hi)
	return s.rank(scores.RowRange(0, hi-lo), lo, hi)
}

// rank fills bytes with the ranked levels of queries [lo, hi).
func (s *sorter) rank(scores device.Array, lo, hi int) error {
	n := hi - lo
	ranked := s.ranked.RowRange(0, n)
	s.m.b.Ranked(ranked, device.Array{}, scores, s.shared.RowRange(0, n))
	return s.m.b.Wait(s.m.b.Download(s.bytes[:n*len(s.m.e.Gallery.Labels)], ranked))
}

// labelBytes encodes paths as I32 [N,L].
func labelBytes(list []labels.Path) []byte {
	var data []byte
	for _, p := range list {
		for _, c := range p {
			data = binary.LittleEndian.AppendUint32(data, uint32(c))
		}
	}
	return data
}
