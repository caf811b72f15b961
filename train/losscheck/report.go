package losscheck

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/retrieval"
)

// Report holds a loss and its gradient on rows.
type Report struct {
	Loss    string `json:"loss"`    // name
	Preset  string `json:"preset"`  // paper or released
	Queries int    `json:"queries"` // number of rows
	Gallery int    `json:"gallery"` // number of items: the queries themselves, or a separate gallery; 0 for scores

	Levels []Level `json:"levels,omitempty"` // finest first; nil for scores

	// Classes and Background are the columns and the items without a class of scores.
	Classes    int `json:"classes,omitempty"`
	Background int `json:"background,omitempty"` // see Classes

	Value float64 `json:"value"`         // computed in float32 by the fused operations
	Norm  float64 `json:"gradient_norm"` // norm of the gradient by the rows
	Terms []Term  `json:"terms"`         // Value is their weighted sum; one entry for a loss that is not a sum

	// Definition is Value computed by the definition in float64. If it is nil, NoDefinition gives
	// the reason.
	Definition   *float64 `json:"definition,omitempty"`
	NoDefinition string   `json:"no_definition,omitempty"` // "" if there is a definition

	// Apart is the distance between the gradient by the rows and that of the definition: the
	// greatest difference divided by the greatest element.
	Apart *float64 `json:"gradient_apart,omitempty"`

	Proxies []string `json:"proxies,omitempty"` // names and shapes

	// Milliseconds is the median time of the loss with its gradient; 0: it was not measured.
	Milliseconds float64 `json:"milliseconds,omitempty"`

	PerQuery *PerQuery `json:"per_query,omitempty"` // nil unless asked for

	tensors []tensorfile.Tensor
}

// Level describes what can be learnt at one level.
type Level struct {
	Name      string `json:"name"`            // of the level
	Queries   int    `json:"with_positive"`   // queries with another item of their class
	Positives int64  `json:"positives"`       // pairs of a query and such an item
	Unlabeled int    `json:"without_a_label"` // queries that have no class
}

// Term is a term of the loss.
type Term struct {
	Name       string   `json:"name"`                 // key of its settings
	Weight     float64  `json:"weight"`               // in the sum
	Value      float64  `json:"value"`                // without the weight
	Definition *float64 `json:"definition,omitempty"` // the same in float64
}

// report collects the results.
func (m *measured) report() (*Report, error) {
	e := m.in.Rows
	r := &Report{Loss: m.in.Loss.Name, Preset: m.in.Loss.Preset, Queries: len(e.Query.Labels),
		Gallery: len(e.Gallery.Labels)}
	if m.in.Scores {
		r.Gallery, r.Classes, r.Background = 0, m.in.facts().Dim, m.in.background()
	} else {
		r.Levels = m.in.levels()
	}
	var err error
	if r.Value, err = number(m.b, m.value); err != nil {
		return nil, err
	}
	for _, p := range m.terms {
		v, err := number(m.b, p.Value.Value)
		if err != nil {
			return nil, err
		}
		r.Terms = append(r.Terms, Term{Name: p.Name, Weight: p.Weight, Value: v})
	}
	if err := r.addTensors(m); err != nil {
		return nil, err
	}
	if n := len(m.seconds); n > 0 {
		slices.Sort(m.seconds)
		r.Milliseconds = 1000 * (m.seconds[(n-1)/2] + m.seconds[n/2]) / 2
	}
	if m.in.PerQuery {
		if r.PerQuery, err = m.perQuery(); err != nil {
			return nil, err
		}
	}
	return r, r.define(m)
}

