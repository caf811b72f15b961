package losscheck

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// PerQuery holds the loss of every query alone against the whole gallery. The mean over the queries with a
// positive is the loss, unless the loss takes one mean over pairs, triplets or positives of all queries.
type PerQuery struct {
	IDs   []string             `json:"ids,omitempty"` // of the queries
	Loss  []retrieval.Number   `json:"loss"`          // by query
	Terms [][]retrieval.Number `json:"terms"`         // by query, then by term, without the weights

	// AP is the average precision of the query's ranking, by query and level; NaN without a positive.
	AP [][]retrieval.Number `json:"ap"`
	// Correlation is Pearson's, of 1 − loss with AP at the finest level; NaN if it is undefined.
	Correlation retrieval.Number `json:"correlation"`

	names, levels []string
}

// errDependent is returned for a loss whose queries depend on one another.
var errDependent = errors.New("has no values by query: it draws random numbers, remembers batches, or ranks the " +
	"items of a batch for each class")

// perQuery computes the loss of each query.
func (m *measured) perQuery() (*PerQuery, error) {
	e := m.in.Rows
	if !loss.ByQuery(m.loss, m.kind) {
		return nil, fmt.Errorf("loss: %s %w", m.in.Loss.Name, errDependent)
	}
	f := m.in.facts()
	f.Batch = 1
	one, err := m.kind.New(f)
	if err != nil {
		return nil, err
	}
	if trained, ok := one.(loss.Trained); ok {
		for i, p := range trained.Params() {
			p.Value, p.Grad = m.params[i].Value, m.params[i].Grad
		}
	}
	p := &PerQuery{IDs: e.Query.IDs, levels: e.Levels}
	for _, t := range m.terms {
		p.names = append(p.names, t.Name)
	}
	queryLabels, galleryLabels := paths(m.b, e.Query.Labels), paths(m.b, gallery(e.Gallery.Labels))
	self, items := vector(m.b, e.Self), e.Gallery.Vectors
	if e.Same {
		items = e.Query.Vectors
	}
	for q := range e.Query.Labels {
		tape := grad.NewTape(m.b, m.b)
		in := &loss.Batch{Query: m.unit(tape, tape.Leaf(e.Query.Vectors.RowRange(q, q+1), device.Array{})),
			QueryLabels: queryLabels.RowRange(q, q+1), Gallery: m.unit(tape, tape.Leaf(items, device.Array{})),
			GalleryLabels: galleryLabels, Key: m.store.Key}
		if !self.Absent() {
			in.Self = self.RowRange(q, q+1)
		}
		if err := p.add(m, tape, one, in); err != nil {
			return nil, err
		}
		tape.Free()
	}
	return p, p.rank(m)
}

// add appends the values of a query.
func (p *PerQuery) add(m *measured, tape *grad.Tape, one loss.Loss, in *loss.Batch) error {
	out := tape.Keep(one.Forward(tape, in))
	v, err := number(m.b, out.Value)
	if err != nil {
		return err
	}
	terms := []retrieval.Number{retrieval.Number(v)}
	if list := loss.RecordedTerms(one); list != nil {
		terms = nil
		for _, t := range list {
			part, err := number(m.b, t.Value.Value)
			if err != nil {
				return err
			}
			terms = append(terms, retrieval.Number(part))
		}
	}
	p.Loss, p.Terms = append(p.Loss, retrieval.Number(v)), append(p.Terms, terms)
	return nil
}

