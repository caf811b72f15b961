package losscheck

import (
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// define computes the loss again by its definition, term by term with each term's own proxies.
func (r *Report) define(m *measured) error {
	if !m.in.Definition {
		r.NoDefinition = "not requested"
		return nil
	}
	for _, p := range m.terms {
		if loss.Draws(p.Kind) {
			r.NoDefinition = fmt.Sprintf("%s draws random numbers", p.Name)
			return nil
		}
	}
	in, raw, err := m.batch()
	if err != nil {
		return err
	}
	total, gradient := 0.0, make([][]float64, len(raw))
	for i := range gradient {
		gradient[i] = make([]float64, len(raw[i]))
	}
	for i, p := range m.terms {
		if in.Proxies, in.Bias, err = m.paramsOf(i); err != nil {
			return err
		}
		part, err := loss.ByDefinition(p.Kind, in)
		if err != nil {
			r.NoDefinition = err.Error()
			return nil
		}
		r.Terms[i].Definition = &part.Value
		total += p.Weight * part.Value
		for q, row := range part.Query {
			for d, v := range row {
				gradient[q][d] += p.Weight * v
			}
		}
	}
	if m.in.Unit {
		gradient = definition.ThroughUnits(gradient, raw)
	}
	r.Definition = &total
	return r.compare(m, gradient)
}

// compare computes the distance between the fused gradient and that of the definition.
func (r *Report) compare(m *measured, want [][]float64) error {
	got, err := wide(m.b, m.query)
	if err != nil {
		return err
	}
	for q, row := range got {
		for d := range row {
			row[d] -= want[q][d]
		}
	}
	apart := largest(got)
	if top := largest(want); top > 0 {
		apart /= top
	}
	r.Apart = &apart
	return nil
}

// batch returns the rows in float64, and the queries as in the file.
func (m *measured) batch() (in *definition.Batch, raw [][]float64, err error) {
	e := m.in.Rows
	if raw, err = wide(m.b, e.Query.Vectors); err != nil {
		return nil, nil, err
	}
	unit := func(rows [][]float64) [][]float64 {
		if m.in.Unit {
			return definition.Units(rows)
		}
		return rows
	}
	in = &definition.Batch{Query: unit(raw), Labels: flat(e.Query.Labels), Self: e.Self}
	for _, p := range m.in.facts().Paths {
		if p == nil {
			p = slices.Repeat(labels.Path{-1}, len(e.Levels))
		}
		in.Paths = append(in.Paths, p)
	}
	if e.Same {
		in.Own().Against = flat(gallery(e.Query.Labels))
		return in, raw, nil
	}
	items, err := wide(m.b, e.Gallery.Vectors)
	in.Gallery, in.Against = unit(items), flat(gallery(e.Gallery.Labels))
	return in, raw, err
}

// paramsOf returns the proxies and the bias of a term.
func (m *measured) paramsOf(term int) (proxies [][]float64, bias []float64, err error) {
	for _, p := range m.terms[term].Params {
		rows, err := wide(m.b, p.Value)
		if err != nil {
			return nil, nil, err
		}
		if len(p.Dims) == 1 {
			bias = rows[0]
		} else {
			proxies = rows
		}
	}
	return proxies, bias, nil
}
