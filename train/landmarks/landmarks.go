// Package landmarks prepares the benchmarks Revisited Oxford and Paris (Radenović et al., CVPR 2018): their
// published ground truth, the images that it names, and the whitening that their papers apply; and the retrieval of
// Google Landmarks v2 (Weyand et al., CVPR 2020).
package landmarks

import (
	"encoding/json"
	"fmt"

	"hgld/train/input"
	"hgld/train/metric"
	"hgld/train/qrels"
)

// Benchmark is a ground truth.
type Benchmark struct {
	Gallery []string       // names of the images to rank, without extension
	Queries []string       // names of the images of the queries
	Boxes   [][4]float64   // of the queries: left, upper, right, lower, in pixels
	Truths  []metric.Truth // of the queries, as rows of Gallery
}

// Read reads a ground truth: gnd_roxford5k.pkl, gnd_rparis6k.pkl, or the JSON of one.
func Read(file string) (*Benchmark, error) {
	data, err := qrels.ReadRevisited(file)
	if err != nil {
		return nil, err
	}
	var in struct {
		Imlist, Qimlist []string
		GND             []struct{ BBX []float64 }
	}
	if err := json.Unmarshal(data, &in); err != nil || len(in.Imlist) == 0 || len(in.Qimlist) == 0 {
		return nil, fmt.Errorf("%s: want the ground truth of Revisited Oxford or Paris, with imlist, qimlist and gnd (%w)",
			file, err)
	}
	b := &Benchmark{Gallery: in.Imlist, Queries: in.Qimlist}
	if b.Truths, err = metric.ParseTruths(data, len(b.Queries), len(b.Gallery)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for q, t := range in.GND {
		if len(t.BBX) != 4 {
			return nil, fmt.Errorf("%s: query %s has a box of %d numbers, want 4: left, upper, right, lower", file, b.Queries[q],
				len(t.BBX))
		}
		b.Boxes = append(b.Boxes, [4]float64(t.BBX))
	}
	return b, nil
}

// Images are the images of the benchmark among those of a data set.
type Images struct {
	Gallery *input.Subset // the images to rank
	Queries *Boxed        // the queries, with their boxes
}

// In finds the images by their names. It fails if one is missing, or if two images have one name.
func (b *Benchmark) In(d input.Dataset) (*Images, error) {
	rows := make(map[string]int, d.Len())
	twice := map[string]bool{}
	for i := range d.Len() {
		name := qrels.Stem(d.ID(i))
		if _, is := rows[name]; is {
			twice[name] = true
		}
		rows[name] = i
	}
	find := func(names []string) (*input.Subset, error) {
		s := &input.Subset{Of: d}
		for _, name := range names {
			row, found := rows[qrels.Stem(name)]
			switch {
			case !found:
				return nil, &MissingError{Name: name, Among: d.Len()}
			case twice[qrels.Stem(name)]:
				return nil, fmt.Errorf("two images are called %s", qrels.Stem(name))
			}
			s.Rows = append(s.Rows, row)
		}
		return s, nil
	}
	gallery, err := find(b.Gallery)
	if err != nil {
		return nil, err
	}
	queries, err := find(b.Queries)
	return &Images{gallery, &Boxed{queries, b.Boxes}}, err
}

// MissingError says that an image of a benchmark is not there.
type MissingError struct {
	Name  string // of the image
	Among int    // number of images that are there
}

// Error names the image, and how many there are.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not among the %d images", e.Name, e.Among)
}

// Boxed are images of which a box counts.
type Boxed struct {
	*input.Subset
	boxes [][4]float64
}

// Box implements input.Boxed.
func (q *Boxed) Box(i int) [4]float64 { return q.boxes[i] }
