package tensorfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"hgld/internal/budget"
)

// parse reads the JSON of a safetensors header. Duplicate and unknown keys are errors;
// encoding/json would accept both.
func (f *File) parse(header []byte) error {
	bad := func(format string, args ...any) error {
		return &FormatError{Format: "safetensors", Reason: "header: " + fmt.Sprintf(format, args...)}
	}
	if len(header) == 0 || header[0] != '{' {
		return bad("does not begin with {")
	}
	if !utf8.Valid(header) {
		return bad("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.UseNumber()
	seen := map[string]bool{}
	err := members(d, func(name string) error {
		if seen[name] {
			return bad("tensor %.80q occurs twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			return f.parseMetadata(d)
		}
		if len(f.entries) == budget.Tensors {
			return bad("more than %d tensors", budget.Tensors)
		}
		e, err := parseEntry(d, name)
		f.entries = append(f.entries, e)
		return err
	})
	if err != nil {
		if _, ok := err.(*FormatError); !ok {
			return bad("%v", err)
		}
		return err
	}
	if rest := bytes.TrimSpace(header[d.InputOffset():]); len(rest) > 0 {
		return bad("there are %d bytes after the JSON", len(rest))
	}
	return nil
}

// members calls f for every key of the object at d; f must consume the value.
func members(d *json.Decoder, f func(key string) error) error {
	open, err := d.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("%.80q where an object is expected", fmt.Sprint(open))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if err := f(key.(string)); err != nil { // the decoder admits only strings as keys
			return err
		}
	}
	_, err = d.Token()
	return err
}

func (f *File) parseMetadata(header *json.Decoder) error {
	f.Metadata = map[string]string{}
	var object json.RawMessage
	if err := header.Decode(&object); err != nil || string(object) == "null" { // none, as the reference reads it
		return err
	}
	d := json.NewDecoder(bytes.NewReader(object))
	return members(d, func(key string) error {
		if _, twice := f.Metadata[key]; twice {
			return fmt.Errorf("metadata %.80q occurs twice", key)
		}
		v, err := d.Token()
		if err != nil {
			return err
		}
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("metadata %.80q is not a string", key)
		}
		f.Metadata[key] = s
		return nil
	})
}

// parseEntry reads the description of one tensor. It checks that the offsets fit its elements.
func parseEntry(d *json.Decoder, name string) (e entry, err error) {
	bad := func(format string, args ...any) error {
		return &FormatError{Format: "safetensors", Tensor: name, Reason: fmt.Sprintf(format, args...)}
	}
	var dims, offsets []uint64
	seen := map[string]bool{}
	err = members(d, func(key string) error {
		if seen[key] {
			return bad("%.80q is there twice", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			v, err := d.Token()
			if err != nil {
				return err
			}
			s, ok := v.(string)
			if _, known := dtypes[s]; !ok || !known {
				return bad("unknown type %.80q", fmt.Sprint(v))
			}
			e.tensor.DType = s
			return nil
		case "shape":
			dims, err = numbers(d, maxDims)
		case "data_offsets":
			offsets, err = numbers(d, 2)
		default:
			return bad("unknown key %.80q", key)
		}
		if err != nil {
			return bad("%s: %v", key, err)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if !seen["dtype"] || !seen["shape"] || len(offsets) != 2 {
		return e, bad("needs dtype, shape and two data_offsets")
	}
	size, ok := byteSize(dims, dtypes[e.tensor.DType])
	if !ok {
		return e, bad("%s%v has more than 2^63 bytes", e.tensor.DType, dims)
	}
	e.begin, e.end = offsets[0], offsets[1]
	if e.end < e.begin || e.end-e.begin != size {
		return e, bad("%s%v needs %d bytes, offsets %v", e.tensor.DType, dims, size, offsets)
	}
	e.tensor.Name = name
	e.tensor.Shape = make([]int, len(dims))
	for i, v := range dims {
		e.tensor.Shape[i] = int(v)
		if e.tensor.Shape[i] < 0 || uint64(e.tensor.Shape[i]) != v {
			return e, bad("dimension %d is too large", v)
		}
	}
	return e, nil
}

// numbers reads an array of at most limit whole numbers from 0 to 2^63−1.
func numbers(d *json.Decoder, limit int) ([]uint64, error) {
	open, err := d.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('[') {
		return nil, fmt.Errorf("%.80q where a list is expected", fmt.Sprint(open))
	}
	list := []uint64{}
	for d.More() {
		v, err := d.Token()
		if err != nil {
			return nil, err
		}
		n, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%.80q where a number is expected", fmt.Sprint(v))
		}
		u, err := strconv.ParseUint(n.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%.80s is not a whole number below 2^63", n)
		}
		if len(list) == limit {
			return nil, fmt.Errorf("more than %d numbers", limit)
		}
		list = append(list, u)
	}
	_, err = d.Token()
	return list, err
}