// rank computes AP and its correlation with the loss.
func (p *PerQuery) rank(m *measured) error {
	in, _, err := m.batch()
	if err != nil {
		return err
	}
	levels := len(m.in.Rows.Levels)
	set := metric.Set{metric.AP{}}
	list, values := metric.NewList(levels, metric.ScoreThenRow), make([]float64, levels)
	order, shared := make([]int, len(in.Gallery)), make([]byte, len(in.Gallery))
	scores := make([]float64, len(in.Gallery))
	for q, v := range in.Query {
		n := 0
		for g, w := range in.Gallery {
			scores[g] = inner(v, w)
			if in.Self == nil || in.Self[q] != int32(g) {
				order[n] = g
				n++
			}
		}
		slices.SortStableFunc(order[:n], func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		for i, g := range order[:n] {
			shared[i] = 0
			for l, class := range in.Labels[q] {
				if class >= 0 && class == in.Against[g][l] {
					shared[i]++
				}
			}
		}
		list.Reset(shared[:n])
		set.Measure(values, list)
		row := make([]retrieval.Number, levels)
		for l, ap := range values {
			row[l] = retrieval.Number(ap)
		}
		p.AP = append(p.AP, row)
	}
	p.Correlation = retrieval.Number(p.correlation())
	return nil
}

func inner(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// points returns AP at the finest level and 1 − loss of the queries with a positive.
func (p *PerQuery) points() (list []report.Point) {
	for q, ap := range p.AP {
		if !math.IsNaN(float64(ap[0])) {
			list = append(list, report.Point{X: float64(ap[0]), Y: 1 - float64(p.Loss[q])})
		}
	}
	return list
}

func (p *PerQuery) correlation() float64 {
	points := p.points()
	n, x, y := float64(len(points)), 0.0, 0.0
	for _, at := range points {
		x, y = x+at.X/n, y+at.Y/n
	}
	var xx, xy, yy float64
	for _, at := range points {
		xx, xy, yy = xx+(at.X-x)*(at.X-x), xy+(at.X-x)*(at.Y-y), yy+(at.Y-y)*(at.Y-y)
	}
	return xy / math.Sqrt(xx*yy) // NaN if all values of one are equal
}

// Write writes a line for each query as .csv, or a picture of 1 − loss by AP as .svg, .png or .pdf.
func (p *PerQuery) Write(w io.Writer, extension string, style report.Style) error {
	if extension == ".csv" {
		return p.table().Write(w, "csv")
	}
	drawing, err := p.draw(style)
	if err != nil {
		return err
	}
	return drawing.Write(w, extension[1:])
}

// CheckPerQueryFile returns an error for a file that Write cannot write.
func CheckPerQueryFile(extension string) error {
	if extension != ".csv" && report.CheckFile(extension) != nil {
		return fmt.Errorf("%.80q: want a .csv file, or .svg, .png or .pdf for a picture", extension)
	}
	return nil
}

func (p *PerQuery) table() texttable.Table {
	t := texttable.Table{Head: []string{"query", "loss"}}
	if len(p.names) > 1 {
		t.Head = append(t.Head, p.names...)
	}
	for _, level := range p.levels {
		t.Head = append(t.Head, "AP_"+level)
	}
	for q, v := range p.Loss {
		name := strconv.Itoa(q)
		if p.IDs != nil {
			name = p.IDs[q]
		}
		row := []string{name, v.Decimals(9, "")}
		if len(p.names) > 1 {
			for _, term := range p.Terms[q] {
				row = append(row, term.Decimals(9, ""))
			}
		}
		for _, ap := range p.AP[q] {
			row = append(row, ap.Decimals(9, ""))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (p *PerQuery) draw(style report.Style) (*report.Drawing, error) {
	plot := report.Plot{Style: style, XLabel: "AP, " + p.levels[0], YLabel: "1 − loss", Curves: []report.Curve{
		{Name: "correlation " + p.Correlation.Decimals(3, "undefined"), Points: p.points(), Loose: true}}}
	return plot.Draw()
}

// line says what the values by query are, for the table of a report.
func (p *PerQuery) line() string {
	sum, n := 0.0, 0
	for q, ap := range p.AP {
		if !math.IsNaN(float64(ap[0])) {
			sum += float64(p.Loss[q])
			n++
		}
	}
	return fmt.Sprintf("by query  mean %.9g over the %d with a positive at the finest level; correlation of 1 − loss "+
		"with AP %s\n", sum/float64(max(n, 1)), n, p.Correlation.Decimals(4, "undefined"))
}
