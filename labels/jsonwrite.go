package labels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// encodeObject encodes the struct that v points to as a JSON object, followed by the
// fields of extra in sorted order. Text that is not UTF-8 or contains a NUL is an
// error, because a reader could not restore it. The characters < > & are not escaped.
func encodeObject(v any, extra map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if err := unreadable(out); err != nil {
		return nil, err
	}
	if len(extra) == 0 {
		return out, nil
	}
	known := fieldsOf(reflect.TypeOf(v).Elem()).names
	full := bytes.NewBuffer(bytes.TrimSuffix(out, []byte("}")))
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(known, key) {
			return nil, fmt.Errorf("extra field %.80q is one of hgld's own", key)
		}
		quoted, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		if full.Len() > 1 {
			full.WriteByte(',')
		}
		full.Write(quoted)
		full.WriteByte(':')
		if err := json.Compact(full, extra[key]); err != nil {
			return nil, fmt.Errorf("extra field %.80q: %w", key, err)
		}
	}
	full.WriteByte('}')
	return full.Bytes(), nil
}

// unreadable finds the escape of U+FFFD, which encoding/json writes for text that is
// not UTF-8 and never for the character itself, and the escape of NUL.
func unreadable(out []byte) error {
	for i := 0; i < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		i++
		switch rest := out[i:]; {
		case bytes.HasPrefix(rest, []byte("ufffd")):
			return fmt.Errorf("text is not UTF-8: %.80s", out[max(0, i-40):])
		case bytes.HasPrefix(rest, []byte("u0000")):
			return fmt.Errorf("text contains a NUL: %.80s", out[max(0, i-40):])
		}
	}
	return nil
}

// layout indents compact JSON for people and for diff. An object in a list that
// contains no other object, and a list without objects, take one line; everything else
// takes one line per field or element. So a tag, a member or a class is a line.
func layout(dst *bytes.Buffer, src []byte) {
	d := &document{data: src}
	d.layout(dst, d.root(), "", false)
	dst.WriteByte('\n')
}

func (d *document) layout(dst *bytes.Buffer, s span, indent string, listed bool) {
	inner := indent + "  "
	switch c := d.data[s.start]; {
	case c == '[' && d.holdsObject(s):
		dst.WriteByte('[')
		for i, e := range d.elements(s) {
			separate(dst, i, inner)
			d.layout(dst, e, inner, true)
		}
		dst.WriteString("\n" + indent + "]")
	case c == '{' && !(listed && !d.holdsObject(s)) && len(d.members(s)) > 0:
		dst.WriteByte('{')
		for i, m := range d.members(s) {
			separate(dst, i, inner)
			dst.Write(d.data[m.at:skipString(d.data, m.at)])
			dst.WriteString(": ")
			d.layout(dst, m.value, inner, false)
		}
		dst.WriteString("\n" + indent + "}")
	default:
		dst.Write(d.data[s.start:s.end])
	}
}

func separate(dst *bytes.Buffer, i int, indent string) {
	if i > 0 {
		dst.WriteByte(',')
	}
	dst.WriteString("\n" + indent)
}

// holdsObject reports whether the value at s contains an object.
func (d *document) holdsObject(s span) bool {
	for i := s.start + 1; i < s.end; i++ {
		switch d.data[i] {
		case '"':
			i = skipString(d.data, i) - 1
		case '{':
			return true
		}
	}
	return false
}
