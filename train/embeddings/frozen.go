package embeddings

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hgld/internal/filehash"
	"hgld/labels"
)

// Frozen is a data set of labelled vectors from another model, on which a head is trained. It
// implements train.Vectored.
type Frozen struct {
	width   int
	values  []float32 // of all rows
	rows    *Rows
	classes *Classes
	labels  string // path of the labels
	sums    string // hashes of the files
}

// ReadFrozen reads vectors and their labels. in.Open and in.Log are used as in an evaluation.
func ReadFrozen(in *Input) (*Frozen, error) {
	if err := in.Complete(); err != nil {
		return nil, err
	}
	e := &Evaluation{Classes: in.classes()}
	d := &Frozen{classes: e.Classes, labels: in.Labels}
	sides, err := in.open(e)
	defer e.Close()
	if err := cmp.Or(err, e.Classes.noLevel); err != nil {
		return nil, err
	}
	s := sides[0]
	d.rows = s.rows
	vectors := s.matrix()
	n, width := vectors.Rows()
	d.width, d.values = width, make([]float32, n*width)
	if err := vectors.ReadRows(d.values, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Embeddings, err)
	}
	for i, x := range d.values {
		if x-x != 0 { // NaN or infinite
			return nil, &ValuesError{in.Embeddings, fmt.Errorf("row %d has a value that is not finite (column %d)", i/width,
				i%width)}
		}
	}
	for _, path := range []string{in.Embeddings, in.Labels} {
		sum, _, err := filehash.SHA256(context.Background(), path)
		if err != nil {
			return nil, err
		}
		d.sums += sum + "\n"
	}
	return d, nil
}

// Len returns the number of rows.
func (d *Frozen) Len() int { return len(d.rows.Labels) }

// Levels names the levels, finest first.
func (d *Frozen) Levels() []string { return d.classes.Levels() }

// Classes names the classes of a level.
func (d *Frozen) Classes(level int) []string { return d.classes.Names(level) }

// Labels returns the classes of a row.
func (d *Frozen) Labels(i int) labels.Path { return d.rows.Labels[i] }

// Image fails: there are no images.
func (d *Frozen) Image(context.Context, int) ([]byte, error) {
	return nil, errors.New("the data are vectors and have no images")
}

// ID names a row by the column "id", or by its number.
func (d *Frozen) ID(i int) string {
	if d.rows.IDs != nil {
		return d.rows.IDs[i]
	}
	return fmt.Sprint("row ", i)
}

// LabelFile is the path of the labels.
func (d *Frozen) LabelFile() string { return d.labels }

// Splits are the splits of the rows, by the column "split" of the labels; nil without one.
func (d *Frozen) Splits() []string { return d.rows.Splits }

// Width returns the size of a vector.
func (d *Frozen) Width() int { return d.width }

// Vector returns a row.
func (d *Frozen) Vector(i int) []float32 { return d.values[i*d.width:][:d.width] }

// Fingerprint returns the hashes of the files.
func (d *Frozen) Fingerprint() string { return d.sums }