// addTensors downloads the gradients.
func (r *Report) addTensors(m *measured) error {
	add := func(name string, a device.Array) ([]float32, error) {
		list, err := values(m.b, a)
		r.tensors = append(r.tensors, tensorfile.NewF32(name, a.Shape(), list))
		return list, err
	}
	by := "embeddings.grad"
	if m.in.Scores {
		by = "scores.grad"
	}
	list, err := add(by, m.query)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, v := range list {
		sum += float64(v) * float64(v)
	}
	r.Norm = math.Sqrt(sum)
	if m.in.Scores {
		return nil
	}
	for _, p := range m.params {
		r.Proxies = append(r.Proxies, fmt.Sprintf("loss.%s %v", p.Name, p.Dims))
		if _, err := add("loss."+p.Name, p.Value); err != nil {
			return err
		}
		if _, err := add("loss."+p.Name+".grad", p.Grad); err != nil {
			return err
		}
	}
	return nil
}

// levels counts the positives of the queries.
func (in *Input) levels() []Level {
	e := in.Rows
	list := make([]Level, len(e.Levels))
	for l := range list {
		list[l].Name = e.Levels[l]
		members := map[int32]int{}
		for _, p := range e.Gallery.Labels {
			members[p[l]]++
		}
		for q, p := range e.Query.Labels {
			if p[l] < 0 {
				list[l].Unlabeled++
				continue
			}
			n := members[p[l]]
			if own := selfOf(e.Self, q); own >= 0 && e.Gallery.Labels[own][l] == p[l] {
				n--
			}
			if n > 0 {
				list[l].Queries++
				list[l].Positives += int64(n)
			}
		}
	}
	return list
}

// selfOf returns the row of a query in the gallery, or −1.
func selfOf(self []int32, q int) int32 {
	if self == nil {
		return -1
	}
	return self[q]
}

// Table writes the report as text.
func (r *Report) Table(w io.Writer) error {
	var t strings.Builder
	if r.Classes > 0 {
		fmt.Fprintf(&t, "%s (%s) of the scores of %d items for %d classes; %d are of none\n\n", r.Loss, r.Preset, r.Queries,
			r.Classes, r.Background)
	} else {
		fmt.Fprintf(&t, "%s (%s) of %d queries and %d gallery items\n\n", r.Loss, r.Preset, r.Queries, r.Gallery)
	}
	rows := [][]string{{"term", "weight", "value", "definition"}}
	for _, term := range r.Terms {
		rows = append(rows, []string{term.Name, fmt.Sprintf("%.6g", term.Weight), fmt.Sprintf("%.9g", term.Value),
			digits(term.Definition)})
	}
	rows = append(rows, []string{"loss", "", fmt.Sprintf("%.9g", r.Value), digits(r.Definition)})
	t.WriteString(texttable.Format("%-22s %10s %16s %16s", rows...))
	fmt.Fprintf(&t, "\ngradient  norm %.9g", r.Norm)
	if r.Apart != nil {
		fmt.Fprintf(&t, ", differs from the definition's by at most %.2g of its greatest element", *r.Apart)
	}
	t.WriteString("\n")
	if r.NoDefinition != "" {
		fmt.Fprintf(&t, "no definition: %s\n", r.NoDefinition)
	}
	if r.Milliseconds > 0 {
		fmt.Fprintf(&t, "time      %.3g ms for the loss and its gradient\n", r.Milliseconds)
	}
	if r.PerQuery != nil {
		t.WriteString(r.PerQuery.line())
	}
	for _, p := range r.Proxies {
		fmt.Fprintf(&t, "proxies   %s\n", p)
	}
	for _, l := range r.Levels {
		fmt.Fprintf(&t, "%s: %d queries with a positive, %d positives", l.Name, l.Queries, l.Positives)
		if l.Unlabeled > 0 {
			fmt.Fprintf(&t, ", %d queries without a class", l.Unlabeled)
		}
		t.WriteString("\n")
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// digits prints a float64, or a dash.
func digits(v *float64) string {
	if v == nil {
		return "–"
	}
	return retrieval.Number(*v).Decimals(12, "–")
}

// flat returns labels in the form that the definition takes.
func flat(list []labels.Path) [][]int32 {
	rows := make([][]int32, len(list))
	for i, p := range list {
		rows[i] = p
	}
	return rows
}
