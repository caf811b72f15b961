package parquetfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// ClassLabel is the type of a feature whose values are numbers of classes.
const ClassLabel = "ClassLabel"

// Feature is what the metadata of the library datasets tells of a column.
type Feature struct {
	Type  string   `json:"_type"` // ClassLabel, or another type
	Names []string `json:"names"` // of the classes, by number
}

// Features returns the features of the columns, none if the file has no such metadata.
func (p *File) Features() (map[string]Feature, error) {
	text, ok := p.Metadata("huggingface")
	if !ok {
		return nil, nil
	}
	var meta struct {
		Info struct {
			Features map[string]json.RawMessage `json:"features"`
		} `json:"info"`
	}
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		return nil, fmt.Errorf("its metadata \"huggingface\" is damaged: %w", err)
	}
	features := map[string]Feature{}
	for name, raw := range meta.Info.Features {
		var f Feature
		if json.Unmarshal(raw, &f) == nil { // a list has no type, and lists are no classes
			features[name] = f
		}
	}
	return features, nil
}

// Texts reads a column of texts or whole numbers: names of classes or ids, by row, "" for null. Numbers of a
// ClassLabel have their names.
func (p *File) Texts(leaf Leaf) (list []string, err error) {
	features, err := p.Features()
	if err != nil {
		return nil, err
	}
	known := features[leaf.Name].Names
	shared := map[string]string{} // one text for each class
	err = p.Values(leaf, func(v parquet.Value, _ bool) error {
		name, err := leaf.ClassName(v, known)
		if err != nil {
			return fmt.Errorf("row %d: %w", len(list), err)
		}
		if _, ok := shared[name]; !ok {
			shared[name] = name
		}
		list = append(list, shared[name])
		return nil
	})
	return list, err
}

// ClassName returns the name of a class, "" for null and nan for NaN. known holds the names of numbers; without it, a
// number is its own name.
func (l Leaf) ClassName(v parquet.Value, known []string) (string, error) {
	text := ""
	switch {
	case v.IsNull():
		return "", nil
	case v.Kind() == parquet.ByteArray && !utf8.Valid(v.ByteArray()):
		return "", fmt.Errorf("%.80q is not UTF-8; want texts or whole numbers", v.ByteArray())
	case v.Kind() == parquet.ByteArray && bytes.IndexByte(v.ByteArray(), 0) >= 0:
		return "", fmt.Errorf("%.80q holds a zero byte; want texts or whole numbers", v.ByteArray())
	case v.Kind() == parquet.ByteArray:
		return string(v.ByteArray()), nil
	case v.Kind() == parquet.Boolean:
		return strconv.FormatBool(v.Boolean()), nil
	case l.Meaning() != "":
		return "", fmt.Errorf("it holds %s; want texts or whole numbers", l.Meaning())
	case v.Kind() == parquet.Float, v.Kind() == parquet.Double: // as pandas makes numbers with gaps
		x := v.Double()
		if v.Kind() == parquet.Float {
			x = float64(v.Float())
		}
		var whole bool
		if text, whole = Whole(x); !whole {
			return "", fmt.Errorf("%v is not the number of a class; want texts or whole numbers", x)
		}
	case v.Kind() == parquet.Int32, v.Kind() == parquet.Int64:
		text = l.Integer(v)
	default:
		return "", fmt.Errorf("it holds %v; want texts or whole numbers", v.Kind())
	}
	if known == nil || text == "-1" || text == "nan" {
		return text, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= len(known) {
		return "", fmt.Errorf("class %s, but the metadata names %d classes; want 0 to %d", text, len(known), len(known)-1)
	}
	return known[n], nil
}

// Whole returns the name of a class that is stored as a float, nan for NaN.
func Whole(v float64) (name string, whole bool) {
	if math.IsNaN(v) {
		return "nan", true
	}
	if v == 0 {
		v = 0 // also of −0
	}
	const exact = 1 << 53
	return strconv.FormatFloat(v, 'f', -1, 64), v == math.Trunc(v) && math.Abs(v) <= exact
}
