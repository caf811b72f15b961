package call

import (
	"errors"

	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// term is a term of a loss with the numbers of its parameters.
type term struct {
	loss.RecordedTerm
	params []int
}

// termsOf returns the terms of a loss; a loss that is no sum is its only term.
func termsOf(made loss.Loss, kind loss.Kind) (list []term) {
	var all []*loss.Param
	if trained, ok := made.(loss.Trained); ok {
		all = trained.Params()
	}
	parts := loss.RecordedTerms(made)
	if parts == nil {
		parts = []loss.RecordedTerm{{Weight: 1, Kind: kind, Params: all}}
	}
	for _, p := range parts {
		t := term{RecordedTerm: p}
		for _, param := range p.Params {
			for i, candidate := range all {
				if candidate == param {
					t.params = append(t.params, i)
				}
			}
		}
		list = append(list, t)
	}
	return list
}

// exact computes a batch in float64 by the definition of the loss.
func (s *session) exact(in *Batch, out *Gradient) (value float64, err error) {
	unit := func(rows [][]float64) [][]float64 {
		if s.unit {
			return definition.Units(rows)
		}
		return rows
	}
	raw := in.Query.wideRows()
	d := &definition.Batch{Query: unit(raw), Labels: s.rows(in.QueryLabels), Self: in.Self, Paths: s.paths,
		Weight: float64(in.MemoryWeight)}
	query := definition.ZerosLike(raw)
	var gallery, rawGallery [][]float64
	if in.Gallery.Absent() {
		d.Own().Against = s.rows(s.asGallery(in.QueryLabels))
	} else {
		rawGallery = in.Gallery.wideRows()
		d.Gallery, d.Against = unit(rawGallery), s.rows(s.asGallery(in.GalleryLabels))
		gallery = definition.ZerosLike(rawGallery)
	}
	if !in.Memory.Absent() {
		d.Memory = &definition.Batch{Gallery: in.Memory.wideRows(), Against: s.rows(in.MemoryLabels), Self: in.MemorySelf}
	}
	params := make([][][]float64, len(in.Params))
	for _, t := range s.terms {
		d.Proxies, d.Bias = nil, nil
		for _, i := range t.params {
			if len(s.about.Params[i].Dims) == 1 {
				d.Bias = in.Params[i].wideRow(0)
			} else {
				d.Proxies = in.Params[i].wideRows()
			}
		}
		r, err := loss.ByDefinition(t.Kind, d)
		if err != nil {
			return 0, err
		}
		value += t.Weight * r.Value
		add(query, r.Query, t.Weight)
		add(gallery, r.Gallery, t.Weight)
		for _, i := range t.params {
			params[i] = scaled(r.Proxies, t.Weight)
			if len(s.about.Params[i].Dims) == 1 {
				params[i] = scaled([][]float64{r.Bias}, t.Weight)
			}
		}
	}
	if s.unit {
		query, gallery = definition.ThroughUnits(query, raw), definition.ThroughUnits(gallery, rawGallery)
	}
	for i := range out.Params {
		if params[i] == nil {
			return 0, errors.New("a parameter belongs to no term")
		}
	}
	if !out.Query.Absent() {
		out.Query.fillWide(query)
	}
	if !out.Gallery.Absent() {
		out.Gallery.fillWide(gallery)
	}
	for i, m := range out.Params {
		m.fillWide(params[i])
	}
	return value, nil
}

// rows divides labels into rows.
func (s *session) rows(list []int32) [][]int32 {
	rows := make([][]int32, len(list)/s.levels)
	for i := range rows {
		rows[i] = list[i*s.levels:][:s.levels]
	}
	return rows
}

// add adds weight times x to sum.
func add(sum, x [][]float64, weight float64) {
	for i, row := range x {
		for j, v := range row {
			sum[i][j] += weight * v
		}
	}
}

// scaled returns weight times x.
func scaled(x [][]float64, weight float64) [][]float64 {
	out := definition.ZerosLike(x)
	add(out, x, weight)
	return out
}
