package curate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// MarshalJSON writes the fields of Extra after the others.
func (e Edit) MarshalJSON() ([]byte, error) {
	type plain Edit
	return encode((*plain)(&e), e.Extra, editFields)
}

// UnmarshalJSON keeps unknown fields in Extra.
func (e *Edit) UnmarshalJSON(data []byte) error {
	type plain Edit
	*e = Edit{}
	extra, err := decode(data, (*plain)(e), editFields)
	e.Extra = extra
	return err
}

var editFields = []string{"seq", "base", "at", "by", "op", "level", "from", "to", "parts", "of", "note", "resolved",
	"rule"}

// encode returns v as a JSON object, followed by the fields of extra in sorted order.
// It does not escape HTML characters.
func encode(v any, extra map[string]json.RawMessage, own []string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(own, key) {
			return nil, fmt.Errorf("extra field %.80q is one of hgld's own", key)
		}
		quoted, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		b.WriteByte(',')
		b.Write(quoted)
		b.WriteByte(':')
		if err := json.Compact(&b, extra[key]); err != nil {
			return nil, fmt.Errorf("field %.80q: %w", key, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// decode reads a JSON object into v and returns its unknown fields.
func decode(data []byte, v any, known []string) (map[string]json.RawMessage, error) {
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, key := range known {
		delete(all, key)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}
