package torchfile

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"hgld/internal/budget"
)

// JSON returns the value that the file at path holds as JSON. Tuples and arrays become lists, and None
// and NaN become null. Tensors and dictionaries with keys other than texts are an error. Otherwise it
// is like [ReadValues].
func JSON(path string) ([]byte, error) {
	value, err := readFile(path, func(r io.ReaderAt, size int64) (any, error) {
		root, _, err := load(r, size)
		if err != nil {
			return nil, err
		}
		p := plain{left: size}
		return p.of(root, 0)
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// plain converts values to those of encoding/json. A pickle may use a value many times, and a list may
// contain itself: left bounds the number of values.
type plain struct{ left int64 }

func (p *plain) of(v any, depth int) (any, error) {
	if p.left--; p.left < 0 || depth > budget.Depth {
		return nil, damaged("its values use one another too often")
	}
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v, nil
	case float64:
		return orNull(v), nil
	case tuple:
		return p.list(v, depth)
	case *list:
		return p.list(v.items, depth)
	case *dict:
		all := make(map[string]any, len(v.entries))
		for _, e := range v.entries {
			key, is := e.key.(string)
			if !is {
				return nil, damaged("a dictionary has a key that is %s, want a text", kindOf(e.key))
			}
			var err error
			if all[key], err = p.of(e.value, depth+1); err != nil {
				return nil, fmt.Errorf("%w (in %s)", err, quoted(key))
			}
		}
		return all, nil
	case *array:
		numbers, err := v.Float64()
		if p.left -= int64(len(numbers)); err != nil || p.left < 0 || len(v.Shape) > 2 {
			return nil, damaged("an array of shape %v is not read here", v.Shape)
		}
		return rowsOf(numbers, v.Shape), nil
	}
	return nil, damaged("it holds %s, want texts, numbers, lists and dictionaries", kindOf(v))
}

func (p *plain) list(items []any, depth int) (any, error) {
	all := make([]any, len(items))
	for i, item := range items {
		var err error
		if all[i], err = p.of(item, depth+1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rowsOf nests the numbers of an array of at most two dimensions.
func rowsOf(numbers []float64, shape []int) any {
	switch len(shape) {
	case 0:
		return orNull(numbers[0])
	case 1:
		all := make([]any, len(numbers))
		for i, x := range numbers {
			all[i] = orNull(x)
		}
		return all
	}
	all := make([]any, shape[0])
	for i := range all {
		all[i] = rowsOf(numbers[i*shape[1]:][:shape[1]], shape[1:])
	}
	return all
}

// orNull returns null for a number that JSON lacks.
func orNull(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}
